"""start_linked_workflow: the child starts with its step's commit, and its end is told in its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from casegraph.domain.graph.validation.validate import validate
from casegraph.domain.writes import Item
from casegraph.testing.bundles import bundle, form, node
from casegraph.testing.nemesis import AFTER, BEFORE, KILL_AFTER, KILL_BEFORE, NthCall
from casegraph.testing.view import rows_of
from casegraph.testing.world import World
from tests.simulation.judging import faults_of_world

Json = dict[str, Any]


def child_graph(purpose: str = "operations", on_unhandled: str = "attention") -> Json:
    """Waits for a person; `refuse` ends it as failed when its graph says so."""
    return bundle(
        "child",
        [
            node("start", "start"),
            node("review", "human_task", {"queue_id": "q", "form": "review"}, timeout_seconds=86_400),
            node("refused", "decision", {}, input_mapping={"outcome": "''"}),
            node("done", "end", {}, input_mapping={"answer": "input.question + '!'"}),
        ],
        [
            "start.success > review",
            "review.accept > done",
            "review.timeout > done",
            "review.refuse > refused",
            "refused.recorded > done",
        ],
        forms={"review": form("accept", "refuse")},
        purpose=purpose,
        on_unhandled=on_unhandled,
        input_schema={
            "type": "object",
            "properties": {"question": {"type": "string"}},
            "required": ["question"],
        },
    )


def some(values: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments whose names are no Python names, as mypy takes them."""
    return dict(values)


def parent_graph(key: str = "parent", linked: str = "child", **config: Any) -> Json:
    awaited = config.get("await", False)
    ports = ("completed", "failed", "timeout") if awaited else ("started",)
    seconds = {"timeout_seconds": 3_600} if awaited else {}
    return bundle(
        key,
        [
            node("start", "start"),
            node(
                "link",
                "start_linked_workflow",
                {"workflow_key": linked, **config},
                input_mapping={"question": "'why'"},
                **seconds,
            ),
            node("hold", "wait_for_event", {"event_types": ["go"]}, timeout_seconds=7_200),
            *(node(f"after_{port}", "end", {"terminal_code": port}) for port in ports),
        ],
        [
            "start.success > link",
            *(f"link.{port} > {'hold' if port == 'started' else f'after_{port}'}" for port in ports),
            *(["hold.received > after_started", "hold.timeout > after_started"] if not awaited else []),
        ]
        if not awaited
        else ["start.success > link", *(f"link.{port} > after_{port}" for port in ports)],
        purpose="operations",
    )


def without_hold(graph: Json) -> Json:
    graph["graph"]["nodes"] = [n for n in graph["graph"]["nodes"] if n["id"] != "hold"]
    return graph


def started(world: World, child: Json | None = None, **config: Any) -> tuple[str, str]:
    """A parent whose child stands at its task; the ids of both."""
    world.publish(child or child_graph())
    graph = parent_graph(**config)
    run = world.start(world.publish(without_hold(graph) if config.get("await") else graph), key="the-run")
    world.settle()
    return run, child_row(world, run)["child_run_id"]


def child_row(world: World, run: str) -> Item:
    (row,) = rows_of(world.site.reader(), run, "CHILD#")
    return row


def answer(world: World, run: str, outcome: str = "accept") -> None:
    world.complete(world.task(run), by="reviewer-1", response={"outcome": outcome})
    world.settle()


def test_a_run_that_is_not_awaited_starts_and_its_parent_goes_on() -> None:
    world = World()
    run, child = started(world)
    assert world.run(run).output["link"] == {"run_id": child}
    assert world.run(child).state == "waiting"
    world.event(run, "go", payload={"n": 1, "done": False})
    world.settle()
    assert world.run(run).state == "succeeded"
    assert world.run(child).state == "waiting"
    answer(world, child)
    assert (child_row(world, run)["state"], child_row(world, run)["outcome"]) == ("ended", "succeeded")
    assert faults_of_world(world) == []


