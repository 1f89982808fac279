"""The only place that calls CEL (architecture.md 6.3).

CEL returns most errors as values whose plain form is a truthy text, copies text on each read and can end the process
on some results (an optional inside a map). Here an expression gives a JSON value or raises; nothing in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, Literal

from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_optional, ext_strings
from google.protobuf.message import DecodeError

from casegraph.domain.expression_growth import bytes_allocated, may_grow
from casegraph.domain.expression_tree import Access, Tree, accesses, read_tree
from casegraph.errors import InvalidInput, NodeFailed
from casegraph.limits import (
    EXPRESSION_CONTEXT_MAX_BYTES,
    EXPRESSION_CONTEXT_MAX_DEPTH,
    EXPRESSION_MAX_ALLOCATED_BYTES,
    EXPRESSION_MAX_LENGTH,
    EXPRESSION_RESULT_MAX_BYTES,
)

# What expressions may name (architecture.md 6.3), with the type that does not depend on the graph.
ROOTS: Mapping[str, str] = {
    "input": "dyn",
    "report": "dyn",
    "reports": "list<dyn>",
    "run": "dyn",
    "nodes": "dyn",
    "node_input": "dyn",
    "branch": "string",
    "item": "dyn",
    "item_index": "dyn",
    "result": "dyn",
    "now": "timestamp",
}
# CEL's reserved words: no node, field or mapping may be read by such a name.
RESERVED_WORDS = frozenset(
    {
        "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
        "namespace", "null", "package", "return", "true", "var", "void", "while",
    }
)  # fmt: skip
_INT64 = 2**63
_LARGE_CONTEXT_BYTES = 100_000

Code = Literal[
    "expression_failed",
    "expression_missing_key",
    "expression_budget_exceeded",
    "expression_too_large",
    "expression_context_too_large",
    "expression_not_json",
    "expression_not_bool",
    "expression_invalid",
]


class ExpressionFailed(NodeFailed):
    """An expression gave no usable value. `source` is its text; the code says why; no value is ever in the text."""

    def __init__(self, code: Code, source: str, reason: str = "") -> None:
        super().__init__(code, f"{code}: {reason or 'no value'}", source=source)
        self.source = source


class ExpressionInvalid(InvalidInput):
    """The source is no CEL expression; the message is CEL's, with line and column."""

    default_code = "expression_invalid"


@dataclass(frozen=True)
class Program:
    """A compiled expression. schemas: JSON Schemas of roots (and of outputs, under `nodes`) by which numbers bind:
    `number` is a double, `integer` an int."""

    source: str
    schemas: Mapping[str, Any]
    expression: Any
    tree: Tree

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """The paths that it reads."""
        return accesses(self.tree)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The context roots that it reads."""
        return frozenset(a.root for a in self.accesses if a.root in ROOTS)

    @cached_property
    def _may_grow(self) -> bool:
        return may_grow(self.tree)

    @property
    def result_type(self) -> str:
        """CEL's name of the type, e.g. `BOOL`, `DYN`, `optional_type<STRING>`."""
        return str(self.expression.return_type().name())

    def evaluate(self, context: Mapping[str, Any]) -> Any:
        """The expression's JSON value on `context` (roots of `ROOTS`; `now` as RFC 3339 text or aware datetime).

        Timestamps come back as RFC 3339 text, durations as seconds (`"3600s"`). Raises `ExpressionFailed`.
        """
        binder = _Binder(self.source)
        bound = {
            root: binder.bind(root, context[root], self.schemas) for root in self.roots if root in context
        }
        large = binder.bytes > _LARGE_CONTEXT_BYTES
        if (self._may_grow or large) and bytes_allocated(self.tree, bound) > EXPRESSION_MAX_ALLOCATED_BYTES:
            raise ExpressionFailed("expression_too_large", self.source, "it would take too much memory")
        try:
            value = self.expression.eval(data=bound)
        except Exception as exc:
            # CEL raises plain RuntimeError, and other types from its binding.
            raise _raised(exc, self.source) from exc
        return _Reader(self.source).read(value)

    def evaluate_bool(self, context: Mapping[str, Any]) -> bool:
        """True or false, and nothing that merely looks so. Raises `ExpressionFailed`."""
        value = self.evaluate(context)
        if value is True or value is False:
            return value
        raise ExpressionFailed("expression_not_bool", self.source, "it gave no boolean")


