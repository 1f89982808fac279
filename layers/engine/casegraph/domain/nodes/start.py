"""start: where a run begins; exactly one."""

from __future__ import annotations

from casegraph.domain.graph.document import Model
from casegraph.domain.nodes.kind import Bundle, NodeKind


class Config(Model):
    """Nothing to configure."""


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`success`."""
    return ("success",)


KIND = NodeKind(name="start", config=Config, ports=ports, pure=True)
