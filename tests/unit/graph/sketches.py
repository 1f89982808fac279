"""Graphs to lay out: random ones that look like workflows, loops and forks among them."""

from __future__ import annotations

import random

from casegraph.domain.graph.layout import arcs
from casegraph.domain.graph.layouting.sketch import Sketch, Vertex

PORTS = {
    "enrichment": ("success", "error"),
    "condition": ("violating", "borderline", "fine", "default"),
    "parallel": ("tell_reporter", "tell_account", "submit_statement"),
    "join": ("success",),
    "human_task": ("remove", "restrict", "none", "timeout"),
    "wait_for_event": ("received", "timeout"),
    "send_message": ("sent", "error"),
    "action": ("applied", "rejected", "expired", "error"),
    "decision": ("recorded",),
    "delay": ("completed",),
}


def workflow_like(count: int, seed: int, *, loops: float = 0.08, far: float = 0.1) -> Sketch:
    """A graph of `count` nodes: mostly to one of the next nodes, errors to one place, some loops, some far edges."""
    choose = random.Random(seed)
    kinds = ["start", *(choose.choice(list(PORTS)) for _ in range(count - 2)), "end"]
    ids = [kind if kind in ("start", "end") else f"{kind}_{number}" for number, kind in enumerate(kinds)]
    escalate = max(1, count - 2)
    ports: dict[tuple[int, int], list[str]] = {}
    for number, kind in enumerate(kinds[:-1]):
        for index, port in enumerate(PORTS.get(kind, ("success",))):
            target = min(count - 1, number + 1 + index)
            if port in ("error", "timeout") and number < escalate:
                target = escalate
            elif index and choose.random() < loops:
                target = choose.randrange(max(1, number - 8), number + 1)
            elif index and choose.random() < far:
                target = choose.randrange(number + 1, count)
            ports.setdefault((number, target), []).append(port)
    vertices = tuple(Vertex(i, kind, kind.replace("_", " ")) for i, kind in zip(ids, kinds, strict=True))
    return Sketch(vertices, arcs(ports))
