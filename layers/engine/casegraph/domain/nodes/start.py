"""start: where a run begins; exactly one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.domain.graph.document import Model
from casegraph.domain.nodes.actions import Action, Done
from casegraph.domain.nodes.kind import Bundle, NodeKind

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """Nothing to configure."""


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`success`."""
    return ("success",)


def enter(visit: Visit) -> Action:
    """A run begins."""
    return Done("success")


KIND = NodeKind(name="start", config=Config, ports=ports, pure=True, enter=enter)
