"""The table of node kinds."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from casegraph.domain.nodes import (
    condition,
    decision,
    delay,
    end,
    enrichment,
    human_task,
    join,
    parallel,
    send_message,
    start,
    start_linked_workflow,
    wait_for_event,
)
from casegraph.domain.nodes.kind import NodeKind

KINDS: Mapping[str, NodeKind] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            start.KIND,
            enrichment.KIND,
            condition.KIND,
            parallel.KIND,
            join.KIND,
            human_task.KIND,
            wait_for_event.KIND,
            delay.KIND,
            decision.KIND,
            send_message.KIND,
            start_linked_workflow.KIND,
            end.KIND,
        )
    }
)
