"""One node of the source form to one node of the canonical document."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from casegraph.authoring.fields import duration, unknown_fields
from casegraph.authoring.files import Folder
from casegraph.authoring.literals import NoLiteral, is_expression, to_cel
from casegraph.authoring.places import Origin, Path
from casegraph.authoring.shorthand import (
    NODE_FIELDS,
    RETRY_DURATIONS,
    Shorthand,
    config_fields,
    shorthand_of,
)
from casegraph.domain.graph.document import Retry
from casegraph.domain.graph.problem import did_you_mean, pointer
from casegraph.domain.nodes.registry import KINDS

_DURATIONS = {"timeout": "timeout_seconds", "due": "due_seconds"}
_RETRY_FIELDS = tuple(name.removesuffix("_seconds") for name in Retry.model_fields)


@dataclass
class Defaults:
    """What nodes get that do not say otherwise."""

    on_error: str | None = None
    retry: dict[str, Any] | None = None
    durations: dict[str, Any] = field(default_factory=dict)


def read_defaults(source: Any, folder: Folder) -> Defaults:
    """The `defaults` of a document."""
    defaults = Defaults()
    if source is None:
        return defaults
    where, path = "/graph/defaults", ("defaults",)
    folder.places.put(where, Origin(folder.main, path))
    if not isinstance(source, dict):
        folder.problem("not_an_object", where, "`defaults` is a map: on_error, retry, timeout, due")
        return defaults
    unknown_fields(folder, source, path, where, ("on_error", "retry", "timeout", "due"))
    if isinstance(source.get("on_error"), str):
        defaults.on_error = source["on_error"]
    elif source.get("on_error") is not None:
        folder.problem("invalid_value", f"{where}/on_error", "`on_error` names a node")
    if source.get("retry") is not None:
        defaults.retry = _retry(folder, source["retry"], f"{where}/retry", (*path, "retry"))
    for name, canonical in _DURATIONS.items():
        if source.get(name) is not None:
            defaults.durations[canonical] = duration(folder, source[name], f"{where}/{name}")
    return defaults


def build_node(name: str, raw: Any, index: int, folder: Folder, defaults: Defaults) -> dict[str, Any]:
    """The canonical node. What cannot be said of it is left out, and is a problem."""
    return _Node(name, raw, index, folder, defaults).build()


class _Node:
    def __init__(self, name: str, raw: Any, index: int, folder: Folder, defaults: Defaults) -> None:
        self.name, self.folder, self.defaults = name, folder, defaults
        self.where = f"/graph/nodes/{index}"
        self.path: Path = ("nodes", name)
        self.raw: dict[str, Any] = raw if isinstance(raw, dict) else {}
        self.node: dict[str, Any] = {"id": name}
        folder.places.put(self.where, Origin(folder.main, self.path))
        folder.places.put(f"{self.where}/id", Origin(folder.main, self.path, at_key=True, exact=True))
        if not isinstance(raw, dict) and raw is not None:
            folder.problem("not_an_object", self.where, f"node {name!r} is a map with a `kind`")

    def build(self) -> dict[str, Any]:
        kind = self.raw.get("kind")
        if kind is None:
            if self.raw and "kind" not in self.raw:
                hint = f"kinds: {', '.join(sorted(KINDS))}"
                self.folder.problem("missing_field", self.where, f"node {self.name!r} has no `kind`", hint)
            return self.node
        self.node["kind"] = kind if isinstance(kind, str) else str(kind)
        config: dict[str, Any] = {}
        self.node["config"] = config
        if isinstance(kind, str) and kind in KINDS:
            known = (*NODE_FIELDS, *config_fields(kind))
            in_with = dict.fromkeys(shorthand_of(kind).in_with, "write it in `with`")
            unknown = unknown_fields(
                self.folder, self.raw, self.path, f"{self.where}/config", known, hints=in_with
            )
            for name in self.raw:
                if name not in NODE_FIELDS and name not in unknown and self.raw[name] is not None:
                    self._config(kind, name, self.raw[name], config)
        self._with(config)
        self._fields()
        return self.node

    def _put(self, where: str, path: Path, **facts: Any) -> str:
        place = self.where + where
        self.folder.places.put(place, Origin(self.folder.main, (*self.path, *path), **facts))
        return place

    def _config(self, kind: str, name: str, value: Any, config: dict[str, Any]) -> None:
        if kind == "condition" and name == "cases":
            self._put("/config/cases", ("cases",))
            config["cases"] = self._cases(value)
        elif kind == "parallel" and name == "branches" and isinstance(value, dict):
            self._put("/config/branches", ("branches",))
            config["branches"] = list(value)
            for i, branch in enumerate(value):
                self._put(f"/config/branches/{i}", ("branches", branch), at_key=True)
        else:
            self._field(shorthand_of(kind), name, value, "/config", (), config)

    def _field(
        self, own: Shorthand, name: str, value: Any, at: str, path: Path, into: dict[str, Any]
    ) -> None:
        """One configuration field, or one of a map inside it, by its shorthand."""
        canonical = own.durations.get(name, name)
        here, inner = at + pointer(canonical), (*path, name)
        where = self._put(here, inner)
        if name in own.durations:
            into[canonical] = duration(self.folder, value, where)
        elif name in own.nested and isinstance(value, dict):
            found: dict[str, Any] = {}
            into[name] = found
            for key, nested in value.items():
                if nested is not None:
                    self._field(own.nested[name], key, nested, here, inner, found)
        elif name in own.expressions or (name in own.instants and is_expression(value)):
            into[name] = self._cel(value, here, inner)
        elif name in own.parts:
            into[name] = self._named_part(own.parts[name], value, where)
        elif is_expression(value):
            text = f"`{name}` takes no expression"
            self.folder.problem("expression_not_allowed", where, text, "write the value itself")
        else:
            into[name] = value

    def _cases(self, cases: Any) -> Any:
        if not isinstance(cases, dict):
            text = "`cases` is a map: an expression by port"
            self.folder.problem(
                "invalid_value", f"{self.where}/config/cases", text, "cases: {spam: score > 5}"
            )
            return []
        found: list[dict[str, Any]] = []
        for port, when in cases.items():
            at = f"/config/cases/{len(found)}"
            self._put(at, ("cases", port))
            self._put(f"{at}/port", ("cases", port), at_key=True)
            where = self._put(f"{at}/when", ("cases", port))
            if is_expression(when):
                text = "cases are always expressions: the `=` is one too many"
                self.folder.problem("expression_marked", where, text, f"write {when[1:].strip()}")
            if when is not None:
                found.append({"port": port, "when": self._case_text(when)})
        return found

    def _case_text(self, when: Any) -> Any:
        """A case's text; `true` and numbers were read as values, and are text here."""
        if isinstance(when, bool):
            return "true" if when else "false"
        return when.removeprefix("=").strip() if isinstance(when, str) else str(when)

    def _cel(self, value: Any, at: str, path: Path) -> Any:
        where = self._put(at, path, exact=True, lead=1 if is_expression(value) else 0)
        try:
            return to_cel(value)
        except NoLiteral as exc:
            self.folder.problem("invalid_value", where, str(exc))
            return "null"

    def _named_part(self, section: str, value: Any, where: str) -> Any:
        """The name of a form or template: as it is, by the file that `$ref` names, or the value itself, inlined."""
        parts = self.folder.bundle.setdefault(section, {})
        if isinstance(value, dict) and set(value) == {"$ref"}:
            file = self.folder.reference(value["$ref"], where)
            return self.name if file is None else self._referenced(section, parts, file, where)
        if isinstance(value, dict):
            if self.name in parts:
                text = f"there is a file of this name already: {section}/{self.name}"
                self.folder.problem("duplicate_part", where, text, "name the file with $ref")
            parts[self.name] = value
            self.folder.places.put(pointer(section, self.name), self.folder.places.origins[where])
            return self.name
        return value

    def _referenced(self, section: str, parts: dict[str, Any], file: str, where: str) -> str:
        name = PurePosixPath(file).stem
        if PurePosixPath(file).parent.as_posix() == section:
            if name not in parts:
                hint = did_you_mean(name, parts)
                self.folder.problem("file_missing", where, f"there is no {file} in {self.folder.path}", hint)
            return name
        if name in parts:
            text = f"{file} would be a second part named {name!r} of {section}"
            self.folder.problem("duplicate_part", where, text, "rename one of the files")
            return name
        source = self.folder.source(file, named_at=where)
        parts[name] = {} if source.value is None else source.value
        self.folder.places.put(pointer(section, name), Origin(file, ()))
        return name

    def _with(self, config: dict[str, Any]) -> None:
        values = self.raw.get("with")
        if values is None:
            return
        where = self._put("/input_mapping", ("with",))
        if not isinstance(values, dict):
            self.folder.problem("invalid_value", where, "`with` is a map: a value or `=expression` by name")
            return
        own = shorthand_of(self.raw.get("kind"))
        mapping: dict[str, Any] = {}
        for name, value in values.items():
            if name in own.in_with:
                self._put(f"/config/{name}", ("with", name))
                place = f"{self.where}/config/{name}"
                if is_expression(value):
                    text = f"`{name}` takes no expression: it is part of the version"
                    self.folder.problem("expression_not_allowed", place, text, "write the name itself")
                elif value is not None:
                    section = own.parts.get(name)
                    config[name] = value if section is None else self._named_part(section, value, place)
            else:
                at = "/input_mapping" + pointer(name)
                mapping[name] = self._cel(value, at, ("with", name))
        if mapping:
            self.node["input_mapping"] = mapping

    def _fields(self) -> None:
        kind = KINDS.get(str(self.node["kind"]))
        for name, canonical in _DURATIONS.items():
            if self.raw.get(name) is not None:
                where = self._put(f"/{canonical}", (name,))
                self._set(canonical, duration(self.folder, self.raw[name], where))
            elif kind is not None and (
                kind.needs_timeout or (canonical == "timeout_seconds" and self._awaits())
            ):
                self._set(canonical, self.defaults.durations.get(canonical))
        if self.raw.get("retry") is not None:
            where = self._put("/retry", ("retry",))
            self._set("retry", _retry(self.folder, self.raw["retry"], where, (*self.path, "retry")))
        elif kind is not None and kind.retries and not kind.effect:
            self._set("retry", self.defaults.retry)
        if self.raw.get("max_visits") is not None:
            self._put("/max_visits", ("max_visits",))
            self.node["max_visits"] = self.raw["max_visits"]

    def _awaits(self) -> bool:
        config = self.node.get("config")
        return isinstance(config, dict) and config.get("await") is True

    def _set(self, name: str, value: Any) -> None:
        if value is not None:
            self.node[name] = value


def _retry(folder: Folder, raw: Any, where: str, path: Path) -> dict[str, Any] | None:
    if not isinstance(raw, dict):
        text = "`retry` is a map"
        folder.problem("invalid_value", where, text, "retry: {max_attempts: 3, initial_backoff: 2s}")
        return None
    unknown = unknown_fields(folder, raw, path, where, _RETRY_FIELDS)
    found: dict[str, Any] = {}
    for name, value in raw.items():
        if name in unknown or value is None:
            continue
        canonical = RETRY_DURATIONS.get(name) or str(name)
        place = f"{where}/{canonical}"
        folder.places.put(place, Origin(folder.main, (*path, name)))
        found[canonical] = duration(folder, value, place) if name in RETRY_DURATIONS else value
    return {name: value for name, value in found.items() if value is not None}