def test_an_awaited_run_gives_its_output_to_the_step_that_started_it() -> None:
    world = World()
    run, child = started(world, **some({"await": True}))
    assert world.run(run).state == "waiting"
    answer(world, child)
    view = world.run(run)
    assert view.output["link"] == {"run_id": child, "outcome": "succeeded", "output": {"answer": "why!"}}
    assert (view.state, view.terminal_code) == ("succeeded", "completed")
    assert faults_of_world(world) == []


def test_an_awaited_run_that_fails_takes_the_port_failed_with_its_code() -> None:
    world = World()
    run, child = started(world, child_graph(on_unhandled="fail"), **some({"await": True}))
    answer(world, child, "refuse")
    (link,) = [s for s in world.run(run).steps if s.node == "link"]
    assert (link.port, link.code) == ("failed", "decision_outcome_missing")
    assert link.output == {"run_id": child, "outcome": "failed", "output": None}
    assert faults_of_world(world) == []


def test_a_terminated_child_is_told_to_its_parent() -> None:
    world = World()
    run, child = started(world, **some({"await": True}))
    world.terminate(child)
    world.settle()
    assert world.run(run).output["link"]["outcome"] == "terminated"
    assert faults_of_world(world) == []


@pytest.mark.parametrize(("cascade", "left"), [("cancel", "terminated"), ("detach", "waiting")])
def test_a_timeout_ends_the_child_only_where_it_cascades(cascade: str, left: str) -> None:
    world = World()
    run, child = started(world, **some({"await": True, "cascade": cascade}))
    world.advance("61m")
    assert world.run(run).terminal_code == "timeout"
    assert world.run(child).state == left
    assert faults_of_world(world) == []


@pytest.mark.parametrize("awaited", [True, False])
@pytest.mark.parametrize(("cascade", "left"), [("cancel", "terminated"), ("detach", "waiting")])
def test_terminate_ends_the_children_that_cascade(awaited: bool, cascade: str, left: str) -> None:
    world = World()
    run, child = started(world, **some({"await": awaited, "cascade": cascade}))
    world.terminate(run)
    world.settle()
    assert world.run(child).state == left
    if left == "terminated":
        assert child_row(world, run)["outcome"] == "terminated"
        assert world.run(child).open == ()
    assert faults_of_world(world) == []


def test_a_branch_that_lost_ends_its_child() -> None:
    world = World()
    world.publish(child_graph())
    graph = bundle(
        "race",
        [
            node("start", "start"),
            node("fork", "parallel", {"branches": ["one", "two"]}),
            node(
                "link",
                "start_linked_workflow",
                {"workflow_key": "child", "await": True},
                input_mapping={"question": "'why'"},
                timeout_seconds=3_600,
            ),
            node("hold", "wait_for_event", {"event_types": ["go"]}, timeout_seconds=7_200),
            node("join", "join", {"mode": "any"}),
            node("done", "end"),
        ],
        [
            "start.success > fork",
            "fork.one > link",
            "fork.two > hold",
            *(f"link.{port} > join" for port in ("completed", "failed", "timeout")),
            *(f"hold.{port} > join" for port in ("received", "timeout")),
            "join.success > done",
        ],
        purpose="operations",
    )
    run = world.start(world.publish(graph))
    world.settle()
    child = child_row(world, run)["child_run_id"]
    world.event(run, "go", payload={"n": 1, "done": False})
    world.settle()
    assert world.run(run).state == "succeeded"
    assert world.run(child).state == "terminated"
    assert faults_of_world(world) == []


def test_a_pausing_parent_keeps_the_end_of_its_child() -> None:
    world = World()
    run, child = started(world, **some({"await": True}))
    world.pause(run)
    answer(world, child)
    assert world.run(run).state == "paused"
    world.advance("2h")
    world.resume(run)
    world.settle()
    assert world.run(run).terminal_code == "completed"
    assert faults_of_world(world) == []


def test_a_chain_holds_five_runs() -> None:
    world = World()
    version = world.publish(without_hold(parent_graph(linked="parent", **some({"await": True}))))
    run = world.start(version)
    world.settle()
    runs = [run]
    while rows := rows_of(world.site.reader(), runs[-1], "CHILD#"):
        runs.append(rows[0]["child_run_id"])
    assert len(runs) == 5
    last = world.run(runs[-1])
    assert last.attention == ("node_failed",)
    assert last.steps[-1].code == "linked_workflow_depth_exceeded"
    assert (last.head.depth, last.head.root_run_id) == (5, run)
    world.terminate(run)
    world.settle()
    assert {world.run(r).state for r in runs} == {"terminated"}
    assert faults_of_world(world) == []


