"""What a burst knows besides the head: rows, segments and answers read so far, and what it still has to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from casegraph.domain.nodes.actions import Subscription
from casegraph.domain.writes import Item


@dataclass(frozen=True, slots=True)
class CallResult:
    """A read-only call's answer, or its failure (`code`). jitter: a drawn fraction, 0 <= jitter < 1, for backoff."""

    port: str = "success"
    value: Any = None
    code: str = ""
    retryable: bool = False
    costly: bool = False
    jitter: float = 0.0


@dataclass
class Knowledge:
    """Grows while a burst runs and survives rebuilds; nothing here is ever true of one revision only.

    rows: by sk (None: read and absent); reports: merged reports read so far, in order, or None when not read;
    payloads: blobs by digest; results: by (token key, attempt); subscribed: by token key, written before the commit;
    versions: of linked workflows, by key and number (None: the newest when it was read); closed_children: closing
    entries whose child runs are terminal.
    """

    rows: dict[str, Item | None] = field(default_factory=dict)
    payloads: dict[str, Any] = field(default_factory=dict)
    results: dict[tuple[str, int], CallResult] = field(default_factory=dict)
    reports: list[Any] | None = None
    reports_epoch: int = -1
    subscribed: set[str] = field(default_factory=set)
    versions: dict[tuple[str, int | None], Item | None] = field(default_factory=dict)
    closed_children: set[str] = field(default_factory=set)


class Missing(Exception):
    """The decision cannot go on before these were read: rows, blobs, the reports merged up to an epoch, versions; or
    before the child runs of a closing entry are terminal."""

    def __init__(
        self, *, rows: tuple[str, ...] = (), payloads: tuple[str, ...] = (), epoch: int | None = None,
        versions: tuple[tuple[str, int | None], ...] = (), children: tuple[tuple[str, str], ...] = (),
    ):  # fmt: skip
        super().__init__("more must be read")
        self.rows = rows
        self.payloads = payloads
        self.epoch = epoch
        self.versions = versions
        self.children = children


def version_of(knowledge: Knowledge, workflow_key: str, version: int | None) -> Item | None:
    """The row of a published version, or None; raises `Missing` until it was read."""
    if (workflow_key, version) not in knowledge.versions:
        raise Missing(versions=((workflow_key, version),))
    return knowledge.versions[(workflow_key, version)]


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call to make before its token can go on."""

    token_key: str
    attempt: int
    step_id: str
    component_id: str
    input: Mapping[str, Any]
    timeout_seconds: float
    costly: bool


@dataclass(frozen=True, slots=True)
class PendingSubscription:
    """A subscription to write (and its parked events to look for) before its wait may open."""

    token_key: str
    step_id: str
    subscription: Subscription
