"""end: ends its branch; the run ends with its last branch, or at once with `terminate`."""

from __future__ import annotations

from casegraph.domain.graph.document import ErrorCode, Model
from casegraph.domain.nodes.kind import NodeKind


class Config(Model):
    """terminal_code: how this end is called in the run's outcome; terminate: cancel what is still open."""

    terminal_code: ErrorCode = "complete"
    terminate: bool = False


KIND = NodeKind(name="end", config=Config, pure=True)
