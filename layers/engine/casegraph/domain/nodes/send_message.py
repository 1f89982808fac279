"""send_message: a template of the bundle, filled from the mapped input, sent through the outbox."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from casegraph.domain.burst.knowledge import CallResult
from casegraph.domain.effect import new_effect
from casegraph.domain.graph.document import Model, Name
from casegraph.domain.nodes.actions import Action, Done, Failed, NeedsAttention, StayWaiting, Wait
from casegraph.domain.nodes.kind import TEXT, Bundle, ConfigProblem, NodeKind, Schema, record
from casegraph.domain.signal import EffectSettled, Resumption
from casegraph.limits import MAX_EFFECT_ATTEMPTS

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


class Config(Model):
    """connector_id: who sends; template: its name in `bundle.messages`; recovery: what a second attempt may do when
    the outcome of the first is unknown (architecture.md 5)."""

    connector_id: Name
    template: Name
    recovery: Literal["idempotent", "lookup", "manual"]


def template_of(config: Config, bundle: Bundle) -> dict[str, Any] | None:
    """The message template, `{subject, body, language}`, or None when the bundle has none of that name."""
    template = bundle.get("messages", {}).get(config.template)
    return template if isinstance(template, dict) else None


def placeholders(template: dict[str, Any]) -> tuple[str, ...]:
    """The names that a template's subject and body ask for, in order."""
    text = f"{template.get('subject', '')}\n{template.get('body', '')}"
    return tuple(dict.fromkeys(PLACEHOLDER.findall(text)))


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`sent`, `error`."""
    return ("sent", "error")


def output(config: Config, bundle: Bundle) -> Schema:
    """`effect_id`."""
    return record({"effect_id": TEXT})


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """The template is there."""
    if template_of(config, bundle) is not None:
        return []
    names = ", ".join(sorted(bundle.get("messages", {}))) or "none"
    text = f"there is no message template {config.template!r}"
    return [ConfigProblem("/config/template", "template_missing", text, f"messages: {names}")]


def enter(visit: Visit) -> Action:
    """Put the message into the outbox: the effect's row opens with the wait, in the same commit."""
    config = visit.node.config
    values = visit.input()
    template = template_of(config, visit.draft.graph.bundle) or {}
    payload = {
        "to": values.get("to"),
        "template": config.template,
        "language": template.get("language", ""),
        "subject": fill(template.get("subject", ""), values),
        "body": fill(template.get("body", ""), values),
    }
    retry = visit.node.node.retry
    attempts = MAX_EFFECT_ATTEMPTS if retry is None else min(MAX_EFFECT_ATTEMPTS, retry.max_attempts)
    row = new_effect(
        run_id=visit.run_id,
        step=visit.step_id,
        token_key=visit.place.key,
        connector_id=config.connector_id,
        operation="send_message",
        recovery=config.recovery,
        payload=visit.kept("payload", payload),
        now=visit.now,
        max_attempts=attempts,
    )
    return Wait("effect", None, (row,), detail={"connector_id": config.connector_id})


def resume(visit: Visit, signal: Resumption | CallResult) -> Action:
    """What became of it; an unknown outcome stops this branch until an operator resolves it."""
    assert isinstance(signal, EffectSettled)
    effect = signal.row
    match effect["state"]:
        case "applied":
            return Done("sent", {"effect_id": effect["effect_id"]})
        case "rejected" | "cancelled":
            return Failed(effect.get("code") or "effect_cancelled")
        case "ambiguous":
            return NeedsAttention("effect_ambiguous")
        case _:
            return StayWaiting()


def fill(text: str, values: Mapping[str, Any]) -> str:
    """A template text with its `{{name}}` placeholders filled; an absent value is empty."""
    return PLACEHOLDER.sub(lambda found: _shown(values.get(found.group(1))), text)


def _shown(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


KIND = NodeKind(
    name="send_message",
    config=Config,
    ports=ports,
    optional_ports=frozenset({"error"}),
    output=output,
    problems=problems,
    waits=True,
    effect=True,
    opens_rows=True,
    retries=True,
    enter=enter,
    resume=resume,
)
