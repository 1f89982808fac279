"""What the kernel reads of a version."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import pytest

from casegraph.domain.expressions import ExpressionFailed
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.compiled import CompiledGraph, compile_bundle
from casegraph.domain.graph.reach import cyclic, strong_components
from casegraph.domain.graph.validation.validate import validate
from casegraph.errors import InvalidInput
from casegraph.testing.bundles import bundle, node

Json = dict[str, Any]


def looped() -> Json:
    """start > load > again {yes: wait > load, default: record} > end; wait times out to record."""
    return bundle(
        "looped",
        [
            node("start", "start"),
            node(
                "load", "enrichment", {"component_id": "history"}, input_mapping={"subject": "input.subject"}
            ),
            node("again", "condition", {"cases": [{"port": "yes", "when": "nodes.load.n > 1.0"}]}),
            node("wait", "wait_for_event", {"event_types": ["a.b"]}, timeout_seconds=5),
            node(
                "record", "decision", {}, input_mapping={"outcome": "nodes.?wait.?type.orValue(report.kind)"}
            ),
            node("end", "end"),
        ],
        [
            "start.success > load",
            "load.success > again",
            "again.yes > wait",
            "again.default > record",
            "wait.received > load",
            "wait.timeout > record",
            "record.recorded > end",
        ],
        components={
            "history": {"output_schema": {"type": "object", "properties": {"n": {"type": "number"}}}}
        },
    )


def compiled() -> CompiledGraph:
    return compile_bundle(looped())


START, LOAD, AGAIN, WAIT, RECORD, END = range(6)


def test_nodes_stand_in_document_order() -> None:
    graph = compiled()
    assert [n.id for n in graph.nodes] == ["start", "load", "again", "wait", "record", "end"]
    assert [graph.ordinal(n.id) for n in graph.nodes] == [0, 1, 2, 3, 4, 5]
    assert graph.start == START
    assert graph.key == "looped"
    assert graph.digest == bundle_digest(looped())


def test_an_unknown_node_id_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        compiled().ordinal("nowhere")


def test_successors_follow_the_ports() -> None:
    graph = compiled()
    assert graph.successor(AGAIN, "yes") == WAIT
    assert graph.successor(AGAIN, "default") == RECORD
    assert graph.successor(LOAD, "error") is None
    assert graph.successor(END, "success") is None


def test_only_nodes_of_the_loop_are_in_a_cycle() -> None:
    graph = compiled()
    assert [graph.in_cycle(i) for i in range(6)] == [False, True, True, True, False, False]


def test_a_node_reaches_what_comes_after_it_and_itself_only_in_a_loop() -> None:
    graph = compiled()
    assert graph.can_reach(START, END)
    assert graph.can_reach(WAIT, AGAIN)
    assert graph.can_reach(LOAD, LOAD)
    assert not graph.can_reach(RECORD, RECORD)
    assert not graph.can_reach(END, START)


def test_references_and_uses_come_from_mappings_and_configurations() -> None:
    graph = compiled()
    assert graph.references(AGAIN) == {LOAD}
    assert graph.references(RECORD) == {WAIT}
    assert graph.references(LOAD) == frozenset()
    assert graph.uses(RECORD) == {"nodes", "report"}
    assert graph.uses(LOAD) == {"input"}
    assert graph.uses(START) == frozenset()


def test_what_is_needed_shrinks_on_the_way() -> None:
    graph = compiled()
    assert graph.needed_from([START]) == {LOAD, WAIT}
    assert graph.needed_from([WAIT]) == {LOAD, WAIT}
    assert graph.needed_from([RECORD]) == {WAIT}
    assert graph.needed_from([END]) == frozenset()
    assert graph.needed_from([END, RECORD]) == {WAIT}
    assert graph.needed_from([]) == frozenset()


def test_programs_bind_outputs_by_their_schema() -> None:
    node = compiled().nodes[AGAIN]
    assert node.program("nodes.load.n + 0.5").evaluate({"nodes": {"load": {"n": 2}}}) == 2.5
    assert node.program("nodes.load.n > 1.0") is node.program("nodes.load.n > 1.0")


def test_an_error_value_never_chooses_a_port() -> None:
    node = compiled().nodes[AGAIN]
    outputs: list[Json] = [{}, {"load": {}}, {"load": {"n": "text"}}, {"load": {"n": None}}]
    for broken in outputs:
        with pytest.raises(ExpressionFailed):
            node.program(node.config.cases[0].when).evaluate_bool({"nodes": broken})


def test_a_bundle_without_a_graph_is_refused() -> None:
    bundles: list[Json] = [{}, {"graph": {}}, {"graph": {"nodes": 3}}]
    for broken in bundles:
        with pytest.raises(InvalidInput):
            compile_bundle(broken)


def test_ids_of_a_hundred_characters_work_everywhere() -> None:
    long_ids = [f"{letter * 99}{digit}" for letter in "abc" for digit in (1, 2)]
    nodes = [node("start", "start")]
    nodes += [
        node(
            i, "enrichment", {"component_id": "x"}, input_mapping={"v": f"nodes.{before}.v"} if before else {}
        )
        for i, before in zip(long_ids, [None, *long_ids], strict=False)
    ]
    ids = ["start", *long_ids, "end"]
    given = bundle(
        "long",
        [*nodes, node("end", "end")],
        [f"{a}.success > {b}" for a, b in pairwise(ids)],
    )
    assert validate(given).problems == ()
    graph = compile_bundle(given)
    assert graph.references(3) == {2}
    assert graph.nodes[3].mapping["v"].evaluate({"nodes": {long_ids[1]: {"v": 7}}}) == 7
    too_long = bundle("long", [node("a" * 101, "start"), node("end", "end")], [])
    assert "invalid_value" in [p.code for p in validate(too_long).problems]


def chain(length: int) -> Json:
    nodes, wires = [node("start", "start")], ["start.success > n0"]
    for i in range(length):
        when = f"nodes.n{i - 1}.port == 'yes'" if i else "true"
        nodes.append(node(f"n{i}", "condition", {"cases": [{"port": "yes", "when": when}]}))
        target = f"n{i + 1}" if i < length - 1 else "end"
        wires += [f"n{i}.yes > {target}", f"n{i}.default > {target}"]
    return bundle("chain", [*nodes, node("end", "end")], wires)


def test_five_thousand_nodes_are_accepted_in_a_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    given = chain(5_000)
    began = time.perf_counter()
    assert validate(given).problems == ()
    validated = time.perf_counter()
    graph = compile_bundle(given)
    loaded = time.perf_counter()
    assert len(graph.needed_from([graph.start])) == 4_999
    with capsys.disabled():
        print(
            f"\n5,000 nodes: validated in {validated - began:.1f} s, loaded in {loaded - validated:.1f} s, "
            f"references in {time.perf_counter() - loaded:.1f} s"
        )


def test_more_than_twenty_thousand_nodes_are_refused() -> None:
    given = chain(20_000)
    assert [p.code for p in validate(given).problems if p.pointer == "/graph/nodes"] == ["too_many_nodes"]


def test_components_are_numbered_against_the_edges() -> None:
    successors = [[1], [2], [1, 3], [], [4]]
    component = strong_components(successors)
    assert component[1] == component[2]
    assert component[0] > component[1] > component[3]
    assert cyclic(successors, component) == [False, True, True, False, True]
