from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from casegraph.authoring.draw import summary, svg
from casegraph.authoring.draw_diff import compare, sketch_of_both
from casegraph.authoring.folder import load_folder
from casegraph.authoring.shapes import outline
from casegraph.cli.main import app
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.layout import drawing_of, lay_out
from casegraph.domain.graph.layouting.drawing import drawing_from_dict
from casegraph.domain.graph.layouting.sketch import Sketch, Vertex
from casegraph.domain.nodes.registry import KINDS
from tests.unit.graph.geometry import faults

FOLDER = Path(__file__).parents[3] / "workflows" / "illegal-content-notice"
SVG = "{http://www.w3.org/2000/svg}"


def document() -> Document:
    return Document.model_validate_json(json.dumps(load_folder(FOLDER)["graph"]))


def changed() -> Document:
    """Without the message to the notifier, with a pause before the review, which waits longer."""
    graph = load_folder(FOLDER)["graph"]
    nodes = [node for node in graph["nodes"] if node["id"] != "tell_notifier"]
    for node in nodes:
        if node["id"] == "review":
            node["timeout_seconds"] = 172_800
    nodes.insert(1, {"id": "cool_down", "kind": "delay", "config": {"for_seconds": 60}})
    edges = [edge for edge in graph["edges"] if edge["from"]["node"] != "tell_notifier"]
    for edge in edges:
        if edge["to"]["node"] == "tell_notifier":
            edge["to"] = {"node": "end"}
        if edge["to"]["node"] == "review":
            edge["to"] = {"node": "cool_down"}
    edges.append({"from": {"node": "cool_down", "port": "completed"}, "to": {"node": "review"}})
    return Document.model_validate_json(json.dumps({**graph, "nodes": nodes, "edges": edges}))


def read(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text)


def texts(root: ElementTree.Element, name: str) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text") if e.get("class") == name]


def test_every_node_stands_in_the_picture_with_its_id_and_its_kind_in_words() -> None:
    root = read(svg(drawing_of(document()), title="Notices"))
    assert [node.id for node in document().nodes] == texts(root, "id")
    assert "human task, 1 d" in texts(root, "caption")
    assert {"remove", "restrict", "none", "timeout"} <= set(texts(root, "port"))


def test_the_picture_has_a_title_and_says_in_words_where_each_node_leads() -> None:
    root = read(svg(drawing_of(document()), title="Notices & more"))
    assert root.get("role") == "img"
    names = (root.get("aria-labelledby") or "").split()
    assert names == [root[0].get("id"), root[1].get("id")]
    assert root[0].text == "Notices & more"
    said = root[1].text or ""
    assert "review (human task, 1 d): remove, restrict, none to record; timeout to escalate." in said


def test_what_people_wrote_is_text_and_never_markup() -> None:
    nasty = '</title><script>alert("1")</script>\x00\x1b&'
    drawing = lay_out(Sketch((Vertex("a", "start", nasty),), ()))
    text = svg(drawing, title=nasty, description=nasty)
    root = read(text)
    assert root.find(f".//{SVG}script") is None
    assert root[0].text == '</title><script>alert("1")</script>&'


def test_the_picture_runs_and_fetches_nothing() -> None:
    text = svg(drawing_of(document()), title="Notices")
    assert not re.search(r"<script|\bon\w+=|href|url\(|@import|<image|<foreignObject", text)


def test_light_and_dark_follow_the_reader_and_text_keeps_its_contrast() -> None:
    text = svg(drawing_of(document()), title="Notices")
    light, dark = text.split("@media (prefers-color-scheme:dark)")
    for theme in (light, dark):
        ink = _colour(theme, r"\.cg text\{fill:(#\w+)")
        quiet = _colour(theme, r"\.cg \.caption,\.cg \.port\{fill:(#\w+)")
        paper = _colour(theme, r"\.cg \.paper\{fill:(#\w+)")
        marks = [
            _colour(theme, rf"\.cg \.{name} \.tip[^{{]*\{{fill:(#\w+)")
            for name in ("added", "removed", "changed")
        ]
        fills = re.findall(r"\.shape\{fill:(#\w+)", theme)
        assert len(fills) == 6
        for fill in (*fills, paper):
            for colour in (ink, quiet):
                assert contrast(colour, fill) >= 7, (colour, fill)
            for colour in marks:
                assert contrast(colour, fill) >= 4.5, (colour, fill)


def test_every_kind_has_an_outline_or_a_word_of_its_own() -> None:
    box = drawing_of(document()).boxes[0]
    shapes = {kind: outline(replace(box, kind=kind)) for kind in KINDS}
    alike = {kind for kind, shape in shapes.items() if list(shapes.values()).count(shape) > 1}
    assert alike <= {"wait_for_event", "delay"}


def test_what_differs_between_two_versions_is_marked_in_words() -> None:
    comparison = compare(document(), changed())
    marks = {node.id: mark for node, mark in comparison.nodes if mark}
    assert marks == {"cool_down": "added", "review": "changed", "tell_notifier": "removed"}
    assert comparison.edges["cool_down", "completed", "review"] == "added"
    assert comparison.edges["complete_enough", "default", "review"] == "removed"
    assert comparison.edges["record", "recorded", "tell_notifier"] == "removed"
    drawing = lay_out(sketch_of_both(comparison))
    assert faults(drawing) == []
    root = read(svg(drawing, title="Notices", description=comparison.in_words()))
    assert {"added: delay", "changed: human task, 2 d", "removed: send message"} <= set(
        texts(root, "caption")
    )
    assert {"added: completed", "removed: default"} <= set(texts(root, "port"))
    assert "review changed" in (root[1].text or "")


def test_a_version_compared_with_itself_differs_in_nothing() -> None:
    comparison = compare(document(), document())
    assert comparison.in_words() == "No node and no edge differs."
    assert lay_out(sketch_of_both(comparison)) == drawing_of(document())


def test_the_command_writes_the_picture_and_says_how_long_it_took(tmp_path: Path) -> None:
    out = tmp_path / "w1.svg"
    done = CliRunner().invoke(app, ["draw", str(FOLDER), "-o", str(out)])
    assert done.exit_code == 0
    assert re.search(r"11 nodes laid out in \d+\.\d\d s; written to ", done.stderr)
    assert texts(read(out.read_text(encoding="utf-8")), "id")[0] == "start"


def test_the_command_prints_the_picture_or_its_coordinates() -> None:
    picture = CliRunner().invoke(app, ["draw", str(FOLDER)])
    drawing = drawing_of(document())
    said = f"{document().description} {summary(drawing)}"
    assert picture.stdout == svg(drawing, title=document().name, description=said)
    coordinates = CliRunner().invoke(app, ["draw", str(FOLDER), "--json"])
    assert drawing_from_dict(json.loads(coordinates.stdout)) == drawing_of(document())


def test_the_command_compares_with_an_earlier_form() -> None:
    done = CliRunner().invoke(app, ["draw", str(FOLDER), "--since", str(FOLDER)])
    assert done.exit_code == 0
    assert "No node and no edge differs." in done.stdout


@pytest.mark.parametrize("target", ["no-such-folder/x.svg"])
def test_a_file_that_cannot_be_written_is_named(target: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["draw", str(FOLDER), "-o", str(tmp_path / target)])
    assert done.exit_code == 1
    assert "unwritable_file" in done.stderr


def _colour(style: str, pattern: str) -> str:
    found = re.search(pattern, style)
    assert found, pattern
    return found[1]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2: the ratio of relative luminances."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
