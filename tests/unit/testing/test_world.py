"""The test kit's World: what its methods promise."""

from __future__ import annotations

import pytest

from casegraph.application.ports import Applied, Rejected
from casegraph.errors import Conflict, InvalidInput
from casegraph.testing.bundles import JsonObject, bundle, edges, form, node
from casegraph.testing.timeline import epoch_milliseconds, milliseconds
from casegraph.testing.world import World

DAY = 86_400


def review_graph() -> JsonObject:
    """A component, a person, a message."""
    return bundle(
        "review",
        [
            node("start", "start"),
            node("look", "enrichment", {"component_id": "signals"}),
            node(
                "review", "human_task", {"queue_id": "reviews", "form": "review"}, timeout_seconds=2.0 * DAY,
                input_mapping={"severity": "nodes.look.severity"},
            ),
            node(
                "tell", "send_message", {"connector_id": "mail", "template": "note", "recovery": "idempotent"},
                input_mapping={"to": '"someone"'},
            ),
            node("end", "end"),
            node("late", "end", {"terminal_code": "late"}),
        ],
        ["start.success > look", "look.success > review", "look.error > late", "review.keep > tell",
         "review.remove > tell", "review.timeout > late", "tell.sent > end", "tell.error > late"],
        forms={"review": form("keep", "remove")},
        messages={"note": {"subject": "Decided", "body": "We have decided.", "language": "en"}},
        components={"signals": {"output_schema": {
            "type": "object", "properties": {"severity": {"type": "integer"}}, "required": ["severity"]}}},
    )  # fmt: skip


def make_world() -> World:
    """A world with the graph's component and connector."""
    world = World(start="2026-01-01T00:00:00Z", seed=1)
    world.component("signals", lambda given: {"severity": 4})
    world.connector("mail", outcomes=[Applied({"receipt": "r1"})])
    return world


def test_a_run_goes_as_far_as_a_person_and_on_after_it() -> None:
    world = make_world()
    run = world.start(world.publish(review_graph()))
    world.settle()
    assert world.run(run).state == "waiting"
    assert [row["sk"] for row in world.run(run).open] == ["TASK#review#1"]
    world.complete(world.task(run), by="reviewer-1", response={"outcome": "remove"})
    world.settle()
    view = world.run(run)
    assert (view.state, view.terminal_code, view.attention, view.open) == ("succeeded", "complete", (), ())
    assert view.output["look"] == {"severity": 4}
    assert view.path == ["start#1", "look#1", "review#1", "tell#1", "end#1"]


def test_timers_fire_at_their_own_instant_while_time_passes() -> None:
    world = make_world()
    run = world.start(world.publish(review_graph()))
    world.advance("3d")
    view = world.run(run)
    assert view.terminal_code == "late"
    assert view.log[-1]["recorded_at"] == epoch_milliseconds("2026-01-03T00:00:00Z")
    assert world.now == epoch_milliseconds("2026-01-04T00:00:00Z")


def test_the_second_person_is_told_who_was_first() -> None:
    world = make_world()
    run = world.start(world.publish(review_graph()))
    world.settle()
    task = world.task(run)
    world.complete(task, by="reviewer-1", response={"outcome": "keep"})
    with pytest.raises(Conflict) as refused:
        world.complete(task, by="reviewer-2", response={"outcome": "remove"})
    assert refused.value.details["who"] == "reviewer-1"


def test_scripted_outcomes_come_in_order() -> None:
    world = make_world()
    world.connector("mail", outcomes=[Rejected("address_unknown")])
    run = world.start(world.publish(review_graph()))
    world.settle()
    world.complete(world.task(run), by="reviewer-1", response={"outcome": "keep"})
    world.settle()
    assert world.run(run).terminal_code == "late"
    assert world.run(run).output["tell"]["error"]["code"] == "address_unknown"


def test_two_reports_on_one_subject_are_one_run() -> None:
    world = make_world()
    world.queue("reviews", pin=world.publish(review_graph()), merge="subject")
    first = world.report("reviews", {"reason": "spam"}, subject="post-1")
    second = world.report("reviews", {"reason": "spam"}, subject="post-1")
    assert (first.run_id, first.merged, second.merged) == (second.run_id, False, True)


def test_a_graph_that_is_not_valid_is_not_published() -> None:
    world = make_world()
    graph = review_graph()
    graph["graph"]["edges"] = graph["graph"]["edges"][1:]
    with pytest.raises(InvalidInput) as refused:
        world.publish(graph)
    assert refused.value.code == "graph_invalid"


def test_the_same_seed_writes_the_same_history() -> None:
    histories = []
    for _ in range(2):
        world = make_world()
        world.start(world.publish(review_graph()))
        world.advance("3d")
        histories.append([(c.at, c.writer, c.key, c.new) for c in world.site.history.changes])
    assert histories[0] == histories[1]


def test_a_missing_task_is_said_with_the_runs_state() -> None:
    world = make_world()
    run = world.start(world.publish(review_graph()))
    with pytest.raises(LookupError, match="pending"):
        world.task(run)


@pytest.mark.parametrize(
    ("text", "expected"), [("3d", 259_200_000), ("1h30m", 5_400_000), ("500ms", 500), (2.5, 2_500)]
)
def test_durations_are_written_short(text: str | float, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "3", "3x", "d3", "1h 30m"])
def test_a_duration_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a duration is written like"):
        milliseconds(text)


def test_an_edge_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(ValueError, match="an edge is written"):
        edges("start > end")
