"""parallel: one token per branch; the branches meet again at a join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from casegraph.domain.graph.document import Model, PortName
from casegraph.domain.nodes.actions import Action, Fork
from casegraph.domain.nodes.kind import Bundle, ConfigProblem, NodeKind
from casegraph.limits import FORK_MAX_BRANCHES

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """branches: names of the branches; each is a port."""

    branches: Annotated[tuple[PortName, ...], Field(min_length=2, max_length=FORK_MAX_BRANCHES)]


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """The branch names, in order: a branch's index in a step's place is its position here."""
    return config.branches


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """Branch names are distinct."""
    return [
        ConfigProblem(f"/config/branches/{i}", "port_duplicate", f"branch {name!r} is there already")
        for i, name in enumerate(config.branches)
        if name in config.branches[:i]
    ]


def enter(visit: Visit) -> Action:
    """One token per branch."""
    return Fork(visit.node.ports)


KIND = NodeKind(name="parallel", config=Config, ports=ports, problems=problems, pure=True, enter=enter)
