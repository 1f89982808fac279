"""What a node kind is: its configuration, ports, typed output and expressions, and what the walk calls.

Adding a kind is one module with a `KIND` and one line in `registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit
    from casegraph.domain.nodes.actions import Action

Bundle = Mapping[str, Any]
Schema = dict[str, Any]
Expected = Literal["bool", "string", "number", "timestamp", "list", "any"]


@dataclass(frozen=True, slots=True)
class ExpressionUse:
    """A CEL expression in a node: where it stands (JSON pointer from the node), its text and what it must give.

    roots: what it may name besides the context that every expression has."""

    pointer: str
    source: str
    expected: Expected
    roots: tuple[str, ...] = ("node_input",)


@dataclass(frozen=True, slots=True)
class Input:
    """A name that a kind reads from the node's `input_mapping`."""

    name: str
    expected: Expected = "any"
    required: bool = False


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """What a kind finds wrong in its own configuration: pointer from the node, short code, text, hint."""

    pointer: str
    code: str
    message: str
    hint: str = ""


def no_ports(config: Any, bundle: Bundle) -> tuple[str, ...]:
    """A kind that no edge leaves."""
    return ()


def no_output(config: Any, bundle: Bundle) -> Schema | None:
    """A kind whose steps record no output, so that no expression may read them."""
    return None


def no_expressions(config: Any) -> list[ExpressionUse]:
    """A kind without expressions in its configuration."""
    return []


def any_input(config: Any, bundle: Bundle) -> tuple[Input, ...] | None:
    """A kind that takes whatever its `input_mapping` names."""
    return None


def no_problems(config: Any, bundle: Bundle) -> list[ConfigProblem]:
    """A kind whose configuration model says everything."""
    return []


def no_timeout(config: Any) -> bool:
    """A kind whose waits, if any, do not depend on the configuration."""
    return False


def _never_entered(visit: Visit) -> Action:
    raise NotImplementedError(f"{visit.node.kind.name} has no enter")


def _never_resumed(visit: Visit, signal: Any) -> Action:
    raise NotImplementedError(f"{visit.node.kind.name} has no resume")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """One node kind. Static functions take the parsed configuration and the bundle.

    ports: every port that an edge may leave by, in order (a fork's branch indexes follow it);
    optional_ports: those that need no edge; output: JSON Schema of the typed output (None: no output);
    port_outputs: outputs of ports that differ from `output` (`timeout`, `error`);
    expressions: CEL in the configuration; inputs: the names read from `input_mapping` (None: any);
    waits: may stand open; needs_timeout: must declare `timeout_seconds` and has a `timeout` port; timeout_if: so does
    one with such a configuration;
    effect: does something outside through the outbox; opens_rows: a wait of it has rows to close;
    pure: neither waits nor calls; enter, resume: what the walk calls.
    """

    name: str
    config: type[BaseModel]
    ports: Callable[[Any, Bundle], tuple[str, ...]] = no_ports
    optional_ports: frozenset[str] = frozenset()
    output: Callable[[Any, Bundle], Schema | None] = no_output
    expressions: Callable[[Any], list[ExpressionUse]] = no_expressions
    inputs: Callable[[Any, Bundle], tuple[Input, ...] | None] = any_input
    problems: Callable[[Any, Bundle], list[ConfigProblem]] = no_problems
    waits: bool = False
    needs_timeout: bool = False
    timeout_if: Callable[[Any], bool] = no_timeout
    effect: bool = False
    opens_rows: bool = False
    pure: bool = False
    retries: bool = False
    enter: Callable[[Visit], Action] = _never_entered
    resume: Callable[[Visit, Any], Action] = _never_resumed

    def times_out(self, config: Any) -> bool:
        """Whether a node of this kind with this configuration must declare `timeout_seconds`."""
        return self.needs_timeout or (config is not None and self.timeout_if(config))

    def required_ports(self, config: Any, bundle: Bundle) -> tuple[str, ...]:
        """The ports that must have an edge."""
        return tuple(port for port in self.ports(config, bundle) if port not in self.optional_ports)

    def output_schema(self, config: Any, bundle: Bundle) -> Schema | None:
        """JSON Schema of what `nodes.<id>` gives after an ordinary port; None: steps of this kind have no output."""
        return self.output(config, bundle)

    def port_output(self, config: Any, bundle: Bundle, port: str) -> Schema | None:
        """JSON Schema of what `nodes.<id>` gives after the node was left by `port` (architecture.md 6.1)."""
        if port == "timeout" and self.times_out(config):
            return TIMED_OUT
        if port == "error" and "error" in self.optional_ports:
            return FAILED
        return self.output(config, bundle)


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """A closed object schema."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


TEXT: Schema = {"type": "string"}
INSTANT: Schema = {"type": "string", "format": "date-time"}
TIMED_OUT: Schema = record({"timed_out": {"type": "boolean"}})
FAILED: Schema = record({"error": record({"code": TEXT, "attempts": {"type": "integer"}})})
