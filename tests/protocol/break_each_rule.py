"""Take each rule of the protocol away, once, in a private copy of the engine, and see its test fail.

    .venv/bin/python tests/protocol/break_each_rule.py [part of a rule's words ...] [--write]

Run by hand, not by `make test` (some minutes). First every mapped test must pass on the unbroken copy; then each break
of `mutations.py` is applied alone and the mapped test must fail. `--write` puts the result at the end of
docs/explanation/protocol-map.md. The exit status is 1 when a break was not caught.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.protocol.mutations import RULES_OF_THE_PROTOCOL, Break, Rule, Swap  # noqa: E402
from tests.protocol.page import PAGE, described, with_results  # noqa: E402

WORKERS = 2
SECONDS_PER_TEST = 100
ALWAYS = "AnyOf((Absent(('pk',)), Exists(('pk',))))"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one break: `caught`, `NOT CAUGHT`, or why it could not be tried."""

    rule: Rule
    broken: Break
    verdict: str


def copy_of_the_project(target: Path) -> None:
    """The engine, the tests and what they read beside them."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in ("layers/engine", "tests", "functions", "workflows"):
        shutil.copytree(ROOT / name, target / name, ignore=ignored)
    for name in ("template.yaml", "pyproject.toml"):
        shutil.copy(ROOT / name, target / name)


def take_away(project: Path, broken: Break) -> tuple[Path, str]:
    """Apply a break; returns the file and its text before."""
    if isinstance(broken, Swap):
        base = project if broken.path.startswith("/") else project / "layers/engine/casegraph"
        path = base / broken.path.lstrip("/")
        before = path.read_text()
        if before.count(broken.old) != 1:
            raise LookupError(f"stands {before.count(broken.old)} times in {broken.path}")
        after = before.replace(broken.old, broken.new)
    else:
        path = project / "layers/engine/casegraph/domain/writes.py"
        before = path.read_text()
        fits = f"self.name.startswith({broken.rule[:-1]!r})" if broken.rule.endswith("*") else (
            f"self.name == {broken.rule!r}"
        )  # fmt: skip
        hook = (
            "\n    def __post_init__(self) -> None:\n"
            f"        if {fits}:\n            object.__setattr__(self, 'condition', {ALWAYS})\n"
        )
        marker = "    name: str\n    condition: Condition\n    reason: str\n"
        if before.count(marker) != 1:
            raise LookupError("the class Rule is not as it was")
        after = before.replace(marker, marker + hook)
    path.write_text(after)
    return path, before


def test_path(rule: Rule) -> str:
    """The mapped test as pytest takes it."""
    return f"tests/{rule.test}" if "/" in rule.test else f"tests/protocol/{rule.test}"


def run_tests(project: Path, *tests: str) -> int:
    """pytest's exit status; 99 when it did not end."""
    environment = {**os.environ, "PYTHONPATH": str(project / "layers/engine"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--timeout=60", *tests]
    try:
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, timeout=SECONDS_PER_TEST, check=False
        )
    except subprocess.TimeoutExpired:
        return 99
    return done.returncode


def try_break(project: Path, rule: Rule, broken: Break) -> Result:
    """One break in this copy."""
    try:
        path, before = take_away(project, broken)
    except LookupError as problem:
        return Result(rule, broken, f"not tried: {problem}")
    try:
        status = run_tests(project, test_path(rule))
    finally:
        path.write_text(before)
    # 1: tests failed; 2 and 4: it could not even be imported, which counts as a break that is no proof.
    verdicts = {0: "NOT CAUGHT", 1: "caught", 99: "caught (does not end)"}
    return Result(rule, broken, verdicts.get(status, f"not tried: pytest ended with {status}"))


def main(arguments: list[str]) -> int:
    """Break what was asked for; everything by default."""
    words = [argument for argument in arguments if not argument.startswith("--")]
    chosen = [
        r for r in RULES_OF_THE_PROTOCOL if not words or any(w in r.words or w in r.test for w in words)
    ]
    with tempfile.TemporaryDirectory(prefix="casegraph-broken-") as folder:
        projects = [Path(folder) / str(number) for number in range(WORKERS)]
        for project in projects:
            copy_of_the_project(project)
        if run_tests(projects[0], *sorted({test_path(rule) for rule in chosen})) != 0:
            print("the mapped tests do not pass on the unbroken engine")
            return 1
        pairs = [(rule, broken) for rule in chosen for broken in rule.breaks]

        def work(number: int) -> list[Result]:
            results = []
            for rule, broken in pairs[number::WORKERS]:
                result = try_break(projects[number], rule, broken)
                print(f"{result.verdict:12} {rule.section} {rule.words} | {described(broken)}", flush=True)
                results.append(result)
            return results

        with ThreadPoolExecutor(WORKERS) as pool:
            results = [result for part in pool.map(work, range(WORKERS)) for result in part]
    missed = [result for result in results if not result.verdict.startswith("caught")]
    print(f"{len(results)} breaks of {len(chosen)} rules, {len(missed)} not caught")
    if "--write" in arguments:
        day = datetime.now(UTC).date().isoformat()
        lines = [(result.rule, result.broken, result.verdict) for result in results]
        PAGE.write_text(with_results(PAGE.read_text(), day, lines))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
