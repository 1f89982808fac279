"""The checked expression as a tree: which context roots, nodes and paths an expression reads.

`Expression.serialize()` gives a `cel.expr.CheckedExpr`; the CEL wheel ships no message classes for it, so the part that
is read here is described below (field numbers: cel-spec `syntax.proto` and `checked.proto`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

_TEXT, _BOOL, _INT64, _INT32, _BYTES = 9, 8, 3, 5, 12
_DESCRIPTION: dict[str, list[tuple[int, str, int | str, bool]]] = {
    "CheckedExpr": [(4, "expr", "Expr", False)],
    "Expr": [
        (2, "id", _INT64, False),
        (3, "const_expr", "Constant", False),
        (4, "ident_expr", "Ident", False),
        (5, "select_expr", "Select", False),
        (6, "call_expr", "Call", False),
        (7, "list_expr", "CreateList", False),
        (8, "struct_expr", "CreateStruct", False),
        (9, "comprehension_expr", "Comprehension", False),
    ],
    "Constant": [(3, "int64_value", _INT64, False), (6, "string_value", _TEXT, False)],
    "Ident": [(1, "name", _TEXT, False)],
    "Select": [(1, "operand", "Expr", False), (2, "field", _TEXT, False), (3, "test_only", _BOOL, False)],
    "Call": [(1, "target", "Expr", False), (2, "function", _TEXT, False), (3, "args", "Expr", True)],
    "CreateList": [(1, "elements", "Expr", True)],
    "CreateStruct": [(2, "entries", "Entry", True)],
    "Entry": [(3, "map_key", "Expr", False), (4, "value", "Expr", False)],
    "Comprehension": [
        (1, "iter_var", _TEXT, False),
        (2, "iter_range", "Expr", False),
        (3, "accu_var", _TEXT, False),
        (4, "accu_init", "Expr", False),
        (5, "loop_condition", "Expr", False),
        (6, "loop_step", "Expr", False),
        (7, "result", "Expr", False),
        (8, "iter_var2", _TEXT, False),
    ],
}


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; text and whole numbers keep their value."""

    value: str | int | None


@dataclass(frozen=True, slots=True)
class Name:
    """A context root or a variable of a loop."""

    name: str


@dataclass(frozen=True, slots=True)
class Field:
    """`operand.field`, `operand["field"]`; optional: `.?` or `[?]`; test: inside `has()`."""

    operand: Tree
    field: str
    optional: bool = False
    test: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function, operator, list or map literal (`[]`, `{}`) with its operands; the target is the first."""

    function: str
    args: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro such as `map`, `filter`, `exists`."""

    variables: tuple[str, ...]
    range: Tree
    accumulator: str
    init: Tree
    condition: Tree
    step: Tree
    result: Tree


Tree = Literal | Name | Field | Call | Loop


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path. optional: this or an earlier step is optional, so that a missing key is no error."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """A path read from a context root, as far as its names are constants. tested: the last step stands in `has()`."""

    root: str
    steps: tuple[Step, ...]
    tested: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the steps."""
        return tuple(step.name for step in self.steps)


def read_tree(serialized: bytes) -> Tree:
    """The tree of a serialized checked expression."""
    wrapper = any_pb2.Any.FromString(serialized)
    return _convert(_messages()["CheckedExpr"].FromString(wrapper.value).expr)


def accesses(tree: Tree) -> tuple[Access, ...]:
    """Every path that the expression reads from a context root, in order of appearance."""
    return tuple(_accesses(tree, frozenset()))


def chain(tree: Tree, bound: frozenset[str] = frozenset()) -> Access | None:
    """The access that `tree` itself is, if it is a path from a root."""
    steps: list[Step] = []
    node, tested = tree, isinstance(tree, Field) and tree.test
    while isinstance(node, Field):
        steps.append(Step(node.field, node.optional))
        node = node.operand
    if not isinstance(node, Name) or node.name in bound:
        return None
    safe, path = False, []
    for step in reversed(steps):
        safe = safe or step.optional
        path.append(Step(step.name, safe))
    return Access(node.name, tuple(path), tested)


