"""What the data flow promises about outputs holds on every walk through a random graph."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from casegraph.domain.graph.parser import parse
from casegraph.domain.graph.validation.branches import branches
from casegraph.domain.graph.validation.outputs_at import OutputsAt, outputs_at, variant_of
from casegraph.domain.graph.validation.subject import Subject
from casegraph.testing.bundles import bundle, form, node

FORMS = {"f": form("yes", "no")}


@st.composite
def subjects(draw: st.DrawFn) -> Subject:
    """Tasks (with timeouts), calls (with errors) and conditions wired at random; some in the branches of a fork."""
    count = draw(st.integers(1, 6))
    names = [f"n{i}" for i in range(count)]
    forked = draw(st.booleans())
    modes: list[dict[str, Any]] = [{}, {"mode": "any"}, {"mode": "n", "n": 1}, {"mode": "n", "n": 2}]
    mode = draw(st.sampled_from(modes))
    targets = st.sampled_from([*names, "last"])
    nodes, wires = [node("start", "start")], []
    for name in names:
        kind = draw(st.sampled_from(["human_task", "enrichment", "condition"]))
        kinds: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
            "human_task": ({"queue_id": "q", "form": "f"}, ("yes", "no", "timeout")),
            "enrichment": ({"component_id": "c"}, ("success", "error")),
            "condition": ({"cases": [{"port": "a", "when": "true"}]}, ("a", "default")),
        }
        config, ports = kinds[kind]
        nodes.append(node(name, kind, config))
        wires += [f"{name}.{port} > {draw(targets)}" for port in ports]
    if forked:
        nodes += [
            node("fork", "parallel", {"branches": ["l", "r"]}),
            node("left", "enrichment", {"component_id": "c"}),
        ]
        nodes += [node("right", "human_task", {"queue_id": "q", "form": "f"}), node("meet", "join", mode)]
        wires += [
            "start.success > fork",
            "fork.l > left",
            "fork.r > right",
            "left.success > meet",
            "left.error > meet",
        ]
        wires += ["right.yes > meet", "right.no > meet", "right.timeout > meet", "meet.success > n0"]
    else:
        wires.append("start.success > n0")
    nodes += [node("last", "decision", {}), node("end", "end")]
    given_bundle = bundle("random", nodes, [*wires, "last.recorded > end"], forms=FORMS)
    return Subject(parse(given_bundle["graph"]), given_bundle, given_bundle["graph"])


class Walk:
    """Plays tokens through the graph; at each arrival compares what has run with what was promised."""

    def __init__(self, subject: Subject, flow: OutputsAt, choose: random.Random) -> None:
        self.subject, self.flow, self.choose = subject, flow, choose
        self.checked = 0

    def arrive(self, number: int, left_by: dict[int, str]) -> None:
        for other in self.flow.position:
            if self.flow.has_run(number, other):
                assert other in left_by, (self.subject.id(number), self.subject.id(other))
            if other in left_by:
                assert left_by[other] in self.flow.variants(number, other)
        self.checked += 1

    def run(self) -> None:
        number = self.subject.start or 0
        left_by: dict[int, str] = {}
        for _ in range(40):
            self.arrive(number, left_by)
            if self.subject.id(number) == "fork":
                number = self.fork(number, left_by)
            ports = self.subject.next[number]
            if not ports:
                return
            port = self.choose.choice(sorted(ports))
            left_by[number] = variant_of(self.subject, number, port)
            number = ports[port]

    def fork(self, number: int, left_by: dict[int, str]) -> int:
        left_by[number] = "regular"
        meet = self.subject.number["meet"]
        config: Any = self.subject.nodes[meet].config
        needed = {"all": 2, "any": 1}.get(config.mode, config.n or 2)
        arriving = [self.branch(self.subject.next[number][port], dict(left_by)) for port in ("l", "r")]
        self.choose.shuffle(arriving)
        for found in arriving[:needed]:
            left_by.update(found)
        return meet

    def branch(self, number: int, left_by: dict[int, str]) -> dict[int, str]:
        self.arrive(number, left_by)
        port = self.choose.choice(sorted(self.subject.next[number]))
        return {number: variant_of(self.subject, number, port)}


@settings(max_examples=150)
@given(subjects(), st.integers(0, 2**32))
def test_what_must_have_run_has_run_and_what_may_have_been_left_is_known(subject: Subject, seed: int) -> None:
    flow = outputs_at(subject, branches(subject), range(len(subject.nodes)))
    walk = Walk(subject, flow, random.Random(seed))
    for _ in range(20):
        walk.run()
    assert walk.checked >= 20
