"""send_message: a template of the bundle, filled from the mapped input, sent through the outbox."""

from __future__ import annotations

import re
from typing import Any, Literal

from casegraph.domain.graph.document import Model, Name
from casegraph.domain.nodes.kind import TEXT, Bundle, ConfigProblem, NodeKind, Schema, record

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
)
