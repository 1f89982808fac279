"""The JSON Schemas of a bundle: well-formed, without references that lead out or never end, with linear patterns.

`readable` gives the bundle with the schemas that are none taken out, so that every later check meets schemas only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from casegraph.domain import patterns
from casegraph.domain.graph.problem import Problem, pointer
from casegraph.limits import SCHEMA_MAX_DEPTH, SCHEMA_MAX_SIZE

_TYPES = ("null", "boolean", "object", "array", "number", "string", "integer")
_ONE = ("additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_DEFINITIONS = ("$defs", "definitions")
# They change what `#` means, or make the work of a check grow with the power of its depth.
_REFUSED = {
    "$id": "write the schema without it",
    "$anchor": "refer by `#/$defs/name`",
    "$dynamicAnchor": "refer by `#/$defs/name`",
    "$dynamicRef": "refer by `#/$defs/name`",
    "$recursiveRef": "refer by `#/$defs/name`",
    "$vocabulary": "write the schema without it",
    "dependencies": "use dependentRequired or dependentSchemas",
    "unevaluatedItems": "use items: false",
    "unevaluatedProperties": "use additionalProperties: false",
}


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> bool:
    return _number(value) and value >= 0 and value == int(value)


def _type(value: Any) -> bool:
    given = value if isinstance(value, list) else [value]
    return bool(given) and all(isinstance(one, str) and one in _TYPES for one in given)


def _text(value: Any) -> bool:
    return isinstance(value, str)


_Rule = tuple[Callable[[Any], bool], str]
_COUNT: _Rule = (_count, "a whole number that is not negative")
_NUMBER: _Rule = (_number, "a number")
_RULES: dict[str, _Rule] = {
    "type": (_type, f"one of {', '.join(_TYPES)}, or a list of them"),
    "enum": (lambda value: isinstance(value, list) and bool(value), "a list of values"),
    "required": (_names, "a list of names"),
    "dependentRequired": (
        lambda value: isinstance(value, dict) and all(_names(names) for names in value.values()),
        "an object of lists of names",
    ),
    "multipleOf": (lambda value: _number(value) and value > 0, "a number above 0"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "$ref": (_text, "text"),
    "format": (_text, "text"),
    "pattern": (_text, "text"),
    **dict.fromkeys(("maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum"), _NUMBER),
    **dict.fromkeys(("maxLength", "minLength", "maxItems", "minItems"), _COUNT),
    **dict.fromkeys(("maxProperties", "minProperties", "maxContains", "minContains"), _COUNT),
}


def readable(bundle: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The bundle with `{}` (anything) in place of every schema that is faulty, and what is wrong with those."""
    problems: list[Problem] = []

    def checked(schema: Any, where: str) -> Any:
        found = list(_faults(schema, where))
        problems.extend(found)
        return {} if found else schema

    clean = dict(bundle)
    for section in ("forms", "schemas"):
        clean[section] = {
            name: checked(schema, pointer(section, name)) for name, schema in bundle.get(section, {}).items()
        }
    clean["components"] = {
        name: _component(known, pointer("components", name), checked, problems)
        for name, known in bundle.get("components", {}).items()
    }
    if isinstance(bundle["graph"], dict):
        clean["graph"] = _graph(bundle["graph"], checked)
    return clean, problems


def _component(
    known: Any, where: str, checked: Callable[[Any, str], Any], problems: list[Problem]
) -> dict[str, Any]:
    if not isinstance(known, dict):
        problems.append(Problem("not_an_object", where, "a component is {output_schema}"))
        return {}
    if "output_schema" not in known:
        return known
    return {**known, "output_schema": checked(known["output_schema"], f"{where}/output_schema")}


def _graph(graph: dict[str, Any], checked: Callable[[Any, str], Any]) -> dict[str, Any]:
    """That the fields are objects is for the document's own model to say."""
    clean = dict(graph)
    if "input_schema" in graph:
        given = graph["input_schema"]
        clean["input_schema"] = checked(given, "/graph/input_schema") if isinstance(given, dict) else {}
    if "event_schemas" in graph:
        named = graph["event_schemas"]
        clean["event_schemas"] = {
            name: checked(schema, pointer("graph", "event_schemas", name))
            for name, schema in (named.items() if isinstance(named, dict) else ())
        }
    return clean


