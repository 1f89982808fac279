"""delay: waits for a time span or until an instant; a past instant fires at once."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from casegraph.domain.burst.knowledge import CallResult
from casegraph.domain.graph.document import Expression, Model, Seconds
from casegraph.domain.instants import parse_instant, rfc3339
from casegraph.domain.nodes.actions import Action, Done, Failed, Wait
from casegraph.domain.nodes.kind import (
    INSTANT,
    Bundle,
    ConfigProblem,
    ExpressionUse,
    NodeKind,
    Schema,
    record,
)
from casegraph.domain.signal import Resumption, TimedOut
from casegraph.limits import WAIT_MAX_SECONDS

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """Exactly one of for_seconds and until; until: an RFC 3339 instant, or CEL that gives a timestamp (or the text of
    one)."""

    for_seconds: Seconds | None = None
    until: Expression | None = None


def fixed_instant(config: Config) -> datetime | None:
    """The instant, when `until` is one and not an expression."""
    if config.until is None or not config.until[:1].isdigit():
        return None
    try:
        instant = datetime.fromisoformat(config.until)
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`completed`."""
    return ("completed",)


def output(config: Config, bundle: Bundle) -> Schema:
    """`until_at`: the instant that was waited for."""
    return record({"until_at": INSTANT})


def expressions(config: Config) -> list[ExpressionUse]:
    """`until`, unless it is an instant."""
    if config.until is None or fixed_instant(config) is not None:
        return []
    return [ExpressionUse("/config/until", config.until, "timestamp")]


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """Exactly one of the two."""
    if (config.for_seconds is None) != (config.until is None):
        return []
    return [ConfigProblem("/config", "delay_without_time", "give exactly one of for_seconds and until")]


def enter(visit: Visit) -> Action:
    """Wait for a while or until an instant; a past one fires at once."""
    config = visit.node.config
    if config.for_seconds is not None:
        until = visit.now + round(config.for_seconds * 1000)
    else:
        fixed = fixed_instant(config) is not None
        moment = parse_instant(
            config.until if fixed else visit.evaluate(config.until, {"node_input": visit.input()})
        )
        if moment is None or moment > visit.now + WAIT_MAX_SECONDS * 1000:
            return Failed("delay_timestamp_invalid")
        until = moment
    if until <= visit.now:
        return Done("completed", {"until_at": rfc3339(until)})
    return Wait("timer", until)


def resume(visit: Visit, signal: Resumption | CallResult) -> Action:
    """The instant has come; it is read back from the token, not computed again."""
    assert isinstance(signal, TimedOut)
    return Done("completed", {"until_at": rfc3339(visit.token.deadline_at or visit.now)})


KIND = NodeKind(
    name="delay",
    config=Config,
    ports=ports,
    output=output,
    expressions=expressions,
    problems=problems,
    waits=True,
    enter=enter,
    resume=resume,
)
