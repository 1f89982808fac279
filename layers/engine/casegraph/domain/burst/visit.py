"""One visit of a node: what its `enter` and `resume` may read, and how expressions get their context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.knowledge import Knowledge, Missing
from casegraph.domain.canonical import canonical_bytes, digest_of_bytes
from casegraph.domain.head import Head
from casegraph.domain.instants import rfc3339
from casegraph.domain.place import Branch, Place, branch_key, parse_branch, parse_step_id, step_id
from casegraph.domain.segment import StepRecord, segment_sk
from casegraph.domain.token import Token
from casegraph.errors import NodeFailed
from casegraph.limits import BODY_MAX_BYTES, PAYLOAD_INLINE_MAX_BYTES

if TYPE_CHECKING:
    from casegraph.domain.graph.compiled import CompiledNode

FACTS_SK = segment_sk(0)


@dataclass(frozen=True)
class Visit:
    """A token at a node, with the burst's `now` (epoch ms)."""

    draft: Draft
    knowledge: Knowledge
    place: Place
    token: Token

    @property
    def node(self) -> CompiledNode:
        """The node being visited."""
        return self.draft.graph.nodes[self.place.node]

    @property
    def step_id(self) -> str:
        """The readable id of this step."""
        return step_id(self.place, self.draft.graph)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.draft.base.run_id

    @property
    def now(self) -> int:
        """The burst's instant: max(clock, wake_at), epoch ms."""
        return self.draft.now

    @property
    def timeout_at(self) -> int | None:
        """When this wait times out if it opens now."""
        seconds = self.node.node.timeout_seconds
        return None if seconds is None else self.now + round(seconds * 1000)

    @property
    def due_at(self) -> int | None:
        """When this wait is due (a target, not an edge) if it opens now."""
        seconds = self.node.node.due_seconds
        return None if seconds is None else self.now + round(seconds * 1000)

    def input(self) -> dict[str, Any]:
        """The node's mapped input. Raises `ExpressionFailed`, or `Missing` when something must be read first."""
        context = self.context()
        return {name: program.evaluate(context) for name, program in self.node.mapping.items()}

    @property
    def run(self) -> Head:
        """The head that the burst works on."""
        return self.draft.base

    def kept(self, name: str, value: Any) -> dict[str, Any]:
        """The attributes that keep `value` under `name` in a row: inline, or beside the run by digest when large.

        Raises `NodeFailed("payload_too_large")` over the hard bound."""
        body = canonical_bytes(value)
        if len(body) > BODY_MAX_BYTES:
            raise NodeFailed("payload_too_large")
        value_digest = digest_of_bytes(body)
        if len(body) <= PAYLOAD_INLINE_MAX_BYTES:
            return {name: body.decode(), f"{name}_digest": value_digest}
        self.draft.blobs[value_digest] = body
        return {f"{name}_digest": value_digest, f"{name}_elsewhere": True}

    def check_size(self, value: Any) -> None:
        """Raise `NodeFailed("payload_too_large")` for a value over the hard bound."""
        if len(canonical_bytes(value)) > BODY_MAX_BYTES:
            raise NodeFailed("payload_too_large")

    def evaluate_bool(self, source: str, extra: Mapping[str, Any] | None = None) -> bool:
        """The truth of one CEL expression of this node's config; what is no boolean fails (`expression_not_bool`)."""
        return self.node.program(source).evaluate_bool({**self.context(), **(extra or {})})

    def evaluate(self, source: str, extra: Mapping[str, Any] | None = None) -> Any:
        """The JSON value of one CEL expression of this node's config."""
        return self.node.program(source).evaluate({**self.context(), **(extra or {})})

    def context(self) -> dict[str, Any]:
        """What expressions of this node see; only the roots that they use are built."""
        uses = self.draft.graph.uses(self.place.node)
        context: dict[str, Any] = {"now": rfc3339(self.now), "run": self.run_view(uses)}
        if "input" in uses:
            context["input"] = self._fact("input")
        if "report" in uses:
            context["report"] = self._fact("report")
        if "reports" in uses:
            context["reports"] = self._reports()
        if "branch" in uses:
            context["branch"] = self._branch_port()
        if "nodes" in uses:
            context["nodes"] = self._outputs()
        return context

    def run_view(self, uses: frozenset[str] = frozenset()) -> dict[str, Any]:
        """The `run` root."""
        head = self.draft.base
        view: dict[str, Any] = {
            "run_id": head.run_id,
            "workflow_key": head.workflow_key,
            "version": head.version,
            "authority": head.authority,
            "started_at": rfc3339(head.started_at),
        }
        if "run" in uses:
            view["started_by"] = self.facts().get("started_by", "")
        return view

    def stored(self, row: Mapping[str, Any], name: str) -> Any:
        """A field of a row, wherever its value is kept; raises `Missing` until a large one was read."""
        if row.get(f"{name}_elsewhere"):
            return payload(self.knowledge, row[f"{name}_digest"])
        return json.loads(row[name]) if name in row else None

    def facts(self) -> Mapping[str, Any]:
        """The immutable facts of segment 0."""
        item = row(self.knowledge, FACTS_SK)
        return item["facts"] if item else {}

    def _fact(self, name: str) -> Any:
        value = self.stored(self.facts(), name)
        return {} if value is None else value

    def _reports(self) -> list[Any]:
        first = self._fact("report")
        if not self.draft.merged_reports:
            return [first]
        if self.knowledge.reports is None or self.knowledge.reports_epoch != self.draft.merge_epoch:
            raise Missing(epoch=self.draft.merge_epoch)
        return [first, *self.knowledge.reports]

    def _branch_port(self) -> str:
        if not self.place.branch:
            return ""
        level = self.place.branch[-1]
        return self.draft.graph.nodes[level.fork].ports[level.branch]

    def _outputs(self) -> dict[str, Any]:
        graph = self.draft.graph
        outputs: dict[str, Any] = {}
        absent: list[str] = []
        for ordinal in sorted(graph.references(self.place.node)):
            try:
                found, value = self._latest_output(ordinal)
            except Missing as missing:
                absent.extend(missing.rows)
                if missing.payloads:
                    raise
                continue
            if found:
                outputs[graph.nodes[ordinal].id] = value
        if absent:
            raise Missing(rows=tuple(absent))
        return outputs

    def _latest_output(self, ordinal: int) -> tuple[bool, Any]:
        """The latest output of a node in scope: on this branch path or one that leads to it."""
        best: tuple[int, int, str] | None = None
        for depth in range(len(self.place.branch) + 1):
            key = branch_key(self.place.branch[:depth])
            revision = self.draft.latest.get(key + str(ordinal))
            if revision is not None and (best is None or (revision, depth) >= best[:2]):
                best = (revision, depth, key)
        if best is None:
            return False, None
        revision, _, key = best
        if revision > self.draft.base.revision:
            return True, self._fresh_output(ordinal, key)
        return True, self._stored_output(ordinal, key, revision)

    def _fresh_output(self, ordinal: int, key: str) -> Any:
        for step in reversed(self.draft.steps):
            if step.step in self.draft.fresh and self._matches(step.step, ordinal, parse_branch(key)):
                return self.draft.fresh[step.step]
        raise AssertionError("a latest output of this commit has no step")

    def _stored_output(self, ordinal: int, key: str, revision: int) -> Any:
        item = row(self.knowledge, segment_sk(revision))
        for step in reversed((item or {}).get("steps", [])):
            record = StepRecord.from_item(step)
            if record.output_digest and self._matches(record.step, ordinal, parse_branch(key)):
                return payload(self.knowledge, record.output_digest) if record.elsewhere else record.output
        raise AssertionError("a latest output has no step in its segment")

    def _matches(self, step: str, ordinal: int, branch: Branch) -> bool:
        place = parse_step_id(step, self.draft.graph)
        return place is not None and place.node == ordinal and place.branch[: len(branch)] == branch


def row(knowledge: Knowledge, sk: str) -> Any:
    """A row of the run; raises `Missing` until it was read."""
    if sk not in knowledge.rows:
        raise Missing(rows=(sk,))
    return knowledge.rows[sk]


def payload(knowledge: Knowledge, digest: str) -> Any:
    """A payload kept in the blob store; raises `Missing` until it was read."""
    if digest not in knowledge.payloads:
        raise Missing(payloads=(digest,))
    return knowledge.payloads[digest]
