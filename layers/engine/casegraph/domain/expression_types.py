"""The check-only environment: JSON Schemas as protobuf messages, so that CEL finds wrong names and types.

What a schema says becomes a type: closed objects are messages, `number` is double, `integer` int; what it leaves open
(no type, several types, references, combinators, objects with keys that are no identifiers) is `dyn`. Nothing is ever
evaluated here (architecture.md 6.3).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

from google.protobuf import descriptor_pb2, descriptor_pool, struct_pb2, timestamp_pb2, wrappers_pb2

from casegraph.domain.expressions import (
    RESERVED_WORDS,
    ROOTS,
    ExpressionInvalid,
    compile_in,
    new_environment,
)
from casegraph.domain.graph.problem import did_you_mean

_PACKAGE = "casegraph.types"
_IDENTIFIER = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_COMBINATORS = {
    "$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas",
}  # fmt: skip
_MAX_DEPTH = 64
# A protobuf message has room for some thousand fields.
_MAX_PROPERTIES = 2_000
_DOUBLE, _INT64, _BOOL, _STRING, _MESSAGE = 1, 3, 8, 9, 11
_SCALARS = {"string": _STRING, "integer": _INT64, "number": _DOUBLE, "boolean": _BOOL}
_SIGNATURES = {_STRING: "string", _INT64: "int", _DOUBLE: "double", _BOOL: "bool"}
_VALUE, _STRUCT, _LIST = "google.protobuf.Value", "google.protobuf.Struct", "google.protobuf.ListValue"
_WELL_KNOWN = {_VALUE: "dyn", _STRUCT: "map<string, dyn>", _LIST: "list<dyn>"}
# What CEL prints for well-known and own types in messages, in words of JSON.
_WORDS = {"wrapper(": "(", "map(string, dyn)": "object", "list(dyn)": "list"}

RUN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "run_id": {"type": "string"},
        "workflow_key": {"type": "string"},
        "version": {"type": "integer"},
        "authority": {"type": "string"},
        "started_at": {"type": "string"},
        "started_by": {"type": "string"},
    },
    "required": [
        "run_id",
        "workflow_key",
        "version",
        "authority",
        "started_at",
        "started_by",
    ],
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What CEL says about a source: place (1-based line and column), short code, text and what to do."""

    line: int
    column: int
    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class _Type:
    """A field type: a scalar (`type_name` empty) or a message, once or repeated, or the values of a map."""

    number: int
    type_name: str = ""
    repeated: bool = False
    map_value: bool = False

    @property
    def signature(self) -> str:
        inner = _WELL_KNOWN.get(self.type_name, self.type_name) or _SIGNATURES[self.number]
        if self.map_value:
            return f"map<string, {inner}>"
        return f"list<{inner}>" if self.repeated else inner


_DYN = _Type(_MESSAGE, _VALUE)


@dataclass
class _Messages:
    """Collects one message per distinct object schema. places: where each message was first seen, for people."""

    file: descriptor_pb2.FileDescriptorProto = field(
        default_factory=lambda: descriptor_pb2.FileDescriptorProto(
            name="casegraph/types.proto",
            package=_PACKAGE,
            syntax="proto3",
            dependency=["google/protobuf/struct.proto"],
        )
    )
    known: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)

    def type_of(self, schema: Any, place: str, depth: int = 0) -> _Type:
        """The type of a JSON Schema; `dyn` for what cannot be typed."""
        if not isinstance(schema, dict) or depth > _MAX_DEPTH or _COMBINATORS & schema.keys():
            return _DYN
        match _kind(schema):
            case "object":
                return self._object(schema, place, depth)
            case "array":
                return self._array(schema.get("items"), place, depth)
            case str() as kind if kind in _SCALARS:
                return _Type(_SCALARS[kind])
        return _DYN

    def _array(self, items: Any, place: str, depth: int) -> _Type:
        inner = self.type_of(items, f"{place}[]", depth + 1)
        if inner.repeated or inner.map_value or inner.type_name in _WELL_KNOWN:
            return _Type(_MESSAGE, _LIST)
        return _Type(inner.number, inner.type_name, repeated=True)

    def _object(self, schema: dict[str, Any], place: str, depth: int) -> _Type:
        properties = schema.get("properties")
        others = schema.get("additionalProperties", not properties)
        if isinstance(properties, dict) and properties:
            named = len(properties) <= _MAX_PROPERTIES and all(map(is_selectable, properties))
            if others is not False or not named:
                return _Type(_MESSAGE, _STRUCT)
            return _Type(_MESSAGE, self.message(properties, place, depth))
        inner = self.type_of(others, f"{place}[*]", depth + 1)
        if inner.repeated or inner.map_value or inner.type_name in _WELL_KNOWN:
            return _Type(_MESSAGE, _STRUCT)
        return _Type(inner.number, inner.type_name, map_value=True)

    def message(self, properties: Mapping[str, Any], place: str, depth: int = 0) -> str:
        """The full name of the message with these properties."""
        identity = json.dumps(properties, sort_keys=True, default=str)
        if identity in self.known:
            return self.known[identity]
        name = f"T{len(self.known)}"
        full = self.known[identity] = f"{_PACKAGE}.{name}"
        self.places[full], self.fields[full] = place, list(properties)
        types = {key: self.type_of(s, f"{place}.{key}", depth + 1) for key, s in properties.items()}
        message = self.file.message_type.add(name=name)
        # `a_b` and `aB` have one JSON name in protobuf's eyes, which matters to nobody here.
        message.options.deprecated_legacy_json_field_conflicts = True
        entries: set[str] = set()
        for number, (key, kind) in enumerate(types.items(), 1):
            if kind.map_value and _entry_name(key) in entries:
                kind = _Type(_MESSAGE, _STRUCT)
            entries.add(_entry_name(key))
            _add_field(message, key, number, kind, full)
        return full


