"""Every problem of a bundle is found, with its code and its place, and all of them at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from casegraph.domain.graph.problem import Problem
from casegraph.domain.graph.validation.validate import Validated, validate
from casegraph.testing.bundles import bundle, form, node

Json = dict[str, Any]
HOUR = 3_600


def sound() -> Json:
    """A graph with nothing wrong: enrichment, condition, loop over a wait, task, decision, message."""
    return bundle(
        "notice",
        [
            node("start", "start"),
            node(
                "load", "enrichment", {"component_id": "history"}, input_mapping={"subject": "input.subject"}
            ),
            node("complete", "condition", {"cases": [{"port": "no", "when": "size(input.text) < 3"}]}),
            node("ask", "send_message", MAIL, input_mapping={"to": "input.subject", "name": "input.text"}),
            node("wait", "wait_for_event", {"event_types": ["notice.completed"]}, timeout_seconds=HOUR),
            node("review", "human_task", {"queue_id": "q", "form": "review"}, timeout_seconds=HOUR),
            node("record", "decision", {}, input_mapping={"outcome": "nodes.review.outcome"}),
            node("late", "decision", {}, input_mapping={"outcome": "'late'"}),
            node("end", "end"),
        ],
        [
            "start.success > load",
            "load.success > complete",
            "load.error > late",
            "complete.no > ask",
            "complete.default > review",
            "ask.sent > wait",
            "wait.received > load",
            "wait.timeout > late",
            "review.yes > record",
            "review.no > record",
            "review.timeout > late",
            "record.recorded > end",
            "late.recorded > end",
        ],
        forms={"review": form("yes", "no")},
        messages={"ask": {"subject": "More", "body": "Dear {{ name }}", "language": "en"}},
        components={"history": {"output_schema": HISTORY}},
        input_schema=INPUT,
    )


MAIL = {"connector_id": "mail", "template": "ask", "recovery": "idempotent"}
HISTORY: Json = {
    "type": "object",
    "properties": {"strikes": {"type": "integer"}, "score": {"type": "number"}, "note": {"type": "string"}},
    "required": ["strikes", "score"],
}
INPUT: Json = {
    "type": "object",
    "properties": {"subject": {"type": "string"}, "text": {"type": "string"}, "language": {"type": "string"}},
    "required": ["subject", "text"],
}


def graph_of(changed: Json) -> Json:
    found: Json = changed["graph"]
    return found


def at(changed: Json, node_id: str) -> Json:
    return next(n for n in graph_of(changed)["nodes"] if n["id"] == node_id)


def problems(changed: Json) -> list[tuple[str, str]]:
    return [(p.code, p.pointer) for p in validate(changed).problems]


def only(changed: Json) -> Problem:
    found = validate(changed).problems
    assert len(found) == 1, found
    return found[0]


def test_a_sound_bundle_has_no_problems() -> None:
    found = validate(sound())
    assert found.problems == ()
    assert found.document is not None
    assert found.bundle is not None


def drop_edge(port: str, source: str) -> Callable[[Json], None]:
    def change(b: Json) -> None:
        edges = graph_of(b)["edges"]
        edges[:] = [e for e in edges if (e["from"]["node"], e["from"]["port"]) != (source, port)]

    return change


def put(node_id: str, **fields: Any) -> Callable[[Json], None]:
    return lambda b: at(b, node_id).update(fields)


def config(node_id: str, **fields: Any) -> Callable[[Json], None]:
    return lambda b: at(b, node_id)["config"].update(fields)


def mapping(node_id: str, **sources: str) -> Callable[[Json], None]:
    return lambda b: at(b, node_id).setdefault("input_mapping", {}).update(sources)


def wire(source: str, port: str, target: str) -> Callable[[Json], None]:
    return lambda b: graph_of(b)["edges"].append(
        {"from": {"node": source, "port": port}, "to": {"node": target}}
    )


def whole(**fields: Any) -> Callable[[Json], None]:
    return lambda b: graph_of(b).update(fields)


NODES = "/graph/nodes"
CASES: list[tuple[str, Callable[[Json], None], str, str]] = [
    ("an unknown field of the graph", whole(colour="red"), "unknown_field", "/graph/colour"),
    ("an unknown field of a node", put("load", timeout=3), "unknown_field", f"{NODES}/1/timeout"),
    ("an unknown field of a config", config("load", mode="x"), "unknown_field", f"{NODES}/1/config/mode"),
    ("an unknown section", lambda b: b.update(form={}), "unknown_field", "/form"),
    ("a missing field", lambda b: graph_of(b).pop("purpose"), "missing_field", "/graph/purpose"),
    ("another schema version", whole(schema_version=2), "invalid_value", "/graph/schema_version"),
    ("an authority that is not built", whole(authority="shadow"), "authority_not_supported", "/graph/authority"),
    ("an unknown kind", put("load", kind="enrichmnt"), "unknown_kind", f"{NODES}/1/kind"),
    ("an id with capitals", put("load", id="Load"), "invalid_value", f"{NODES}/1/id"),
    ("a reserved word", put("late", id="while"), "reserved_id", f"{NODES}/7/id"),
    ("an id twice", put("late", id="record"), "duplicate_id", f"{NODES}/7/id"),
    ("text where a number stands", put("wait", timeout_seconds="3600"), "invalid_value", f"{NODES}/4/timeout_seconds"),
    ("a wait without deadline", put("wait", timeout_seconds=None), "wait_without_deadline", f"{NODES}/4"),
    ("a task without deadline", put("review", timeout_seconds=None), "wait_without_deadline", f"{NODES}/5"),
    ("a wait without timeout edge", drop_edge("timeout", "wait"), "wait_without_timeout_edge", f"{NODES}/4"),
    ("an unwired port", drop_edge("default", "complete"), "unwired_port", f"{NODES}/2"),
    ("an unwired outcome", drop_edge("yes", "review"), "unwired_port", f"{NODES}/5"),
    ("an edge from no port", wire("load", "sucess", "end"), "unknown_port", "/graph/edges/13/from/port"),
    ("an edge from an end", wire("end", "success", "load"), "unknown_port", "/graph/edges/13/from/port"),
    ("an edge to nowhere", wire("ask", "error", "lost"), "unknown_node", "/graph/edges/13/to/node"),
    ("an edge from nowhere", wire("lost", "error", "end"), "unknown_node", "/graph/edges/13/from/node"),
    ("two edges of a port", wire("load", "success", "end"), "duplicate_edge", "/graph/edges/13/from"),
    ("an edge to the start", wire("ask", "error", "start"), "edge_to_start", "/graph/edges/13/to/node"),
    ("a form that is not there", config("review", form="rewiev"), "form_missing", f"{NODES}/5/config/form"),
    ("a template that is not there", config("ask", template="x"), "template_missing", f"{NODES}/3/config/template"),
    ("an unmapped placeholder", lambda b: at(b, "ask")["input_mapping"].pop("name"), "template_input_missing",
     f"{NODES}/3/input_mapping"),
    ("a decision without outcome", lambda b: at(b, "record").pop("input_mapping"), "missing_field",
     f"{NODES}/6/input_mapping"),
    ("an input that a decision does not read", mapping("record", colour="'red'"), "unknown_field",
     f"{NODES}/6/input_mapping/colour"),
    ("a timeout where none can be", put("record", timeout_seconds=5), "unexpected_field", f"{NODES}/6/timeout_seconds"),
    ("a retry where none can be", put("record", retry={"max_attempts": 3}), "unexpected_field", f"{NODES}/6/retry"),
    ("a due time after the timeout", put("review", due_seconds=2 * HOUR), "due_after_timeout",
     f"{NODES}/5/due_seconds"),
    ("a call longer than an invocation", put("load", timeout_seconds=300), "call_too_long",
     f"{NODES}/1/timeout_seconds"),
    ("too many visits", put("load", max_visits=100_001), "invalid_value", f"{NODES}/1/max_visits"),
    ("a $ref out of the bundle", whole(event_schemas={"a.b": {"$ref": "schemas/a.json"}}), "unresolved_ref",
     "/graph/event_schemas/a.b"),
    ("a message without body", lambda b: b["messages"]["ask"].pop("body"), "missing_field", "/messages/ask"),
    ("a syntax error", mapping("load", x="input.subject +"), "expression_syntax", f"{NODES}/1/input_mapping/x"),
    ("an undeclared name", mapping("load", x="inputt.subject"), "expression_unknown_name",
     f"{NODES}/1/input_mapping/x"),
    ("an undeclared field", mapping("load", x="input.subjct"), "expression_unknown_field",
     f"{NODES}/1/input_mapping/x"),
    ("a type error", mapping("load", x="input.subject + 1"), "expression_type", f"{NODES}/1/input_mapping/x"),
    ("a whole number against a number", mapping("complete", x="nodes.load.score > 100"), "expression_type",
     f"{NODES}/2/input_mapping/x"),
    ("a case that is no boolean", config("complete", cases=[{"port": "no", "when": "input.text"}]),
     "expression_result_type", f"{NODES}/2/config/cases/0/when"),
    ("an optional as result", mapping("load", x="input.?language"), "expression_result_type",
     f"{NODES}/1/input_mapping/x"),
    ("an outcome that is no text", mapping("record", outcome="1"), "expression_result_type",
     f"{NODES}/6/input_mapping/outcome"),
    ("a key that may be missing", mapping("load", x="input.language"), "missing_key_risk",
     f"{NODES}/1/input_mapping/x"),
    ("a component's key that may be missing", mapping("complete", x="nodes.load.note"), "missing_key_risk",
     f"{NODES}/2/input_mapping/x"),
    ("an unknown node", mapping("record", reason="nodes.reveiw.outcome"), "reference_unknown_node",
     f"{NODES}/6/input_mapping/reason"),
    ("a node that cannot have run", mapping("load", x="nodes.record.outcome"), "reference_never_run",
     f"{NODES}/1/input_mapping/x"),
    ("a node that may not have run", mapping("record", reason="nodes.wait.type"), "reference_may_not_have_run",
     f"{NODES}/6/input_mapping/reason"),
    ("a node without output", mapping("record", reason="nodes.start.x"), "reference_without_output",
     f"{NODES}/6/input_mapping/reason"),
    ("all nodes at once", mapping("load", x="size(dyn(nodes))"), "expression_nodes_as_value",
     f"{NODES}/1/input_mapping/x"),
    ("a root of another kind", mapping("load", x="item"), "expression_root_unavailable", f"{NODES}/1/input_mapping/x"),
    ("a protobuf message", mapping("load", x="casegraph.types.T0{}"), "expression_invalid",
     f"{NODES}/1/input_mapping/x"),
    ("a mapping name that cannot be read", mapping("load", **{"a-b": "1"}), "invalid_value",
     f"{NODES}/1/input_mapping/a-b"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code", "place"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_each_mistake_is_found_at_its_place(change: Callable[[Json], None], code: str, place: str) -> None:
    changed = sound()
    change(changed)
    assert (code, place) in problems(changed)


def test_all_problems_are_reported_at_once() -> None:
    changed = sound()
    for _, change, _, _ in CASES[14:18]:
        change(changed)
    at(changed, "record")["kind"] = "dicision"
    mapping("load", x="inputt", y="input.subject + 1")(changed)
    assert {code for code, _ in problems(changed)} >= {
        "wait_without_timeout_edge",
        "unwired_port",
        "unknown_port",
        "unknown_kind",
        "expression_unknown_name",
        "expression_type",
    }


def test_a_broken_node_gives_no_problems_of_nodes_that_are_right() -> None:
    changed = sound()
    at(changed, "load")["config"] = {"component_id": 7}
    assert problems(changed) == [("invalid_value", f"{NODES}/1/config/component_id")]


def test_validation_changes_nothing() -> None:
    given = sound()
    before = copy.deepcopy(given)
    validate(given)
    assert given == before


# -- text ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"{", "malformed_json"),
        (b"\xff\xfe{}", "malformed_json"),
        (b'{"graph": NaN}', "malformed_json"),
        (b'{"graph": {}, "graph": {}}', "duplicate_key"),
        (b"[" * 100_000, "too_deep"),
        (b"[]", "not_an_object"),
        (b'{"graph": []}', "not_an_object"),
        (b"{}", "missing_field"),
        (b'{"graph": {}, "forms": []}', "not_an_object"),
        (b'{"graph": ' + b'{"a":' * 70 + b"1" + b"}" * 71, "too_deep"),
    ],
)
def test_text_that_is_no_bundle_is_refused(text: bytes, code: str) -> None:
    assert code in [p.code for p in validate(text).problems]


def test_text_and_values_give_the_same_answer() -> None:
    assert validate(json.dumps(sound())).bundle == validate(sound()).bundle


@pytest.mark.parametrize(
    "value", [None, 3, "x", {"graph": None}, {"graph": {"nodes": 3, "edges": 4}}, {1: 2}]
)
def test_nothing_that_is_given_makes_validation_raise(value: Any) -> None:
    assert isinstance(validate(value), Validated)
    assert validate(value).problems


@pytest.mark.parametrize("junk", [None, 3, "x", [], {}, [[]], {"x": None}, float("inf")])
def test_no_junk_anywhere_makes_validation_raise(junk: Any) -> None:
    good = sound()
    for key in list(graph_of(good)):
        changed = copy.deepcopy(good)
        graph_of(changed)[key] = junk
        validate(changed)
    for position in range(len(graph_of(good)["nodes"])):
        for key in (*graph_of(good)["nodes"][position], "retry", "timeout_seconds"):
            changed = copy.deepcopy(good)
            graph_of(changed)["nodes"][position][key] = junk
            validate(changed)
    for key in ("forms", "messages", "components"):
        for inner in good[key]:
            changed = copy.deepcopy(good)
            changed[key][inner] = junk
            validate(changed)


# -- what the messages say ----------------------------------------------------------------------------------------


def test_a_misspelt_field_gets_the_right_name_as_hint() -> None:
    changed = sound()
    mapping("record", reason="nodes.review.outcom")(changed)
    found = only(changed)
    assert "line 1, column 13" in found.message
    assert "nodes.review has no 'outcom'" in found.message
    assert "did you mean 'outcome'?" in found.hint


def test_a_misspelt_node_gets_the_right_name_as_hint() -> None:
    changed = sound()
    mapping("record", reason="nodes.reveiw.outcom")(changed)
    found = only(changed)
    assert "line 1, column 6: there is no node 'reveiw'" in found.message
    assert "did you mean 'review'?" in found.hint


def test_a_number_is_a_double_and_the_hint_says_so() -> None:
    changed = sound()
    mapping("complete", x="nodes.load.score > 100")(changed)
    assert "write 100.0" in only(changed).hint


def test_a_node_that_may_not_have_run_names_the_path_without_it() -> None:
    changed = sound()
    mapping("record", reason="nodes.wait.type")(changed)
    found = only(changed)
    assert "start > load > complete > review > record" in found.message
    assert "nodes.?wait.?type.orValue" in found.hint


def test_an_output_that_differs_after_a_timeout_names_the_way() -> None:
    changed = sound()
    mapping("late", reason="nodes.?review.outcome.orValue('x')")(changed)
    assert validate(changed).problems == ()
    mapping("late", reason="nodes.load.?note.orValue('')")(changed)
    assert validate(changed).problems == ()
    mapping("late", reason="string(nodes.load.strikes)")(changed)
    found = only(changed)
    assert found.code == "missing_key_risk"
    assert "when 'load' ended by 'error'" in found.message
    assert "load > late" in found.message


# -- what may be read where ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node_id", "source"),
    [
        ("record", "nodes.?wait.?type.orValue('none')"),
        ("record", "has(nodes.wait) ? nodes.wait.type : 'none'"),
        ("record", "nodes.?wait.hasValue() ? nodes.wait.type : 'none'"),
        ("record", "has(input.language) ? input.language : 'en'"),
        ("record", "nodes.review.response.outcome"),
        ("record", "nodes.review.completed_by"),
        ("record", "has(nodes.load.note) ? nodes.load.note : ''"),
        ("record", "report.anything.at_all"),
        ("record", "run.run_id + branch + string(now)"),
        ("load", "nodes.?load.?note.orValue('first time')"),
        ("late", "nodes.?load.?error.?code.orValue('none')"),
        ("late", "string(nodes.?review.?timed_out.orValue(false))"),
    ],
)
def test_what_can_be_read_is_accepted(node_id: str, source: str) -> None:
    changed = sound()
    mapping(node_id, **{"subject" if node_id == "load" else "reason": source})(changed)
    assert validate(changed).problems == ()


def test_error_and_timeout_outputs_are_not_there_after_an_ordinary_port() -> None:
    changed = sound()
    mapping("complete", x="nodes.load.error.code")(changed)
    assert only(changed).code == "missing_key_risk"


def test_a_timed_out_output_can_be_read_where_only_the_timeout_leads() -> None:
    changed = sound()
    graph_of(changed)["nodes"].insert(-1, node("note", "decision", {}, input_mapping={"outcome": "'x'"}))
    drop_edge("timeout", "review")(changed)
    wire("review", "timeout", "note")(changed)
    wire("note", "recorded", "end")(changed)
    mapping("note", reason="string(nodes.review.timed_out)")(changed)
    assert validate(changed).problems == ()
    mapping("note", reason="nodes.review.outcome")(changed)
    assert only(changed).code == "missing_key_risk"


def test_a_later_visit_replaces_what_a_timeout_left() -> None:
    changed = sound()
    drop_edge("timeout", "review")(changed)
    wire("review", "timeout", "ask")(changed)
    mapping("record", reason="nodes.review.response.outcome")(changed)
    assert validate(changed).problems == ()


def test_a_node_that_nothing_leads_to_is_unreachable() -> None:
    changed = sound()
    graph_of(changed)["nodes"].insert(-1, node("island", "delay", {"for_seconds": 1}))
    wire("island", "completed", "end")(changed)
    assert ("unreachable_node", f"{NODES}/8") in problems(changed)


def test_a_loop_without_a_way_out_is_found() -> None:
    changed = sound()
    graph_of(changed)["nodes"].insert(-1, node("round", "delay", {"for_seconds": 1}))
    wire("ask", "error", "round")(changed)
    wire("round", "completed", "round")(changed)
    assert problems(changed) == [("no_way_to_end", f"{NODES}/8")]


@pytest.mark.parametrize(
    "code", ["start_missing", "start_not_first", "second_start", "end_missing", "end_not_last"]
)
def test_the_start_stands_first_and_an_end_last(code: str) -> None:
    changed = sound()
    nodes = graph_of(changed)["nodes"]
    match code:
        case "start_missing":
            nodes.pop(0)
        case "start_not_first":
            nodes.insert(1, nodes.pop(0))
        case "second_start":
            nodes.insert(1, node("again", "start"))
        case "end_not_last":
            nodes.insert(1, nodes.pop())
        case "end_missing":
            nodes.pop()
    assert code in [c for c, _ in problems(changed)]
