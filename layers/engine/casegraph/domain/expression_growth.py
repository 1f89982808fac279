"""How much memory an expression may take, before it runs.

CEL copies text each time it is read from the context, `map` and `filter` copy their result in each round, and nothing
is freed before the end (measured: a loop of 9,000 that reads a text of 100 KB, or merely builds a list of 9,000, takes
1.3 GB; `replace` multiplies). The iteration budget does not bound that, so this does: a sum
over the checked tree, with the sizes of the values that really stand in the context.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casegraph.domain.expression_tree import Call, Field, Literal, Loop, Name, Tree, chain
from casegraph.limits import EXPRESSION_MAX_ITERATIONS

_SCALAR_BYTES = 16.0
# Measured: building a list of n in a loop takes 16 bytes times n squared.
_LIST_COPY_BYTES = 16.0
# Their result does not grow with their operands.
_SMALL = {
    "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_&&_", "_||_", "!_", "@in", "_-_", "_*_", "_/_", "_%_", "-_",
    "size", "contains", "startsWith", "endsWith", "matches", "indexOf", "lastIndexOf", "hasValue", "int", "double",
    "uint", "bool", "timestamp", "duration", "type", "@not_strictly_false", "not_strictly_false",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Size:
    """mean: bytes of a value, averaged over the rounds of the loops around it; top: bytes at most in one round;
    count: elements, averaged."""

    mean: float
    top: float
    count: float | None = None

    @property
    def elements(self) -> float:
        """How many rounds a loop over the value takes: an element has at least two bytes."""
        rounds = self.mean / 2 + 1 if self.count is None else self.count
        return min(rounds, EXPRESSION_MAX_ITERATIONS)


_NOTHING = Size(_SCALAR_BYTES, _SCALAR_BYTES)


def may_grow(tree: Tree) -> bool:
    """Whether the expression has loops or functions that multiply, so that its growth has to be computed."""
    match tree:
        case Loop():
            return True
        case Call():
            return tree.function in ("replace", "join", "split", "format") or any(map(may_grow, tree.args))
        case Field():
            return may_grow(tree.operand)
    return False


def bytes_allocated(tree: Tree, context: Mapping[str, Any]) -> float:
    """An upper estimate of the bytes that evaluating `tree` on `context` allocates."""
    meter = _Meter(context)
    meter.walk(tree, {}, 1.0)
    return meter.allocated


def json_bytes(value: Any) -> int:
    """About the size of a JSON value's text."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict):
        return 2 + sum(len(key) + 4 + json_bytes(item) for key, item in value.items())
    if isinstance(value, list):
        return 2 + sum(1 + json_bytes(item) for item in value)
    return 8


class _Meter:
    def __init__(self, context: Mapping[str, Any]) -> None:
        self._context = context
        self.allocated = 0.0

    def walk(self, tree: Tree, variables: Mapping[str, Size], rounds: float) -> Size:
        size = self._size(tree, variables, rounds)
        self.allocated += rounds * size.mean
        return size

    def _size(self, tree: Tree, variables: Mapping[str, Size], rounds: float) -> Size:
        match tree:
            case Literal():
                length = float(len(tree.value)) if isinstance(tree.value, str) else _SCALAR_BYTES
                return Size(length, length)
            case Name() if tree.name in variables:
                return variables[tree.name]
            case Field() if (inner := self._of_variable(tree, variables)) is not None:
                return inner
            case Name() | Field():
                return self._of_context(tree, variables, rounds)
            case Call():
                return self._of_call(tree, variables, rounds)
            case Loop():
                return self._of_loop(tree, variables, rounds)

    def _of_variable(self, tree: Field, variables: Mapping[str, Size]) -> Size | None:
        access = chain(tree)
        if access is None or access.root not in variables:
            return None
        whole = variables[access.root]
        return Size(whole.mean, whole.top)

    def _of_context(self, tree: Tree, variables: Mapping[str, Size], rounds: float) -> Size:
        access = chain(tree)
        if access is None:
            assert isinstance(tree, Field)
            whole = self.walk(tree.operand, variables, rounds)
            return Size(whole.mean, whole.top)
        value: Any = self._context.get(access.root)
        for name in access.path:
            value = value.get(name) if isinstance(value, dict) else None
        size = float(json_bytes(value))
        return Size(size, size, float(len(value)) if isinstance(value, list | dict) else None)

    def _of_call(self, call: Call, variables: Mapping[str, Size], rounds: float) -> Size:
        sizes = [self.walk(arg, variables, rounds) for arg in call.args]
        if call.function in _SMALL:
            return _NOTHING
        mean, top = sum(s.mean for s in sizes), sum(s.top for s in sizes)
        if call.function == "replace" and len(sizes) >= 3:
            top = sizes[0].top * (1 + sizes[2].top)
            return Size(top, top)
        if call.function == "join" and len(sizes) == 2:
            glue = sizes[0].elements * sizes[1].mean
            return Size(sizes[0].mean + glue, sizes[0].top + EXPRESSION_MAX_ITERATIONS * sizes[1].top)
        if call.function == "split":
            return Size(mean * _SCALAR_BYTES, top * _SCALAR_BYTES, mean + 1)
        return Size(mean, top, float(len(sizes)) if call.function == "[]" else None)

    def _of_loop(self, loop: Loop, variables: Mapping[str, Size], rounds: float) -> Size:
        over = self.walk(loop.range, variables, rounds)
        times = over.elements
        element = Size(over.mean / max(times, 1.0), over.top)
        inner = {**variables, **dict.fromkeys(loop.variables, element), loop.accumulator: Size(0.0, 0.0)}
        self.walk(loop.init, variables, rounds)
        self.walk(loop.condition, inner, rounds * times)
        step = self.walk(loop.step, inner, rounds * times)
        if isinstance(loop.init, Call) and loop.init.function == "[]":
            self.allocated += rounds * _LIST_COPY_BYTES * times * times
        return Size(times * step.mean, times * step.top, times)
