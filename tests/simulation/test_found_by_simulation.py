"""What the simulation found, each as the smallest world that shows it."""

from __future__ import annotations

from casegraph.adapters.evaluate import failed_rules
from casegraph.application.advance_run import advance_run
from casegraph.application.deliver_effect import Delivered, deliver_effect
from casegraph.application.ports import Applied, RetryLater, Unknown
from casegraph.domain import effect
from casegraph.domain.effect import Verdict
from casegraph.domain.head import row_key
from casegraph.domain.writes import Key, Table, Update
from casegraph.testing.bundles import node
from casegraph.testing.world import World
from tests.simulation.workloads import message, sim_bundle, wait


def send_once(recovery: str) -> dict[str, object]:
    """A graph that sends one message."""
    return sim_bundle(
        "send",
        [node("start", "start"), message("send", recovery), node("end", "end")],
        ["start.success > send", "send.sent > end", "send.error > end"],
    )


def test_a_refusal_after_an_unknown_attempt_keeps_the_operation_key() -> None:
    """Unknown (but applied), then busy, then sent: under a new key the receiver would have done it twice."""
    world = World()
    mail = world.connector("idempotent-mail", [Unknown("no_answer"), RetryLater("busy"), Applied()])
    run = world.start(world.publish(send_once("idempotent")), {"key": "k"})
    world.advance("1h")
    assert world.run(run).state == "succeeded"
    assert len({call.operation_key for call in mail.received}) == 1
    assert [call.applied for call in mail.received] == [True, False, False]


def test_a_refusal_of_every_attempt_so_far_changes_the_operation_key() -> None:
    """Busy, then sent: a receiver that remembers its refusal would repeat it for ever under the old key."""
    world = World()
    mail = world.connector("idempotent-mail", [RetryLater("busy"), Applied()])
    run = world.start(world.publish(send_once("idempotent")), {"key": "k"})
    world.advance("1h")
    assert world.run(run).state == "succeeded"
    assert len({call.operation_key for call in mail.received}) == 2


def test_an_attempt_that_never_arrived_is_repeated_under_its_key() -> None:
    """A lookup that says "absent" refuses nothing: should the first request arrive after all, its key is known."""
    world = World()
    mail = world.connector(
        "lookup-mail", [Unknown("no_answer"), Applied()], unknown_applies=False, visibility_seconds=5
    )
    run = world.start(world.publish(send_once("lookup")), {"key": "k"})
    world.advance("2h")
    assert world.run(run).state == "succeeded"
    assert [call.applied for call in mail.received] == [False, True]
    assert len({call.operation_key for call in mail.received}) == 1


def test_an_ambiguous_effect_does_not_become_ambiguous_again() -> None:
    """A worker that wakes up after recovery and does not know either would signal, and count, a second time."""
    row = {
        "attempts": 1, "attempt_token": "t", "unknown": 1, "state": "ambiguous", "recovery": "manual",
        "max_attempts": 8,
    }  # fmt: skip
    again = effect.settle(Key(Table.RUNS, "RUN#r", "EFFECT#s#1"), row, Verdict("ambiguous", "timeout"), 1)
    assert failed_rules(again.rules, row) == ("row_state_in_applying_pending",)


LISTEN_TWICE = sim_bundle(
    "listen_twice",
    [
        node("start", "start"), wait("first", "case.opened", correlation_key="input.key"),
        node("pause", "delay", {"for_seconds": 600.0}),
        wait("second", "case.opened", correlation_key="input.key"),
        node("end", "end"),
    ],
    ["start.success > first", "first.received > pause", "first.timeout > end", "pause.completed > second",
     "second.received > end", "second.timeout > end"],
)  # fmt: skip
EARLY = {"n": 1, "done": False}
LATER = {"n": 2, "done": False}


def test_a_wait_that_takes_an_early_event_leaves_no_subscription_behind() -> None:
    """Run A took its event and listens no more; the next event of that key belongs to run B, which does."""
    world = World()
    version = world.publish(LISTEN_TWICE)
    world.event(None, "case.opened", key="k", payload=EARLY)
    first = world.start(version, {"key": "k"})
    world.advance("1s")
    second = world.start(version, {"key": "k"})
    world.advance("1s")
    assert world.event(None, "case.opened", key="k", payload=LATER).run_id == second
    world.settle()
    assert "first#1" in world.run(second).path
    assert world.run(first).head.buffered == ()


def test_an_event_sent_to_a_run_and_by_key_ends_one_wait() -> None:
    """The same event, same id, on both ways: a second run that waits for its key must not get it again."""
    world = World()
    version = world.publish(LISTEN_TWICE)
    first = world.start(version, {"key": "k"})
    world.settle()
    world.event(first, "case.opened", key="k", event_id="e", payload=EARLY)
    world.settle()
    world.event(None, "case.opened", key="k", event_id="e", payload=EARLY)
    world.advance("11m")
    second = world.start(version, {"key": "k"})
    world.settle()
    assert world.run(second).path == ["start#1"]


def test_a_parked_event_whose_id_the_run_knows_otherwise_does_not_stop_the_run() -> None:
    """Same id, another content: the second wait opens without it, and the burst does not fail for ever."""
    world = World()
    run = world.start(world.publish(LISTEN_TWICE), {"key": "k"})
    world.settle()
    world.event(run, "case.opened", key="k", event_id="e", payload=EARLY)
    world.settle()
    world.event(None, "case.opened", key="k", event_id="e", payload=LATER)
    world.advance("2h")
    assert world.run(run).state == "succeeded"
    assert not [name for name, _ in world.site.notes.events if name == "burst_failed"]


def test_an_attempt_does_not_start_on_a_row_read_before_another_attempt() -> None:
    """Between the read and the start another worker was refused: this one would send under the refused key, settle
    behind a fence that never holds, and leave the effect to recovery."""
    world = World()
    mail = world.connector("idempotent-mail")
    run = world.start(world.publish(send_once("idempotent")), {"key": "k"})
    assert world.attempt(lambda ports: advance_run(ports, run, world.site.invocation()))
    key = row_key(run, "EFFECT#send#1#1")

    def another_was_faster(call: str) -> None:
        if call == "store.transact":
            world.site.memory.write(Update(key, (), set={("attempts",): 1, ("refused",): 1}))

    late = world.site.worker("late", pause=another_was_faster)
    assert deliver_effect(late, run, "send#1#1", world.site.invocation()) is Delivered.SUPERSEDED
    assert mail.received == []
    world.settle()
    assert world.run(run).state == "succeeded"
