"""What each node kind's fields mean in the source form beyond a plain value: one line per kind.

A node's fields other than those of every node (`NODE_FIELDS`) are its kind's configuration, written flat.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from casegraph.domain.nodes.registry import KINDS

NODE_FIELDS = ("kind", "with", "next", "retry", "timeout", "due", "max_visits")
# Node fields of the canonical form, by the word that the source form has for them.
CANONICAL_FIELDS = {
    "timeout_seconds": "timeout",
    "due_seconds": "due",
    "for_seconds": "for",
    "input_mapping": "with",
    "deadline_seconds": "deadline",
}
RETRY_DURATIONS = {"initial_backoff": "initial_backoff_seconds", "max_backoff": "max_backoff_seconds"}
# A `next` that names one node means these ports of none: what went wrong is never led on without a word.
EXCEPTIONAL_PORTS = frozenset({"error", "timeout", "expired", "rejected", "failed", "unsatisfied"})


@dataclass(frozen=True, slots=True)
class Shorthand:
    """expressions: fields that hold CEL; durations: field by the configuration's name in seconds; parts: fields that
    name a part of the bundle (its section), by name or `$ref`; in_with: configuration that is written in `with`;
    instants: expression fields in which a literal stays as it is; nested: fields that are maps of such fields."""

    expressions: frozenset[str] = frozenset()
    durations: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    in_with: frozenset[str] = frozenset()
    instants: frozenset[str] = frozenset()
    nested: Mapping[str, Shorthand] = field(default_factory=dict)


SHORTHANDS: Mapping[str, Shorthand] = MappingProxyType(
    {
        "enrichment": Shorthand(
            nested={
                "poll": Shorthand(
                    expressions=frozenset({"until"}), durations={"interval": "interval_seconds"}
                )
            }
        ),
        "wait_for_event": Shorthand(expressions=frozenset({"correlation_key"})),
        "delay": Shorthand(durations={"for": "for_seconds"}, instants=frozenset({"until"})),
        "human_task": Shorthand(parts={"form": "forms"}, durations={"heartbeat": "heartbeat_seconds"}),
        "send_message": Shorthand(parts={"template": "messages"}, in_with=frozenset({"template"})),
    }
)
_PLAIN = Shorthand()


def shorthand_of(kind: object) -> Shorthand:
    """The shorthand of a kind; nothing special for most."""
    return SHORTHANDS.get(kind, _PLAIN) if isinstance(kind, str) else _PLAIN


def config_fields(kind: str) -> tuple[str, ...]:
    """The names that a kind's configuration has in the source form, in the model's order."""
    own = shorthand_of(kind)
    names = {canonical: source for source, canonical in own.durations.items()}
    fields = [field.alias or name for name, field in KINDS[kind].config.model_fields.items()]
    return tuple(names.get(name, name) for name in fields if name not in own.in_with)
