"""What the simulation found, each as the smallest world that shows it."""

from __future__ import annotations

from casegraph.application.ports import Applied, RetryLater, Unknown
from casegraph.testing.bundles import node
from casegraph.testing.world import World
from tests.simulation.workloads import message, sim_bundle


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
