"""A workflow folder as one bundle: the graph with its schemas inlined, forms, messages and component schemas.

    workflow.json            the canonical document; `{"$ref": "schemas/x.json"}` where a schema is expected
    forms/<name>.json        JSON Schema of a human task's form
    messages/<name>.json     {subject, body, language}
    components/<id>.json     {output_schema} of a read-only component
    schemas/<name>.json      what `$ref` names

The bundle is the version (architecture.md 6.2): no Lambda reads a folder.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from casegraph.errors import InvalidInput
from casegraph.limits import PUBLISH_BODY_MAX_BYTES

GRAPH_FILE = "workflow.json"
# Parts of the bundle that are a folder of their own; the file's name without `.json` is the part's name.
PARTS = ("forms", "messages", "components")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """What is wrong in a file: its path from the folder, and where in it."""

    file: str
    pointer: str
    code: str
    message: str
    hint: str = ""


@dataclass
class Folder:
    """A loaded folder: the bundle, and which file each part of it came from."""

    path: Path
    bundle: dict[str, Any] = field(default_factory=dict)
    problems: list[FileProblem] = field(default_factory=list)
    _inlined: dict[str, str] = field(default_factory=dict)

    def place(self, pointer: str) -> tuple[str, str]:
        """The file and the pointer in it of a place in the bundle (`/graph/nodes/3/config`)."""
        for prefix, file in sorted(self._inlined.items(), key=lambda entry: -len(entry[0])):
            if pointer == prefix or pointer.startswith(f"{prefix}/"):
                return file, pointer.removeprefix(prefix)
        return GRAPH_FILE, pointer.removeprefix("/graph")

    def read(self) -> None:
        """Read every file; problems are collected, not raised."""
        graph = self._json(GRAPH_FILE)
        self.bundle = {"graph": self._with_schemas(graph) if isinstance(graph, dict) else graph}
        for part in PARTS:
            self.bundle[part] = {name: self._part(part, name) for name in self._names(part)}

    def _names(self, part: str) -> list[str]:
        return sorted(path.stem for path in (self.path / part).glob("*.json"))

    def _part(self, part: str, name: str) -> Any:
        self._inlined[f"/{part}/{_escaped(name)}"] = f"{part}/{name}.json"
        return self._json(f"{part}/{name}.json")

    def _with_schemas(self, graph: dict[str, Any]) -> dict[str, Any]:
        inlined = dict(graph)
        if "input_schema" in graph:
            inlined["input_schema"] = self._schema(graph["input_schema"], "/input_schema")
        events = graph.get("event_schemas")
        if isinstance(events, dict):
            inlined["event_schemas"] = {
                name: self._schema(schema, f"/event_schemas/{_escaped(name)}")
                for name, schema in events.items()
            }
        return inlined

    def _schema(self, schema: Any, pointer: str) -> Any:
        if not isinstance(schema, dict) or set(schema) != {"$ref"}:
            return schema
        file = str(schema["$ref"])
        if not (self.path / file).resolve().is_relative_to(self.path.resolve()):
            hint = "name a file such as schemas/notice.json"
            self._problem(GRAPH_FILE, pointer, "ref_outside", f"{file} is not inside the folder", hint)
            return {}
        self._inlined[f"/graph{pointer}"] = file
        return self._json(file, named_at=pointer)

    def _json(self, file: str, *, named_at: str = "") -> Any:
        path = self.path / file
        try:
            if path.stat().st_size > PUBLISH_BODY_MAX_BYTES:
                self._problem(file, "", "too_large", f"the file is over {PUBLISH_BODY_MAX_BYTES} bytes")
                return {}
            return json.loads(path.read_bytes())
        except FileNotFoundError:
            where = GRAPH_FILE if named_at else file
            self._problem(where, named_at, "file_missing", f"there is no {file} in {self.path}")
        except json.JSONDecodeError as exc:
            self._problem(file, f":{exc.lineno}:{exc.colno}", "malformed_json", exc.msg)
        except (UnicodeDecodeError, RecursionError, OSError) as exc:
            self._problem(file, "", "unreadable", f"it cannot be read as JSON ({type(exc).__name__})")
        return {}

    def _problem(self, file: str, pointer: str, code: str, message: str, hint: str = "") -> None:
        self.problems.append(FileProblem(file, pointer, code, message, hint))


def read_folder(path: Path) -> Folder:
    """The folder's bundle and the problems of its files. `path`: the folder, or its workflow.json."""
    folder = Folder(path.parent if path.name == GRAPH_FILE else path)
    folder.read()
    return folder


def load_bundle(path: Path) -> dict[str, Any]:
    """The bundle of a folder. Raises `InvalidInput("folder_unreadable")` with every problem of its files."""
    folder = read_folder(path)
    refuse_problems(folder)
    return folder.bundle


def refuse_problems(folder: Folder) -> None:
    """Raise `InvalidInput("folder_unreadable")` when a file could not be read."""
    if folder.problems:
        raise InvalidInput(
            f"{folder.path} is no readable workflow folder",
            "folder_unreadable",
            problems=[asdict(problem) for problem in folder.problems],
        )


def _escaped(name: str) -> str:
    """A name as one token of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