@pytest.mark.parametrize(
    ("child", "code"),
    [
        (child_graph(purpose="report"), "linked_primary_workflow_prohibited"),
        (None, "linked_workflow_not_found"),
    ],
)
def test_what_may_not_be_linked_fails_the_step(child: Json | None, code: str) -> None:
    world = World()
    if child is not None:
        world.publish(child)
    run = world.start(world.publish(parent_graph()))
    world.settle()
    assert world.run(run).steps[-1].code == code
    assert rows_of(world.site.reader(), run, "CHILD#") == []


def test_the_version_is_the_one_named_else_the_newest_at_the_start() -> None:
    world = World()
    world.publish(child_graph())
    world.publish(child_graph(on_unhandled="fail"))
    for version, expected in ((None, 2), (1, 1)):
        config: Json = {} if version is None else {"version": version}
        run = world.start(world.publish(parent_graph(**config)))
        world.settle()
        assert child_row(world, run)["version"] == expected


def test_a_child_has_the_report_and_queue_of_its_parent_and_says_where_it_comes_from() -> None:
    world = World()
    world.publish(child_graph())
    facts: Json = {"report": {"report_id": "r1"}, "report_id": "r1", "queue_id": "q"}
    run = world.start(world.publish(parent_graph()), **facts)
    world.settle()
    child = world.run(child_row(world, run)["child_run_id"])
    assert (child.head.report_id, child.head.queue_id) == ("r1", "q")
    first = child.log[0]["facts"]
    assert json.loads(first["report"]) == {"report_id": "r1"}
    assert first["parent"] == {"run_id": run, "step": "link#1"}
    assert child.head.authority == "assist"


def test_an_awaited_child_needs_a_timeout_and_one_that_is_not_takes_none() -> None:
    awaited = without_hold(parent_graph(**some({"await": True})))
    awaited["graph"]["nodes"][1].pop("timeout_seconds")
    assert [p.code for p in validate(awaited).problems] == ["wait_without_deadline"]
    other = parent_graph()
    other["graph"]["nodes"][1]["timeout_seconds"] = 60
    assert [p.code for p in validate(other).problems] == ["unexpected_field"]
    assert validate(without_hold(parent_graph(**some({"await": True})))).problems == ()


def _complete(world: World, run: str) -> None:
    world.advance("10m")
    for row in rows_of(world.site.reader(), run, "CHILD#"):
        answer(world, row["child_run_id"])
    world.advance("3h")


def _time_out(world: World, run: str) -> None:
    world.advance("3h")


def _terminate(world: World, run: str) -> None:
    world.advance("10m")
    world.terminate(run)
    world.advance("3h")


@pytest.mark.parametrize("how", [BEFORE, AFTER, KILL_BEFORE, KILL_AFTER])
@pytest.mark.parametrize(
    ("script", "awaited"),
    [(_complete, True), (_time_out, True), (_terminate, True), (_terminate, False)],
    ids=["complete", "time_out", "terminate", "terminate_not_awaited"],
)
def test_a_fault_at_any_call_changes_nothing_but_time(script: Any, awaited: bool, how: str) -> None:
    def play(fault: NthCall) -> tuple[World, Json]:
        world = World(seed="linked", nemesis=fault)
        world.publish(child_graph())
        graph = parent_graph(**some({"await": awaited}))
        run = world.start(world.publish(without_hold(graph) if awaited else graph), key="the-run")
        script(world, run)
        views = [world.run(r) for r in (run, child_row(world, run)["child_run_id"])]
        return world, {v.run_id: (v.state, [(s.step, s.status, s.port) for s in v.steps]) for v in views}

    none = NthCall(0, how)
    calm, expected = play(none)
    assert faults_of_world(calm) == []
    for number in range(1, none.counted + 1):
        world, found = play(NthCall(number, how))
        assert (found, faults_of_world(world)) == (expected, []), f"{how} call {number}"
