"""Closing many things: the head has decided, the rows follow in pages (protocol.md 3).

The rows of tokens that lost, or of a run that ended, are closed with their own conditions; what a person or the
outside decided before stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.domain import child, effect, subscription, task
from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.knowledge import Knowledge, Missing
from casegraph.domain.burst.visit import row
from casegraph.domain.head import Head, row_key
from casegraph.domain.place import parse_key, step_id
from casegraph.domain.writes import Write
from casegraph.limits import CLOSING_PAGE_ITEMS

if TYPE_CHECKING:
    from casegraph.domain.graph.compiled import CompiledGraph


def close_page(draft: Draft, knowledge: Knowledge) -> None:
    """Close the rows of some closing tokens in this commit and take those tokens out of `closing`."""
    writes, closed = page(draft.base, draft.graph, knowledge, draft.now)
    draft.writes.extend(writes)
    for key in closed:
        del draft.closing[key]


def page(head: Head, graph: CompiledGraph, knowledge: Knowledge, now: int) -> tuple[list[Write], list[str]]:
    """The writes that close one page of `head.closing`, and the token keys that are then done.

    Raises `Missing` until the rows were read: a row that is already decided needs no write.
    """
    writes: list[Write] = []
    closed: list[str] = []
    for key in sorted(head.closing):
        if len(writes) >= CLOSING_PAGE_ITEMS:
            break
        writes.extend(_closing_writes(head, graph, knowledge, key, now))
        closed.append(key)
    return writes, closed


def cause_of(head: Head, key: str, graph: CompiledGraph) -> str:
    """Why the token of this key is being closed: the step that won its join, by its readable id, or the outcome."""
    cause = head.closing.get(key, "").partition("|")[0]
    return step_id(parse_key(cause), graph) if "." in cause else cause


def _closing_writes(
    head: Head, graph: CompiledGraph, knowledge: Knowledge, key: str, now: int
) -> list[Write]:
    if key == child.NOT_AWAITED:
        _children_closed(knowledge, key, "")
        return []
    place = parse_key(key)
    step = step_id(place, graph)
    node = graph.nodes[place.node]
    match = head.closing[key].partition("|")[2]
    cause = cause_of(head, key, graph)
    if node.kind.name == "human_task":
        item = row(knowledge, task.task_sk(step))
        return (
            [task.cancel(row_key(head.run_id, task.task_sk(step)), cause, now)] if task.is_open(item) else []
        )
    if node.kind.name == "start_linked_workflow":
        if node.config.cascade == child.CANCEL:
            _children_closed(knowledge, key, step)
        return []
    if node.kind.effect:
        sk = effect.effect_sk(step, 1)
        item = row(knowledge, sk)
        return [effect.cancel(row_key(head.run_id, sk), item, now)] if effect.is_pending(item) else []
    types: tuple[str, ...] = getattr(node.config, "event_types", ()) if match else ()
    return [subscription.removal(t, match, head.run_id, step) for t in types]


def _children_closed(knowledge: Knowledge, key: str, step: str) -> None:
    """Raise `Missing` until the child run of a step, or every one that no token waits for (step empty), is terminal."""
    if key not in knowledge.closed_children:
        raise Missing(children=((key, step),))
