from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from casegraph.authoring.folder import load_folder
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.layout import arcs, drawing_of, lay_out, span
from casegraph.domain.graph.layouting.drawing import Drawing, drawing_from_dict
from casegraph.domain.graph.layouting.sketch import Sketch, Vertex, broken
from casegraph.limits import DRAWING_ID_LINE_CHARACTERS, DRAWING_LABEL_LINES
from tests.unit.graph.geometry import faults
from tests.unit.graph.sketches import workflow_like

WORKFLOWS = sorted(p for p in (Path(__file__).parents[3] / "workflows").iterdir() if p.is_dir())
# On one core of a busy machine; measured: 2 to 4 s.
LARGE_GRAPH_SECONDS = 30.0


def document_of(folder: Path) -> Document:
    return Document.model_validate_json(json.dumps(load_folder(folder)["graph"]))


def graph(nodes: dict[str, dict[str, str]], kinds: dict[str, str] | None = None) -> Sketch:
    """A sketch of nodes, each with its ports and where they lead."""
    number = {name: i for i, name in enumerate(nodes)}
    ports: dict[tuple[int, int], list[str]] = {}
    for name, targets in nodes.items():
        for port, target in targets.items():
            ports.setdefault((number[name], number[target]), []).append(port)
    kind = kinds or {}
    vertices = tuple(Vertex(name, kind.get(name, "condition"), "condition") for name in nodes)
    return Sketch(vertices, arcs(ports))


@st.composite
def sketches(draw: st.DrawFn) -> Sketch:
    """Any graph of up to 60 nodes: every node leads to some others, itself or earlier ones among them."""
    count = draw(st.integers(1, 60))
    ids = [
        draw(st.sampled_from(["n{}", "review_of_a_notice_{}", "x" * 90 + "{}"])).format(i)
        for i in range(count)
    ]
    ports: dict[tuple[int, int], list[str]] = {}
    for source in range(count):
        for port in range(draw(st.integers(0, 4))):
            target = draw(st.integers(0, count - 1) | st.integers(source, min(count - 1, source + 4)))
            ports.setdefault((source, target), []).append(
                draw(st.sampled_from(["error", "a", "p" * 100])) + str(port)
            )
    vertices = tuple(Vertex(name, "human_task", "human task, 7 d") for name in ids)
    return Sketch(vertices, arcs(ports))


@pytest.mark.parametrize("folder", WORKFLOWS, ids=lambda folder: folder.name)
def test_the_drawing_of_a_shipped_workflow_keeps_the_geometry(folder: Path) -> None:
    document = document_of(folder)
    drawing = drawing_of(document)
    assert [node.id for node in document.nodes] == [box.node_id for box in drawing.boxes]
    drawn = {(edge.source, port, edge.target) for edge in drawing.edges for port in edge.ports}
    assert {(e.from_.node, e.from_.port, e.to.node) for e in document.edges} == drawn
    assert faults(drawing) == []


@settings(max_examples=120, deadline=None)
@given(sketches())
def test_any_graph_keeps_the_geometry(sketch: Sketch) -> None:
    drawing = lay_out(sketch)
    assert len(sketch.vertices) == len(drawing.boxes)
    assert [(sketch.vertices[a.source].id, a.ports) for a in sketch.arcs] == [
        (e.source, e.ports) for e in drawing.edges
    ]
    assert faults(drawing) == []


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count", [5, 20, 60])
def test_graphs_that_look_like_workflows_keep_the_geometry_and_no_line_is_cut(count: int, seed: int) -> None:
    drawing = lay_out(workflow_like(count, seed))
    assert faults(drawing) == []
    assert not any(edge.jump for edge in drawing.edges)


def test_the_same_graph_gives_the_same_drawing() -> None:
    once, again = lay_out(workflow_like(60, 7)), lay_out(workflow_like(60, 7))
    assert json.dumps(once.to_dict()) == json.dumps(again.to_dict())


def test_the_json_form_reads_back_as_the_same_drawing() -> None:
    drawing = lay_out(workflow_like(40, 3))
    assert drawing == drawing_from_dict(json.loads(json.dumps(drawing.to_dict())))


