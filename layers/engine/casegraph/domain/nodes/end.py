"""end: ends its branch; the run ends with its last branch, or at once with `terminate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.domain.graph.document import ErrorCode, Model
from casegraph.domain.nodes.actions import Action, EndBranch
from casegraph.domain.nodes.kind import NodeKind

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """terminal_code: how this end is called in the run's outcome; terminate: cancel what is still open."""

    terminal_code: ErrorCode = "complete"
    terminate: bool = False


def enter(visit: Visit) -> Action:
    """End this branch, or the run; the mapped input is the output of a run that ends here."""
    config = visit.node.config
    given = visit.input() if visit.node.mapping else None
    return EndBranch(config.terminal_code, config.terminate, given)


KIND = NodeKind(name="end", config=Config, pure=True, enter=enter)