def new_environment(variables: Mapping[str, str], pool: Any = None) -> Any:
    """A CEL environment with the extensions of schema version 1: optional, strings, math."""
    types = {name: cel.Type(signature) for name, signature in variables.items()}
    extensions = [ext_optional.ExtOptional(), ext_strings.ExtStrings(), ext_math.ExtMath()]
    return cel.NewEnv(descriptor_pool=pool, variables=types, extensions=extensions)


def compile_in(environment: Any, source: str) -> Any:
    """Compile and type-check. Raises `ExpressionInvalid` with CEL's text."""
    if len(source) > EXPRESSION_MAX_LENGTH:
        raise ExpressionInvalid(f"ERROR: <input>:1:1: longer than {EXPRESSION_MAX_LENGTH} characters")
    try:
        return environment.compile(source)
    except Exception as exc:
        raise ExpressionInvalid(str(exc)) from exc


@lru_cache(maxsize=1)
def _environment() -> Any:
    return new_environment(ROOTS)


@lru_cache(maxsize=4_096)
def _compiled(source: str) -> tuple[Any, Tree]:
    expression = compile_in(_environment(), source)
    try:
        return expression, read_tree(expression.serialize())
    except DecodeError as exc:
        # Loops in loops: each level of a macro is several levels of the checked expression.
        raise ExpressionInvalid("ERROR: <input>:1:1: recursion: loops are nested too deeply") from exc


def compile_program(source: str, schemas: Mapping[str, Any] | None = None) -> Program:
    """A program for the environment that runs. Raises `ExpressionInvalid`."""
    return Program(source, schemas or {}, *_compiled(source))


def evaluate(expression: str | Program, context: Mapping[str, Any]) -> Any:
    """The JSON value of an expression. Raises `ExpressionFailed` (code `expression_invalid` for bad source)."""
    return _program(expression).evaluate(context)


def evaluate_bool(expression: str | Program, context: Mapping[str, Any]) -> bool:
    """The truth of an expression. Raises `ExpressionFailed`."""
    return _program(expression).evaluate_bool(context)


def _program(expression: str | Program) -> Program:
    if isinstance(expression, Program):
        return expression
    try:
        return compile_program(expression)
    except ExpressionInvalid as exc:
        raise ExpressionFailed("expression_invalid", expression, exc.message) from exc


def _raised(exc: Exception, source: str) -> ExpressionFailed:
    if "budget" in str(exc):
        return ExpressionFailed("expression_budget_exceeded", source, "its loops take too many rounds")
    return ExpressionFailed("expression_failed", source, "CEL refused to evaluate it")


def _error_value(value: Any, source: str) -> ExpressionFailed:
    try:
        missing = str(value.value()).startswith("NOT_FOUND")
    except Exception:  # noqa: BLE001  an optional inside a list or map has no Python form
        missing = False
    if missing:
        return ExpressionFailed("expression_missing_key", source, "it reads a key that is not there")
    return ExpressionFailed("expression_failed", source, "its evaluation gave an error")