def test_a_drawing_of_another_format_is_refused() -> None:
    stored = lay_out(graph({"a": {}})).to_dict()
    with pytest.raises(ValueError, match="format 2"):
        drawing_from_dict({**stored, "format": 2})


@pytest.mark.slow
@pytest.mark.parametrize(("loops", "far"), [(0.0, 0.0), (0.05, 0.05)])
def test_a_graph_of_5000_nodes_is_laid_out_in_bounded_time(
    loops: float, far: float, capsys: pytest.CaptureFixture[str]
) -> None:
    sketch = workflow_like(5_000, 1, loops=loops, far=far)
    started = time.perf_counter()
    drawing = lay_out(sketch)
    seconds = time.perf_counter() - started
    with capsys.disabled():
        cut = sum(edge.jump for edge in drawing.edges)
        print(f"\n5,000 nodes, {len(sketch.arcs)} lines: laid out in {seconds:.2f} s, {cut} long lines cut")
    assert seconds < LARGE_GRAPH_SECONDS
    assert faults(drawing) == []


def test_a_line_that_is_cut_ends_below_its_source_and_its_label_names_the_target(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("casegraph.domain.graph.layouting.lanes.DRAWING_MAX_LANES", 3)
    nodes: dict[str, dict[str, str]] = {f"n{i}": {"default": f"n{i + 1}"} for i in range(9)}
    nodes["n0"]["fine"] = "n9"
    nodes["n9"] = {}
    drawing = lay_out(graph(nodes))
    (cut,) = [edge for edge in drawing.edges if edge.jump]
    assert (cut.source, cut.target) == ("n0", "n9")
    assert cut.label is not None
    assert cut.label.lines == ("fine", "to n9")
    assert faults(drawing) == []


def test_every_line_but_a_loop_leads_down() -> None:
    drawing = lay_out(workflow_like(60, 2))
    top = {box.node_id: box.y for box in drawing.boxes}
    for edge in drawing.edges:
        assert edge.loop == (top[edge.target] <= top[edge.source])


def test_a_loop_is_what_a_reader_of_the_source_calls_one() -> None:
    drawing = lay_out(
        graph({"start": {"s": "load"}, "load": {"s": "wait"}, "wait": {"r": "load", "t": "end"}, "end": {}})
    )
    assert [(edge.source, edge.target) for edge in drawing.edges if edge.loop] == [("wait", "load")]


def test_a_node_may_lead_to_itself() -> None:
    drawing = lay_out(graph({"a": {"again": "a", "done": "b"}, "b": {}}))
    assert faults(drawing) == []
    assert [edge.loop for edge in drawing.edges] == [True, False]


def test_a_chain_is_one_straight_line() -> None:
    names = [f"n{i}" for i in range(8)]
    drawing = lay_out(graph({name: {"success": after} for name, after in pairwise(names)} | {names[-1]: {}}))
    assert {2} == {len(edge.points) for edge in drawing.edges}
    assert len({edge.points[0][0] for edge in drawing.edges}) == 1


def test_branches_that_can_be_drawn_without_a_crossing_are() -> None:
    """Ports in the source's order would cross: they leave in the order of where they lead."""
    nodes = {
        "fork": {"a": "right", "b": "left"},
        "left": {"s": "left_end"},
        "right": {"s": "right_end"},
        "right_end": {},
        "left_end": {},
    }
    assert crossings(lay_out(graph(nodes))) == 0


def test_the_order_in_the_layers_saves_crossings() -> None:
    """Measured: 166; without barycentres 422; without swaps as well 589."""
    assert sum(crossings(lay_out(workflow_like(40, seed))) for seed in range(8)) < 200


def test_lines_to_one_node_share_one_lane() -> None:
    nodes: dict[str, dict[str, str]] = {
        f"n{i}": {"success": f"n{i + 1}", "error": "escalate"} for i in range(20)
    }
    nodes["n20"] = {"success": "escalate"}
    nodes["escalate"] = {}
    drawing = lay_out(graph(nodes))
    errors = [edge for edge in drawing.edges if "error" in edge.ports][:15]
    lanes = {max(pairwise(edge.points), key=lambda part: part[1][1] - part[0][1])[0][0] for edge in errors}
    assert len(lanes) == 1
    assert drawing.junctions


def test_a_wide_fork_stays_a_picture() -> None:
    drawing = lay_out(
        graph({"fork": {f"b{i}": f"n{i}" for i in range(64)}} | {f"n{i}": {} for i in range(64)})
    )
    assert faults(drawing) == []
    assert max(box.x + box.width for box in drawing.boxes) <= drawing.width
    layers: dict[int, int] = {}
    for box in drawing.boxes:
        layers[box.y] = layers.get(box.y, 0) + 1
    assert max(layers.values()) <= 10


def test_the_only_port_of_a_node_needs_no_label() -> None:
    drawing = lay_out(graph({"a": {"success": "b"}, "b": {"yes": "c", "no": "d"}, "c": {}, "d": {}}))
    assert [e.label and e.label.lines for e in drawing.edges] == [None, ("yes",), ("no",)]


def test_ports_to_one_node_are_lines_of_one_label_and_many_are_counted() -> None:
    few = lay_out(graph({"a": {"yes": "b", "no": "b"}, "b": {}})).edges
    assert [e.label and e.label.lines for e in few] == [("yes", "no")]
    (many,) = lay_out(graph({"a": {f"p{i}": "b" for i in range(64)}, "b": {}})).edges
    assert many.label is not None
    assert len(many.label.lines) == DRAWING_LABEL_LINES
    assert many.label.lines[-1] == "and 60 more"
    assert len(many.ports) == 64


def test_an_id_of_100_characters_is_broken_and_kept_whole() -> None:
    for name in ("x" * 100, "a_" * 50, "review_of_the_notice_by_two_people_who_know"):
        lines = broken(name, DRAWING_ID_LINE_CHARACTERS)
        assert name == "".join(lines)
        assert max(map(len, lines)) <= DRAWING_ID_LINE_CHARACTERS


def test_a_graph_without_nodes_is_an_empty_picture() -> None:
    drawing = lay_out(Sketch((), ()))
    assert drawing.boxes == ()
    assert drawing.width > 0


@pytest.mark.parametrize(
    ("seconds", "text"), [(604_800, "7 d"), (86_400, "1 d"), (5_400, "90 min"), (90, "90 s"), (0.5, "0.5 s")]
)
def test_a_time_span_is_written_in_its_largest_whole_unit(seconds: float, text: str) -> None:
    assert text == span(seconds)


def crossings(drawing: Drawing) -> int:
    """Points where lines to different nodes cross."""
    found = 0
    parts = [(e.target, a, b) for e in drawing.edges for a, b in pairwise(e.points)]
    for target, (x1, y1), (x2, y2) in parts:
        for other, (a1, b1), (a2, b2) in parts:
            if target != other and x1 == x2 and b1 == b2:
                found += min(a1, a2) < x1 < max(a1, a2) and min(y1, y2) < b1 < max(y1, y2)
    return found


def _spoiled(drawing: Drawing, **change: Any) -> Drawing:
    return replace(drawing, **change)


def test_the_geometric_test_finds_each_fault() -> None:
    good = lay_out(graph({"a": {"yes": "b", "no": "c"}, "b": {"s": "d"}, "c": {"s": "d"}, "d": {}}))
    assert faults(good) == []
    a, b, c, d = good.boxes
    to_b, to_c, b_d, c_d = good.edges
    assert to_b.label is not None
    assert "overlaps" in faults(_spoiled(good, boxes=(a, b, replace(c, x=b.x + 10), d)))[0]
    assert any("outside" in fault for fault in faults(_spoiled(good, width=b.x + 5)))
    wide = replace(to_b, label=replace(to_b.label, width=200))
    assert any("runs through label" in f for f in faults(_spoiled(good, edges=(wide, to_c, b_d, c_d))))
    through = replace(to_c, points=(to_c.points[0], (to_c.points[0][0], d.y + 5), (d.x, d.y + 5)))
    assert any("runs through box" in f for f in faults(_spoiled(good, edges=(to_b, through, b_d, c_d))))
    slanted = replace(to_b, points=(to_b.points[0], to_b.points[-1]))
    assert any("slanted" in f for f in faults(_spoiled(good, edges=(slanted, to_c, b_d, c_d))))
    along = replace(to_c, points=to_b.points)
    assert any("run along" in f for f in faults(_spoiled(good, edges=(to_b, along, b_d, c_d))))
