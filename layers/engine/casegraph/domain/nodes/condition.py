"""condition: leaves by the first case that holds, else by `default`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from casegraph.domain.graph.document import Expression, Model, PortName
from casegraph.domain.nodes.actions import Action, Done, Failed
from casegraph.domain.nodes.kind import Bundle, ConfigProblem, ExpressionUse, NodeKind, Schema, record
from casegraph.limits import CONDITION_MAX_CASES

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Case(Model):
    """One case: a CEL expression that must be a boolean, and the port to take when it is true."""

    port: PortName
    when: Expression


class Config(Model):
    """cases: tried in order; default: the port when none holds; exclusive: a second match is the failure
    `condition_not_mutually_exclusive`."""

    cases: Annotated[tuple[Case, ...], Field(min_length=1, max_length=CONDITION_MAX_CASES)]
    default: PortName = "default"
    exclusive: bool = False


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """The cases' ports in order (several cases may share one), then the default."""
    return tuple(dict.fromkeys((*(case.port for case in config.cases), config.default)))


def output(config: Config, bundle: Bundle) -> Schema:
    """`port`."""
    return record({"port": {"type": "string", "enum": list(ports(config, bundle))}})


def expressions(config: Config) -> list[ExpressionUse]:
    """Each case."""
    return [ExpressionUse(f"/config/cases/{i}/when", c.when, "bool") for i, c in enumerate(config.cases)]


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """With `exclusive`, two cases of one port could not be told apart."""
    names = [case.port for case in config.cases]
    return [
        ConfigProblem(f"/config/cases/{i}/port", "port_duplicate", f"port {name!r} is there already")
        for i, name in enumerate(names)
        if config.exclusive and name in (config.default, *names[:i])
    ]


def enter(visit: Visit) -> Action:
    """The first case whose expression is exactly true; when `exclusive`, a second match is a typed failure."""
    config = visit.node.config
    extra = {"node_input": visit.input()}
    matched: list[str] = []
    for case in config.cases:
        if visit.evaluate_bool(case.when, extra):
            matched.append(case.port)
            if not config.exclusive:
                break
    if len(matched) > 1:
        return Failed("condition_not_mutually_exclusive")
    port = matched[0] if matched else config.default
    return Done(port, {"port": port})


KIND = NodeKind(
    name="condition",
    config=Config,
    ports=ports,
    output=output,
    expressions=expressions,
    problems=problems,
    pure=True,
    enter=enter,
)
