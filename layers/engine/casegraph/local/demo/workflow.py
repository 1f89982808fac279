"""The demo's versions: the example workflow as it is, and a copy of it that waits for seconds."""

from __future__ import annotations

import copy
from typing import Any

from casegraph.authoring.folder import load_bundle
from casegraph.local.bundled import bundled
from casegraph.local.demo.reports import WORKFLOW_FOLDER

# Long enough to be seen waiting, short enough to be waited for.
SHORT_WAIT_SECONDS = 5


def example_bundle() -> dict[str, Any]:
    """W1 as it is in the repository, with its week of patience."""
    return load_bundle(bundled(WORKFLOW_FOLDER))


def short_bundle(seconds: float = SHORT_WAIT_SECONDS) -> dict[str, Any]:
    """The copy for the report that nobody completes: only the key, and the timeout of `await_completion`, differ."""
    bundle = copy.deepcopy(example_bundle())
    graph = bundle["graph"]
    graph["key"] += "_short"
    graph["name"] += ", with a short wait"
    (wait,) = (node for node in graph["nodes"] if node["id"] == "await_completion")
    wait["timeout_seconds"] = seconds
    return bundle
