"""delay: waits for a time span or until an instant; a past instant fires at once."""

from __future__ import annotations

from datetime import datetime

from casegraph.domain.graph.document import Expression, Model, Seconds
from casegraph.domain.nodes.kind import (
    INSTANT,
    Bundle,
    ConfigProblem,
    ExpressionUse,
    NodeKind,
    Schema,
    record,
)


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


KIND = NodeKind(
    name="delay",
    config=Config,
    ports=ports,
    output=output,
    expressions=expressions,
    problems=problems,
    waits=True,
)
