"""`why`: what a run waits for, since when, until when, and who can unblock it; one sentence and the list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.application.run_views import attention_codes, graph_of
from casegraph.domain.child import child_run_id
from casegraph.domain.effect import effect_sk
from casegraph.domain.graph.compiled import CompiledGraph
from casegraph.domain.head import Head, row_key
from casegraph.domain.instants import rfc3339
from casegraph.domain.place import parse_key, step_id
from casegraph.domain.task import task_sk
from casegraph.domain.token import Token, TokenStatus
from casegraph.domain.writes import Item
from casegraph.limits import PAGE_MAX_ITEMS

Wait = dict[str, Any]
OPERATOR = "an operator"


@dataclass(frozen=True)
class _Stand:
    """One token of the frontier with what is known of it."""

    head: Head
    graph: CompiledGraph
    key: str
    token: Token
    rows: dict[str, Item]

    @property
    def step(self) -> str:
        return step_id(parse_key(self.key), self.graph)

    @property
    def kind(self) -> str:
        return self.graph.nodes[parse_key(self.key).node].kind.name

    @property
    def config(self) -> Any:
        return self.graph.nodes[parse_key(self.key).node].config


def why(ports: Ports, head: Head) -> dict[str, Any]:
    """`{run_id, state, sentence, waits_for: [{step, what, who, since?, deadline_at?, ...}]}`."""
    now = ports.clock.now()
    waits = _waits(ports, head)
    return {
        "run_id": head.run_id,
        "state": head.state(now),
        "revision": head.revision,
        "sentence": _sentence(head, waits, now),
        "waits_for": waits,
    }


def _waits(ports: Ports, head: Head) -> list[Wait]:
    graph = graph_of(ports, head)
    if head.terminal or graph is None:
        return []
    keys = list(head.frontier)[:PAGE_MAX_ITEMS]
    rows = _open_rows(ports, head, graph, keys)
    return [_wait(_Stand(head, graph, key, head.frontier[key], rows)) for key in keys]


def _open_rows(ports: Ports, head: Head, graph: CompiledGraph, keys: list[str]) -> dict[str, Item]:
    """The task and effect rows of these tokens, by sort key."""
    sks = []
    for key in keys:
        place = parse_key(key)
        kind = graph.nodes[place.node].kind
        step = step_id(place, graph)
        if kind.name == "human_task":
            sks.append(task_sk(step))
        elif kind.effect:
            sks.append(effect_sk(step, 1))
    if not sks:
        return {}
    found = patiently(ports, lambda: ports.store.batch_get([row_key(head.run_id, sk) for sk in sks]))
    return {key.sk: item for key, item in found.items()}


def _wait(stand: _Stand) -> Wait:
    token = stand.token
    wait: Wait = {"step": stand.step, "kind": stand.kind}
    if token.deadline_at is not None:
        wait["deadline_at"] = rfc3339(token.deadline_at)
    if token.status is TokenStatus.ATTENTION:
        return {**wait, "what": f"attention: {token.code}", "who": OPERATOR, "code": token.code}
    if token.status is TokenStatus.READY:
        return {**wait, "what": "to be run next", "who": "the executor"}
    if token.status is TokenStatus.ARRIVED:
        return {**wait, "what": "the other branches of its join", "who": "those branches"}
    if token.status is TokenStatus.BACKOFF:
        return {**wait, "what": f"another try after attempt {token.attempt}", "who": "the executor"}
    return {**wait, **_waiting(stand)}


def _waiting(stand: _Stand) -> Wait:
    if stand.kind == "human_task":
        return _for_person(stand.rows.get(task_sk(stand.step)), stand.config.queue_id)
    if stand.kind == "wait_for_event":
        types = ", ".join(stand.config.event_types)
        return {"what": f"an event of type {types}", "who": "the system that sends it"}
    if stand.kind == "start_linked_workflow":
        run_id = child_run_id(stand.head.run_id, stand.step)
        return {"what": f"the end of run {run_id}", "who": "see what that run waits for", "run_id": run_id}
    if stand.kind == "delay":
        return {"what": "its time", "who": "nobody: the clock"}
    row = stand.rows.get(effect_sk(stand.step, 1))
    return _for_effect(row) if row is not None else {"what": stand.kind, "who": OPERATOR}


def _for_person(row: Item | None, queue_id: str) -> Wait:
    if row is None:
        return {"what": "a person's task", "who": f"a reviewer of queue {queue_id}"}
    wait: Wait = {
        "what": "a person's decision",
        "since": rfc3339(row["created_at"]),
        "queue_id": row["queue_id"],
    }
    if "due_at" in row:
        wait["due_at"] = rfc3339(row["due_at"])
    wait["who"] = f"a reviewer of queue {row['queue_id']}"
    if row["state"] == "claimed":
        wait["who"] = row["claimed_by"]
        wait["claim_until"] = rfc3339(row["claim_until"])
    return wait


def _for_effect(row: Item) -> Wait:
    connector = row["connector_id"]
    wait: Wait = {
        "since": rfc3339(row["created_at"]),
        "effect_id": row["effect_id"],
        "effect_state": row["state"],
        "attempts": row["attempts"],
        "next_at": rfc3339(row["available_at"]),
        "what": f"delivery by connector {connector}",
        "who": f"connector {connector}",
    }
    if "code" in row:
        wait["code"] = row["code"]
    return wait


def _sentence(head: Head, waits: list[Wait], now: int) -> str:
    if head.outcome is not None:
        ended = rfc3339(head.ended_at or head.recorded_at)
        code = f" ({head.error_code})" if head.error_code else ""
        return f"The run ended as {head.outcome}{code} at {ended}; nothing is waited for."
    if head.paused is not None:
        until = f" until {rfc3339(head.paused.until)}" if head.paused.until else " until somebody resumes it"
        return f"The run is paused since {rfc3339(head.paused.since)}{until}; {OPERATOR} can resume it."
    if head.attention is not None:
        return f"The whole run waits for {OPERATOR}: {head.attention}."
    codes = attention_codes(head)
    if codes:
        return f"A branch waits for {OPERATOR}: {', '.join(codes)}."
    if head.lease_until is not None and head.lease_until > now:
        return "The executor is working on the run right now."
    return _waiting_sentence(waits)


def _waiting_sentence(waits: list[Wait]) -> str:
    if not waits:
        return "The run waits for nothing that its head names; reconcile takes it up."
    first = waits[0]
    until = f", until {first['deadline_at']}" if "deadline_at" in first else ""
    more = f" (and {len(waits) - 1} more)" if len(waits) > 1 else ""
    return f"The run waits at {first['step']} for {first['what']} by {first['who']}{until}{more}."
