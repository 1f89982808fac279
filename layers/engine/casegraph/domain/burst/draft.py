"""A draft of the next head: what the walk changes before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from casegraph.domain.burst.knowledge import PendingCall, PendingSubscription
from casegraph.domain.canonical import canonical_bytes, digest
from casegraph.domain.child import NOT_AWAITED, NewChild
from casegraph.domain.head import Head
from casegraph.domain.place import Branch, Place, branch_key, parse_key, step_id
from casegraph.domain.segment import StepRecord
from casegraph.domain.token import TOKEN_SOURCES, Token, TokenStatus
from casegraph.domain.writes import Write
from casegraph.limits import (
    COMMIT_MAX_ITEMS,
    COMMIT_MAX_OUTPUT_BYTES,
    COMMIT_MAX_STEPS,
    PAYLOAD_INLINE_MAX_BYTES,
)

if TYPE_CHECKING:
    from casegraph.domain.graph.compiled import CompiledGraph

# Head, segment and the row of latest outputs are in every commit.
_FIXED_ITEMS = 3


@dataclass
class Draft:
    """Mutable while one decision is made; `base` is the head that was read."""

    base: Head
    graph: CompiledGraph
    now: int
    frontier: dict[str, Token] = field(default_factory=dict)
    closing: dict[str, str] = field(default_factory=dict)
    latest: dict[str, int] = field(default_factory=dict)
    visits: dict[str, int] = field(default_factory=dict)
    inbox: list[str] = field(default_factory=list)
    buffered: list[str] = field(default_factory=list)
    outcome: str | None = None
    error_code: str | None = None
    attention: str | None = None
    merge_epoch: int = 0
    merged_reports: bool = False
    shifted_by: int = 0
    steps: list[StepRecord] = field(default_factory=list)
    fresh: dict[str, Any] = field(default_factory=dict)
    opened: list[Mapping[str, Any]] = field(default_factory=list)
    taken: list[str] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    calls: list[PendingCall] = field(default_factory=list)
    subscriptions: list[PendingSubscription] = field(default_factory=list)
    effects_due: list[tuple[str, int]] = field(default_factory=list)
    output_bytes: int = 0
    children: list[NewChild] = field(default_factory=list)
    cascades: bool = False
    output: Any = None

    @staticmethod
    def of(head: Head, graph: CompiledGraph, now: int) -> Draft:
        """A draft that changes nothing yet."""
        return Draft(
            base=head,
            graph=graph,
            now=now,
            frontier=dict(head.frontier),
            closing=dict(head.closing),
            latest=dict(head.latest),
            visits=dict(head.visits),
            inbox=list(head.inbox),
            buffered=list(head.buffered),
            outcome=head.outcome,
            error_code=head.error_code,
            attention=head.attention,
            merge_epoch=head.merge_epoch,
            merged_reports=head.merged_reports,
            shifted_by=head.shifted_by,
            cascades=head.cascades,
        )

    @property
    def has_room(self) -> bool:
        """Whether another step and its rows fit in this commit; wide fronts are entered page by page."""
        return (
            len(self.writes) + 2 * len(self.children) + _FIXED_ITEMS + 2 <= COMMIT_MAX_ITEMS
            and len(self.steps) < COMMIT_MAX_STEPS
            and self.output_bytes < COMMIT_MAX_OUTPUT_BYTES
        )

    def tokens(self, *statuses: TokenStatus) -> Iterator[tuple[str, Place, Token]]:
        """The tokens with one of these statuses, in a stable order."""
        for key in sorted(k for k, t in self.frontier.items() if t.status in statuses):
            token = self.frontier.get(key)
            if token is not None and token.status in statuses:
                yield key, parse_key(key), token

    def change(self, key: str, token: Token) -> None:
        """Move a token to another status, if the table allows it."""
        old = self.frontier[key]
        if old.status not in TOKEN_SOURCES[token.status]:
            raise AssertionError(f"token {key} may not go from {old.status.name} to {token.status.name}")
        self.frontier[key] = token

    def arrive(self, branch: Branch, node: int) -> Place:
        """Put a ready token at a node: the next occurrence of it on this branch path."""
        place = Place(branch, node, self._next_occurrence(branch, node))
        self.frontier[place.key] = Token(TokenStatus.READY)
        return place

    def _next_occurrence(self, branch: Branch, node: int) -> int:
        if not self.graph.in_cycle(node):
            return 1
        key = branch_key(branch) + str(node)
        self.visits[key] = self.visits.get(key, 0) + 1
        return self.visits[key]

    def occurrence(self, branch: Branch, node: int) -> int:
        """Count one more visit of a node that is not reached by a ready token (a join)."""
        return self._next_occurrence(branch, node)

    def record(
        self, place: Place, status: str, port: str | None, output: Any, *, attempts: int = 0, code: str = ""
    ) -> None:
        """Write a finished step; its output becomes the node's latest on this branch path."""
        step = step_id(place, self.graph)
        output_digest, elsewhere = "", False
        if output is not None:
            body = canonical_bytes(output)
            output_digest = digest(output)
            elsewhere = len(body) > PAYLOAD_INLINE_MAX_BYTES
            if elsewhere:
                self.blobs[output_digest] = body
            else:
                self.output_bytes += len(body)
            self.latest[branch_key(place.branch) + str(place.node)] = self.base.revision + 1
            self.fresh[step] = output
        self.steps.append(
            StepRecord(
                step=step,
                status=status,
                port=port,
                output=None if elsewhere else output,
                output_digest=output_digest,
                elsewhere=elsewhere,
                attempts=attempts,
                code=code,
            )
        )

    def close(self, key: str, cause: str) -> None:
        """Take a token out of the frontier; what it opened is closed by the cleanup pages."""
        token = self.frontier.pop(key)
        if token.status in (TokenStatus.WAITING, TokenStatus.ATTENTION, TokenStatus.BACKOFF):
            place = parse_key(key)
            self.record(place, "cancelled", None, None, attempts=token.attempt)
            if self.graph.nodes[place.node].kind.opens_rows:
                self.closing[key] = f"{cause}|{token.match}"

    def close_all(self, cause: str) -> None:
        """Close every token."""
        for key in sorted(self.frontier):
            self.close(key, cause)

    def end(self, outcome: str, code: str | None = None) -> None:
        """Give the run its outcome; what is still open is closed in pages."""
        self.close_all(outcome)
        if self.cascades and outcome != "succeeded":
            self.closing[NOT_AWAITED] = f"{outcome}|"
        self.outcome = outcome
        self.error_code = code
        self.buffered = []

    def forget(self, branch: Branch) -> None:
        """Lift what stands under a joined branch path to the path of its join, and drop its visit counts."""
        prefix, parent = branch_key(branch[:-1]), branch_key(branch[:-1])
        level = branch[-1]
        inner = f"{prefix}{level.fork}.{level.occurrence}."
        for key in [k for k in self.visits if k.startswith(inner)]:
            del self.visits[key]
        for key in [k for k in self.latest if k.startswith(inner)]:
            revision = self.latest.pop(key)
            lifted = parent + key.rpartition("/")[2]
            self.latest[lifted] = max(revision, self.latest.get(lifted, 0))

    def prune_latest(self) -> None:
        """Keep only outputs that an expression reachable from the frontier still reads (protocol.md 1)."""
        nodes = {parse_key(key).node for key in self.frontier}
        needed = self.graph.needed_from(nodes) if nodes else frozenset()
        self.latest = {k: r for k, r in self.latest.items() if int(k.rpartition("/")[2]) in needed}

    def next_head(self, wake_at: int | None, recorded_at: int) -> Head:
        """The head after this draft, before chain, commit id and lease are set."""
        ended = self.outcome is not None and not self.base.terminal
        attention = self.attention is not None or any(
            t.status is TokenStatus.ATTENTION for t in self.frontier.values()
        )
        return replace(
            self.base,
            revision=self.base.revision + 1,
            frontier=self.frontier,
            closing=self.closing,
            latest=self.latest,
            latest_elsewhere=False,
            visits=self.visits,
            inbox=tuple(self.inbox),
            buffered=tuple(self.buffered),
            outcome=self.outcome,
            error_code=self.error_code,
            ended_at=recorded_at if ended else self.base.ended_at,
            attention=None if self.outcome else self.attention,
            attention_at=(self.base.attention_at or recorded_at) if attention and not self.outcome else None,
            merge_epoch=self.merge_epoch,
            merged_reports=self.merged_reports,
            shifted_by=self.shifted_by,
            cascades=self.cascades,
            steps=self.base.steps + len(self.steps),
            wake_at=wake_at,
            recorded_at=recorded_at,
        )