def _faults(schema: Any, where: str) -> Iterator[Problem]:
    if not isinstance(schema, dict):
        yield Problem("not_an_object", where, "a JSON Schema is a JSON object")
        return
    found = list(_shape(schema, where))
    yield from found
    if found:
        return
    size = _Size(schema)
    total = size.of(schema)
    if total is None:
        text = "the schema refers to itself, so checking a value might never end"
        yield Problem("schema_recursive", where, text, "write out as many levels as there may be")
    elif total[0] > SCHEMA_MAX_SIZE or total[1] > SCHEMA_MAX_DEPTH:
        text = f"with its references put in: {total[0]} subschemas, {total[1]} levels"
        hint = f"at most {SCHEMA_MAX_SIZE} subschemas and {SCHEMA_MAX_DEPTH} levels"
        yield Problem("schema_too_large", where, text, hint)
    for target, place in size.dangling:
        text = f"$ref {target!r} names nothing in this schema"
        yield Problem("unresolved_ref", where + place, text, "refer to `#/$defs/name` of the same schema")


def _shape(schema: Any, where: str) -> Iterator[Problem]:
    """Keywords whose values are not what draft 2020-12 says, or that are refused here."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield Problem("schema_invalid", where, "a subschema is an object, true or false")
        return
    for name, value in schema.items():
        place = where + pointer(name)
        if name in _REFUSED:
            yield Problem("schema_invalid", place, f"{name} is not supported", _REFUSED[name])
        elif name in _RULES and not _RULES[name][0](value):
            yield Problem("schema_invalid", place, f"{name} is {_RULES[name][1]}")
        elif name == "pattern":
            yield from _pattern(value, place)
        elif name == "patternProperties" and isinstance(value, dict):
            for source in value:
                yield from _pattern(source, place + pointer(source))
    for part, inner in _inner(schema):
        if part is None:
            yield Problem("schema_invalid", where + inner, f"{inner[1:]} holds subschemas")
        else:
            yield from _shape(part[0], where + inner)


def _pattern(source: str, place: str) -> Iterator[Problem]:
    why = patterns.fault(source)
    if why is not None:
        text = f"this pattern may not be used: {why}"
        hint = "RE2 syntax: no lookaround, no back references, repetitions up to 1000"
        yield Problem("schema_pattern_unsafe", place, text, hint)


def _inner(schema: dict[str, Any]) -> Iterator[tuple[tuple[Any] | None, str]]:
    """(subschema, or None when what stands there holds none; pointer) of everything right inside a schema."""
    for name in [name for name in (*_ONE, *_MANY, *_NAMED) if name in schema]:
        value, place = schema[name], pointer(name)
        if name in _ONE:
            yield (value,), place
        elif name in _MANY and isinstance(value, list) and value:
            yield from (((inner,), place + pointer(index)) for index, inner in enumerate(value))
        elif name in _NAMED and isinstance(value, dict):
            yield from (((inner,), place + pointer(key)) for key, inner in value.items())
        else:
            yield None, place


class _Size:
    """Size and levels of a well-formed schema with its references put in; None when that never ends."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._known: dict[str, tuple[int, int] | None] = {}
        self.dangling: list[tuple[str, str]] = []

    def of(self, schema: Any, place: str = "", level: int = 0) -> tuple[int, int] | None:
        """Of one subschema, definitions in it included. Those below the last level allowed are not counted."""
        if isinstance(schema, bool) or level > SCHEMA_MAX_DEPTH:
            return (1, 1)
        sizes = [
            self.of(part[0], place + inner, level + 1) for part, inner in _inner(schema) if part is not None
        ]
        if "$ref" in schema:
            sizes.append(self._referred(schema["$ref"], place + "/$ref", level + 1))
        known = [size for size in sizes if size is not None]
        if len(known) < len(sizes):
            return None
        return 1 + sum(size for size, _ in known), 1 + max((levels for _, levels in known), default=0)

    def _referred(self, target: str, place: str, level: int) -> tuple[int, int] | None:
        if not target.startswith("#"):
            return (0, 0)  # structure.py says that it leads out of the bundle
        if target in self._known:
            return self._known[target]
        named = self._named(target)
        if named is None:
            self.dangling.append((target, place))
            return (0, 0)
        self._known[target] = None  # meeting it again before it is known is going round
        self._known[target] = self.of(named[0], target[1:], level)
        return self._known[target]

    def _named(self, target: str) -> tuple[Any] | None:
        """What `#` (the schema itself) or `#/$defs/name` says."""
        if target == "#":
            return (self._root,)
        parts = target.split("/")
        if len(parts) != 3 or parts[1] not in _DEFINITIONS or "%" in target:
            return None
        named = self._root.get(parts[1], {})
        name = parts[2].replace("~1", "/").replace("~0", "~")
        return (named[name],) if name in named else None