def _add_field(message: Any, name: str, number: int, kind: _Type, owner: str) -> None:
    # json_name as it is, not camel case.
    new = message.field.add(name=name, number=number, json_name=name, label=1)
    new.type = cast(Any, kind.number)
    if kind.type_name:
        new.type_name = f".{kind.type_name}"
    if kind.repeated or kind.map_value:
        new.label = 3
    if kind.map_value:
        entry = message.nested_type.add(name=_entry_name(name))
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=_STRING, label=1)
        value = entry.field.add(name="value", number=2, type=kind.number, label=1)
        if kind.type_name:
            value.type_name = new.type_name
        new.type, new.type_name = _MESSAGE, f".{owner}.{entry.name}"


def _entry_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Entry"


def _kind(schema: Mapping[str, Any]) -> str | None:
    declared = schema.get("type")
    if isinstance(declared, str):
        return declared
    if declared is not None:
        return None
    if "properties" in schema:
        return "object"
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    texts = isinstance(values, list) and values and all(isinstance(v, str) for v in values)
    return "string" if texts else None


def is_selectable(name: str) -> bool:
    """Whether CEL can select a field of this name with a dot."""
    return _IDENTIFIER.match(name) is not None and name not in RESERVED_WORDS


class Checker:
    """The typed environment of one graph. input_schema: of `input`; outputs: output schemas by node id."""

    def __init__(self, input_schema: Any, outputs: Mapping[str, Any]) -> None:
        self._input_schema = input_schema
        self._outputs = outputs
        self._messages = _Messages()

    @cached_property
    def _environment(self) -> Any:
        messages = self._messages
        variables = {
            **ROOTS,
            "input": messages.type_of(self._input_schema, "input").signature,
            "run": messages.type_of(RUN_SCHEMA, "run").signature,
            "nodes": messages.message(self._outputs, "nodes"),
        }
        return new_environment(variables, _pool([messages.file]))

    def check(self, source: str) -> tuple[str | None, list[Fault]]:
        """CEL's name of the expression's type (None when there are faults), and every fault."""
        try:
            compiled = compile_in(self._environment, source)
        except ExpressionInvalid as exc:
            return None, self._faults(exc.message)
        return str(compiled.return_type().name()), []

    def _faults(self, text: str) -> list[Fault]:
        found = re.findall(r"ERROR: <input>:(-?\d+):(-?\d+): (.*)", text)
        faults = [
            self._fault(max(int(line), 1), max(int(column), 1), message.removesuffix(" [INVALID_ARGUMENT]"))
            for line, column, message in found
            if "*error*" not in message
        ]
        # One mistake can be said several times (a syntax error, the depth limit).
        return list(dict.fromkeys(faults)) or [self._fault(1, 1, _first_line(text))]

    def _fault(self, line: int, column: int, message: str) -> Fault:
        undefined = re.match(r"undefined field '(.*)' not found in struct '(.*)'", message)
        if undefined:
            return self._undefined(line, column, *undefined.groups())
        undeclared = re.match(r"undeclared reference to '(.*?)'", message)
        if undeclared:
            name = undeclared.group(1)
            text = f"there is no name or function {name!r}"
            return Fault(
                line, column, "expression_unknown_name", text, did_you_mean(name.split(".")[0], ROOTS)
            )
        if "no matching overload" in message:
            return Fault(line, column, "expression_type", self._named(message), _type_hint(message))
        if "recursion" in message:
            text = "the expression is nested too deeply (32 levels; a chain of operators counts as nested)"
            return Fault(
                line, column, "expression_too_deep", text, "split it, or use a list: [a, b].all(x, x)"
            )
        code = "expression_syntax" if "yntax" in message else "expression_invalid"
        return Fault(line, column, code, self._named(message)[:300])

    def _undefined(self, line: int, column: int, name: str, owner: str) -> Fault:
        place, known = self._messages.places.get(owner, owner), self._messages.fields.get(owner, [])
        return Fault(
            line, column, "expression_unknown_field", f"{place} has no {name!r}", did_you_mean(name, known)
        )

    def _named(self, message: str) -> str:
        for full in sorted(self._messages.places, key=len, reverse=True):
            message = re.sub(re.escape(full) + r"\b", self._messages.places[full], message)
        for old, new in _WORDS.items():
            message = message.replace(old, new)
        return message.replace(" (in container '')", "")


def _type_hint(message: str) -> str:
    operands = message.rpartition("applied to")[2]
    if "double" in operands and re.search(r"\bint\b", operands):
        return "a JSON Schema 'number' is a double: write 100.0, or double(x); an 'integer' is an int"
    if "optional_type" in operands:
        return "an optional value needs .orValue(...) with a value of the same type, or .hasValue()"
    return ""


def _first_line(text: str) -> str:
    return text.splitlines()[0][:300] if text else "CEL cannot compile it"


def _pool(files: Iterable[Any]) -> Any:
    pool = descriptor_pool.DescriptorPool()
    for module in (struct_pb2, timestamp_pb2, wrappers_pb2):
        known = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(known)
        pool.Add(known)
    for file in files:
        pool.Add(cast(Any, file))
    return pool