class _Binder:
    """Copies context values into what CEL takes, bounding size and depth and typing numbers by schema."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.bytes = 0

    def bind(self, root: str, value: Any, schemas: Mapping[str, Any]) -> Any:
        if root == "now":
            return self._instant(value)
        return self._value(value, schemas.get(root), 0)

    def _instant(self, value: Any) -> datetime:
        try:
            instant = datetime.fromisoformat(value) if isinstance(value, str) else value
            return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        except (ValueError, AttributeError) as exc:
            raise ExpressionFailed("expression_not_json", self._source, "`now` is no instant") from exc

    def _value(self, value: Any, schema: Any, depth: int) -> Any:
        if depth > EXPRESSION_CONTEXT_MAX_DEPTH:
            raise ExpressionFailed("expression_context_too_large", self._source, "the context is too deep")
        self.bytes += 8
        if isinstance(value, str):
            self._text(value)
        if self.bytes > EXPRESSION_CONTEXT_MAX_BYTES:
            raise ExpressionFailed("expression_context_too_large", self._source, "the context is too large")
        match value:
            case None | bool() | str():
                return value
            case int() | float():
                return self._number(value, schema)
            case dict():
                return self._object(value, schema, depth)
            case list() | tuple():
                items = schema.get("items") if isinstance(schema, dict) else None
                return [self._value(item, items, depth + 1) for item in value]
        raise ExpressionFailed(
            "expression_not_json", self._source, f"{type(value).__name__} in the context is not JSON"
        )

    def _text(self, text: str) -> None:
        self.bytes += len(text)
        if "\x00" in text:
            # CEL's binding would cut the text there, without a word.
            raise ExpressionFailed("expression_not_json", self._source, "text in the context holds U+0000")

    def _object(self, value: dict[Any, Any], schema: Any, depth: int) -> dict[str, Any]:
        typed = schema if isinstance(schema, dict) else {}
        properties, others = typed.get("properties"), typed.get("additionalProperties")
        bound = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise ExpressionFailed("expression_not_json", self._source, "keys of objects are text")
            self._text(key)
            inner = properties.get(key, others) if isinstance(properties, Mapping) else others
            bound[key] = self._value(item, inner, depth + 1)
        return bound

    def _number(self, value: Any, schema: Any) -> int | float:
        kind = schema.get("type") if isinstance(schema, dict) else None
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        # CEL has 64 bits: what is larger is a double, as in any JSON reader.
        wide = isinstance(value, int) and not -_INT64 <= value < _INT64
        if kind != "number" and not wide:
            return value  # type: ignore[no-any-return]
        try:
            return float(value)
        except OverflowError as exc:
            raise ExpressionFailed("expression_not_json", self._source, "a number is too large") from exc


class _Reader:
    """Turns a CEL value into plain JSON one level at a time: `plain_value()` ends the process on an optional in a map,
    and copies a shared value as often as it stands in the result."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._bytes = 0

    def read(self, value: Any) -> Any:
        kind = str(value.type().name())
        if kind == "ERROR":
            raise _error_value(value, self._source)
        match kind.partition("<")[0]:
            case "NULL":
                return None
            case "BOOL" | "INT" | "UINT":
                self._count(8)
                return value.value()
            case "DOUBLE":
                return self._double(value.value())
            case "STRING":
                text = value.value()
                self._count(len(text) + 2)
                return text
            case "TIMESTAMP":
                return rfc3339(value.value())
            case "DURATION":
                return _duration(value.value())
            case "LIST":
                return self._list(value.value())
            case "MAP":
                return self._map(value.value())
        raise ExpressionFailed("expression_not_json", self._source, f"its value is a {kind.lower()}")

    def _double(self, value: float) -> float:
        self._count(8)
        if value != value or value in (float("inf"), float("-inf")):
            raise ExpressionFailed("expression_not_json", self._source, "its value is no finite number")
        return value

    def _list(self, items: Any) -> list[Any]:
        self._count(2 + len(items))
        return [self.read(item) for item in items]

    def _map(self, items: Any) -> dict[str, Any]:
        result = {}
        for key, item in items.items():
            if not isinstance(key, str):
                raise ExpressionFailed("expression_not_json", self._source, "keys of objects are text")
            self._count(len(key) + 4)
            result[key] = self.read(item)
        return result

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > EXPRESSION_RESULT_MAX_BYTES:
            raise ExpressionFailed("expression_too_large", self._source, "its value is too large")


def rfc3339(instant: datetime) -> str:
    """RFC 3339 in UTC, with as many fractional digits as it needs."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _duration(span: timedelta) -> str:
    seconds = span.days * 86_400 + span.seconds
    if not span.microseconds:
        return f"{seconds}s"
    total = seconds * 1_000_000 + span.microseconds
    sign, total = ("-", -total) if total < 0 else ("", total)
    return f"{sign}{total // 1_000_000}.{total % 1_000_000:06d}".rstrip("0") + "s"
