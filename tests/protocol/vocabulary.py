"""What the list of rules is written in: rules, ways to take one away, and the files of the engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Drop:
    """Every condition of this name holds always. A name that ends in * stands for all that begin so."""

    rule: str


@dataclass(frozen=True, slots=True)
class Swap:
    """`old`, which stands exactly once in the file (below layers/engine/casegraph, or below the root with a leading /),
    becomes `new`."""

    path: str
    old: str
    new: str


Break = Drop | Swap


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in short words. test: `file::function` under tests/protocol, or a path under tests."""

    section: str
    words: str
    where: str
    test: str
    breaks: tuple[Break, ...]


@dataclass(frozen=True, slots=True)
class Later:
    """A rule whose subject is built by a later issue."""

    section: str
    words: str
    issue: str


def rule(section: str, words: str, where: str, test: str, *breaks: Break) -> Rule:
    return Rule(section, words, where, test, breaks)


ADVANCE, CLOSE, COMMIT = "application/advance_run.py", "application/close_run.py", "application/commit.py"
CONTROL_RUN, DELIVER, HINTS = (
    "application/control_run.py",
    "application/deliver_effect.py",
    "application/hints.py",
)
INTAKE, LEASE, PERSIST = "application/intake_report.py", "application/lease.py", "application/persistence.py"
RECONCILE, SIGNALS, START = "application/reconcile.py", "application/signals.py", "application/start_run.py"
CONTROL, DECIDE, DEADLINES = "domain/control.py", "domain/burst/decide.py", "domain/burst/deadlines.py"
DRAFT, EFFECT, HEAD, INBOX = (
    "domain/burst/draft.py",
    "domain/effect.py",
    "domain/head.py",
    "domain/burst/inbox.py",
)
RULES, SEGMENT, SETTLE, TASK = (
    "domain/rules.py",
    "domain/segment.py",
    "domain/burst/settle.py",
    "domain/task.py",
)
WALK, LIMITS, SIGNAL, TOKEN = "domain/burst/walk.py", "limits.py", "domain/signal.py", "domain/token.py"
