"""The protocol map says what is there: every named test exists, every named condition of rules.py is mapped."""

from __future__ import annotations

import re
from pathlib import Path

from tests.protocol.mutations import LATER, RULES_OF_THE_PROTOCOL, Drop, Swap
from tests.protocol.page import PAGE, rules_part

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "layers/engine/casegraph"


def test_every_mapped_test_exists() -> None:
    for rule in RULES_OF_THE_PROTOCOL:
        path, _, function = rule.test.partition("::")
        file = ROOT / "tests" / (path if "/" in path else f"protocol/{path}")
        assert f"def {function}(" in file.read_text(), rule.test


def test_every_rule_can_be_broken() -> None:
    """Whether the breaks still fit the source, `break_each_rule.py` says: an edit of the engine is no failure."""
    for rule in RULES_OF_THE_PROTOCOL:
        assert rule.breaks, rule.words
        for broken in rule.breaks:
            if isinstance(broken, Swap):
                path = ROOT / broken.path[1:] if broken.path.startswith("/") else ENGINE / broken.path
                assert path.exists(), broken.path


def test_every_named_condition_is_dropped_by_some_break() -> None:
    sources = [(ENGINE / "domain" / name).read_text() for name in ("rules.py", "task.py", "effect.py")]
    sources.append((ENGINE / "application/merge_report.py").read_text())
    sources.append((ENGINE / "application/subjects.py").read_text())
    named = {name for source in sources for name in re.findall(r'Rule\(\s*"([a-z_]+)"[,\s]', source)}
    dropped = {b.rule for rule in RULES_OF_THE_PROTOCOL for b in rule.breaks if isinstance(b, Drop)}
    later = {"control_claimable"}
    # Proven outside of this folder: parked events and their subscriptions are architecture.md 10.
    elsewhere = {"not_given", "own_subscription"}
    assert named - dropped - later - elsewhere - {"row_state_in_"} == set()


def test_the_page_is_made_from_the_list() -> None:
    assert PAGE.read_text().startswith(rules_part()), "make it anew: python -m tests.protocol.page"


def test_what_comes_later_names_its_issue() -> None:
    assert all(re.match(r"\d\. ", entry.issue) for entry in LATER)