def guards(tree: Tree) -> frozenset[tuple[str, ...]]:
    """The paths (root first) whose presence the expression tests, with `has()` or `.hasValue()`."""
    return frozenset(_guards(tree))


def _guards(tree: Tree) -> Iterator[tuple[str, ...]]:
    asked = tree.args[0] if isinstance(tree, Call) and tree.function == "hasValue" and tree.args else tree
    access = chain(asked)
    if access is not None and (access.tested or asked is not tree):
        yield (access.root, *access.path)
    for part in _parts(tree):
        yield from _guards(part)


def _parts(tree: Tree) -> tuple[Tree, ...]:
    match tree:
        case Field():
            return (tree.operand,)
        case Call():
            return tree.args
        case Loop():
            return (tree.range, tree.init, tree.condition, tree.step, tree.result)
    return ()


def _accesses(tree: Tree, bound: frozenset[str]) -> Iterator[Access]:
    own = chain(tree, bound)
    if own is not None:
        yield own
        return
    match tree:
        case Field():
            yield from _accesses(tree.operand, bound)
        case Call():
            for arg in tree.args:
                yield from _accesses(arg, bound)
        case Loop():
            yield from _accesses(tree.range, bound)
            yield from _accesses(tree.init, bound)
            inner = bound | {*tree.variables, tree.accumulator}
            for part in (tree.condition, tree.step):
                yield from _accesses(part, inner)
            yield from _accesses(tree.result, bound | {tree.accumulator})


def _convert(expr: Any) -> Tree:
    match _kind(expr):
        case "const_expr":
            return Literal(_constant(expr.const_expr))
        case "ident_expr":
            return Name(expr.ident_expr.name.removeprefix("."))
        case "select_expr":
            select = expr.select_expr
            return Field(_convert(select.operand), select.field, test=select.test_only)
        case "call_expr":
            return _call(expr.call_expr)
        case "list_expr":
            return Call("[]", tuple(_convert(e) for e in expr.list_expr.elements))
        case "struct_expr":
            return Call("{}", tuple(_entries(expr.struct_expr.entries)))
        case "comprehension_expr":
            return _loop(expr.comprehension_expr)
    return Literal(None)


def _kind(expr: Any) -> str:
    return next((field.name for field, _ in expr.ListFields() if field.name != "id"), "")


def _constant(constant: Any) -> str | int | None:
    for field, value in constant.ListFields():
        if field.name in ("string_value", "int64_value"):
            return value  # type: ignore[no-any-return]
    return None


def _call(call: Any) -> Tree:
    target = [_convert(call.target)] if call.HasField("target") else []
    args = (*target, *(_convert(a) for a in call.args))
    named = args[1].value if len(args) == 2 and isinstance(args[1], Literal) else None
    if isinstance(named, str) and call.function in ("_?._", "_[?_]", "_[_]"):
        return Field(args[0], named, optional=call.function != "_[_]")
    return Call(call.function, args)


def _entries(entries: Any) -> Iterator[Tree]:
    for entry in entries:
        if entry.HasField("map_key"):
            yield _convert(entry.map_key)
        yield _convert(entry.value)


def _loop(loop: Any) -> Loop:
    return Loop(
        variables=tuple(name for name in (loop.iter_var, loop.iter_var2) if name),
        range=_convert(loop.iter_range),
        accumulator=loop.accu_var,
        init=_convert(loop.accu_init),
        condition=_convert(loop.loop_condition),
        step=_convert(loop.loop_step),
        result=_convert(loop.result),
    )


@cache
def _messages() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="casegraph/checked.proto", package="casegraph.checked", syntax="proto3"
    )
    for name, fields in _DESCRIPTION.items():
        message = file.message_type.add(name=name)
        for number, field_name, kind, repeated in fields:
            field = message.field.add(name=field_name, number=number, label=3 if repeated else 1)
            if isinstance(kind, str):
                field.type, field.type_name = cast(Any, 11), f".casegraph.checked.{kind}"
            else:
                field.type = cast(Any, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"casegraph.checked.{name}"))
        for name in _DESCRIPTION
    }
