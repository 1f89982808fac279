"""The files of a workflow folder, read once, and what each part of the bundle came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casegraph.authoring.places import Origin, Place, Places
from casegraph.authoring.places import Path as SourcePath
from casegraph.authoring.problems import SourceProblem, placed
from casegraph.authoring.source import YAML_SUFFIXES, Source, read_text
from casegraph.domain.graph.problem import Problem, pointer
from casegraph.limits import PUBLISH_BODY_MAX_BYTES

SOURCE_FILE = "workflow.yaml"
# Parts of the bundle that are a folder of their own; the file's name without its ending is the part's name.
PARTS = ("forms", "messages", "policies", "components")
DATA_SUFFIXES = (".json", *YAML_SUFFIXES)


@dataclass
class Folder:
    """A folder while it is read: the bundle so far, where its parts come from, and every problem."""

    path: Path
    main: str
    bundle: dict[str, Any] = field(default_factory=dict)
    problems: list[SourceProblem] = field(default_factory=list)
    places: Places = field(default_factory=Places)

    def source(self, file: str, *, named_at: str = "") -> Source:
        """A file of the folder. named_at: pointer of what asks for it, for the problem that it is not there."""
        try:
            text = self._text(file)
        except FileNotFoundError:
            place = (self.places.find(named_at) if named_at else None) or Place(file, 1, 1)
            source = Source(file, problems=[missing(file, place, self.path, named_at)])
        except (UnicodeDecodeError, OSError) as exc:
            text = f"it cannot be read as text ({type(exc).__name__})"
            source = Source(file, problems=[SourceProblem("unreadable", Place(file, 1, 1), text)])
        else:
            source = read_text(text, file)
        self.places.files[file] = source.entries
        self.problems += source.problems
        return source

    def _text(self, file: str) -> str:
        path = self.path / file
        if path.stat().st_size > PUBLISH_BODY_MAX_BYTES:
            raise OSError(f"over {PUBLISH_BODY_MAX_BYTES} bytes")
        return path.read_text(encoding="utf-8")

    def read_parts(self) -> None:
        """Every file of the part folders, by name."""
        for part in PARTS:
            self.bundle.setdefault(part, {})
            names: dict[str, str] = {}
            for path in sorted((self.path / part).glob("*")):
                if path.suffix in DATA_SUFFIXES or (part == "policies" and path.suffix == ".md"):
                    self._part(part, path.stem, f"{part}/{path.name}", names)
            if not self.bundle[part] and part == "policies":
                del self.bundle[part]

    def _part(self, part: str, name: str, file: str, names: dict[str, str]) -> None:
        if name in names:
            text = f"{names[name]} has the same name: {name!r}"
            self.problems.append(
                SourceProblem("duplicate_part", Place(file, 1, 1), text, "rename one of them")
            )
            return
        names[name] = file
        where = pointer(part, name)
        self.places.put(where, Origin(file, ()))
        if file.endswith(".md"):
            self.bundle[part][name] = self._text(file)
            return
        value = self.source(file).value
        self.bundle[part][name] = {} if value is None else value

    def schema(self, schema: Any, where: str, path: SourcePath) -> Any:
        """A schema, or the content of the file that its `$ref` names. where: its pointer; path: its place in the main
        file."""
        self.places.put(where, Origin(self.main, path))
        if not isinstance(schema, dict) or set(schema) != {"$ref"}:
            return schema
        file = self.reference(schema["$ref"], where)
        if file is None:
            return {}
        value = self.source(file, named_at=where).value
        if (self.path / file).exists():
            self.places.put(where, Origin(file, ()))
        return {} if value is None else value

    def reference(self, target: Any, where: str) -> str | None:
        """The file that a `$ref` names, relative to the folder; None (and a problem) when it lies elsewhere."""
        file = str(target)
        inside = (self.path / file).resolve().is_relative_to(self.path.resolve())
        if inside and isinstance(target, str) and not target.startswith(("/", "#")):
            return file
        hint = "name a file such as schemas/notice.json"
        self.problem("ref_outside", where, f"{file} is not inside the folder", hint)
        return None

    def problem(self, code: str, where: str, message: str, hint: str = "", *, at_key: bool = False) -> None:
        """Note a problem at a pointer of the bundle."""
        place = self.places.find(where, at_key=at_key) or Place(self.main, 1, 1)
        self.problems.append(SourceProblem(code, place, message, hint, where))

    def located(self, problem: Problem | Mapping[str, Any]) -> SourceProblem:
        """A problem of the bundle with its place in the folder's files."""
        if not isinstance(problem, Problem):
            fields = {name: str(problem.get(name, "")) for name in ("code", "pointer", "message", "hint")}
            problem = Problem(**fields)
        return placed(problem, self.places, self.main)


def missing(file: str, place: Place, folder: Path, pointer: str = "") -> SourceProblem:
    text = f"there is no {file} in {folder}"
    hint = "casegraph new workflow NAME makes a folder" if file == SOURCE_FILE else ""
    return SourceProblem("file_missing", place, text, hint, pointer)
