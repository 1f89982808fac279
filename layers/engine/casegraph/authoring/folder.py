"""A workflow folder: its files, read once, and what each part of the bundle came from.

    workflow.yaml            the source form; or workflow.json, the canonical document
    forms/<name>             JSON Schema of a human task's form
    messages/<name>          {subject, body, language}
    components/<name>        {output_schema} of a read-only component
    policies/<name>          a policy's text (.md) or what it says as data
    schemas/<name>           what `$ref` names

All but the policies' texts are `.json` or `.yaml`. The bundle is the version (architecture.md 6.2): no Lambda reads a
folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from casegraph.authoring.build import build_graph
from casegraph.authoring.files import DATA_SUFFIXES, SOURCE_FILE, Folder, missing
from casegraph.authoring.places import Origin, Place
from casegraph.authoring.problems import ordered
from casegraph.authoring.source import YAML_SUFFIXES
from casegraph.domain.graph.problem import pointer
from casegraph.errors import InvalidInput

GRAPH_FILE = "workflow.json"


def read_folder(path: Path) -> Folder:
    """The folder's bundle and the problems of its files. `path`: the folder, or its workflow.yaml or workflow.json.

    A folder that has both is read by its workflow.yaml."""
    named = path.name if path.suffix in DATA_SUFFIXES else None
    base = path.parent if named else path
    main = named or (SOURCE_FILE if (base / SOURCE_FILE).exists() else GRAPH_FILE)
    folder = Folder(base, main)
    if not named and not (base / main).exists():
        folder.main = SOURCE_FILE
        folder.problems.append(missing(SOURCE_FILE, Place(SOURCE_FILE, 1, 1), base))
        return folder
    source = folder.source(main)
    misread = {problem.place for problem in source.problems}
    folder.read_parts()
    if main.endswith(YAML_SUFFIXES):
        build_graph(source.value, folder)
    else:
        _canonical(source.value, folder)
    # What YAML misread is said once, not again for what came of it.
    said = [p for p in folder.problems if p.place not in misread or p in source.problems]
    folder.problems = ordered(said)
    return folder


def load_bundle(path: Path) -> dict[str, Any]:
    """The bundle of a folder. Raises `InvalidInput("folder_unreadable")` with every problem of its files."""
    folder = read_folder(path)
    refuse_problems(folder)
    return folder.bundle


# What the test kit calls it.
load_folder = load_bundle


def refuse_problems(folder: Folder) -> None:
    """Raise `InvalidInput("folder_unreadable")` when a file could not be read."""
    if folder.problems:
        raise InvalidInput(
            f"{folder.path} is no readable workflow folder",
            "folder_unreadable",
            problems=[problem.to_dict() for problem in folder.problems],
        )


def _canonical(graph: Any, folder: Folder) -> None:
    """The canonical document as it is, with the schemas that it names."""
    folder.places.put("/graph", Origin(folder.main, ()))
    if not isinstance(graph, dict):
        folder.bundle["graph"] = {} if graph is None else graph
        return
    inlined = dict(graph)
    if "input_schema" in graph:
        inlined["input_schema"] = folder.schema(
            graph["input_schema"], "/graph/input_schema", ("input_schema",)
        )
    events = graph.get("event_schemas")
    if isinstance(events, dict):
        inlined["event_schemas"] = {
            name: folder.schema(schema, "/graph/event_schemas" + pointer(name), ("event_schemas", name))
            for name, schema in events.items()
        }
    folder.bundle["graph"] = inlined
