"""docs/explanation/protocol-map.md, made from `mutations.py`.

.venv/bin/python -m tests.protocol.page      writes the table of rules anew, and keeps the table of results
"""

# ruff: noqa: E501 - long lines of the page
from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.protocol.mutations import LATER, RULES_OF_THE_PROTOCOL, Break, Drop, Rule

PAGE = Path(__file__).resolve().parents[2] / "docs/explanation/protocol-map.md"
RESULTS = "## Each rule broken once"
TITLES = {
    "1": "Items",
    "2": "Three kinds of write, and reading a failed condition",
    "3": "Claim, burst, commit, release",
    "4": "Index, jobs, timers",
    "5": "Effects",
    "6": "Outcomes, attention, pause",
}
HEAD = """# Protocol map

Every rule of the kernel's protocol (`protocol.md` of the specification), where it is in the code, and the test that fails
without it. `rules.NAME` is a named condition of `layers/engine/casegraph/domain/rules.py`; other names are
`module.function` of `domain/`, `domain/burst/` or `application/`. Tests are under `tests/protocol/` unless a folder is named.

This page is made from `tests/protocol/mutations.py` (`python -m tests.protocol.page`), and `test_map.py` keeps the two in
step. `tests/protocol/break_each_rule.py` takes each rule away in a private copy of the engine and runs its test; the last
section is what it found.
"""


def described(broken: Break) -> str:
    """A break in one line."""
    if isinstance(broken, Drop):
        return f"drop condition {broken.rule}"
    return f"{broken.path.lstrip('/')}: {_short(broken.old)} -> {_short(broken.new)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def rules_part() -> str:
    """The page up to the results."""
    parts = [HEAD]
    for section, title in TITLES.items():
        parts.append(
            f"\n## {section}. {title}\n\n| Rule | In the code | Test that fails without it |\n|---|---|---|\n"
        )
        parts += [
            f"| {_cell(rule.words)} | `{rule.where}` | `{rule.test}` |\n"
            for rule in RULES_OF_THE_PROTOCOL
            if rule.section == section
        ]
        later = [entry for entry in LATER if entry.section == section]
        parts += [f"| {_cell(entry.words)} | later: issue {entry.issue} | |\n" for entry in later]
    return "".join(parts)


def with_results(page: str, day: str, results: Sequence[tuple[Rule, Break, str]]) -> str:
    """The page with these results, and the earlier ones of breaks that were not tried again and still are in the list."""
    kept, _, old = page.partition(RESULTS)
    known = dict(_rows(old))
    known.update({_key(rule, broken): f"{verdict}, {day}" for rule, broken, verdict in results})
    keys = [_key(rule, broken) for rule in RULES_OF_THE_PROTOCOL for broken in rule.breaks]
    lines = [f"| {key} | {known.get(key, 'not tried yet')} |\n" for key in keys]
    caught = sum(1 for key in keys if known.get(key, "").startswith("caught"))
    counted = (
        f"{len(keys)} breaks of {len(RULES_OF_THE_PROTOCOL)} rules, {caught} caught by the rule's own test."
    )
    return kept + f"{RESULTS}\n\n{counted}\n\n| Rule | Broken by | Result |\n|---|---|---|\n" + "".join(lines)


def _key(rule: Rule, broken: Break) -> str:
    return f"{rule.section}: {_cell(rule.words)} | `{_cell(described(broken)).replace('`', '')}`"


def _rows(table: str) -> Iterator[tuple[str, str]]:
    for line in table.splitlines():
        if line.startswith("| ") and not line.startswith("| Rule"):
            key, _, verdict = line.removeprefix("| ").removesuffix(" |").rpartition(" | ")
            yield key, verdict


def main() -> None:
    """Write the table of rules; the results stay."""
    results = PAGE.read_text().partition(RESULTS) if PAGE.exists() else ("", "", "")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(rules_part() + "\n" + (results[1] + results[2] if results[1] else f"{RESULTS}\n"))


if __name__ == "__main__":
    main()
