"""human_task: a person fills a form; its outcome is the port."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, StringConstraints

from casegraph.domain.burst.knowledge import CallResult
from casegraph.domain.graph.document import Model, Name
from casegraph.domain.head import row_key
from casegraph.domain.ids import public_id
from casegraph.domain.instants import rfc3339
from casegraph.domain.nodes.actions import Action, Done, Row, Wait
from casegraph.domain.nodes.kind import INSTANT, TEXT, Bundle, ConfigProblem, NodeKind, Schema, record
from casegraph.domain.signal import Resumption, TaskDecided, TimedOut
from casegraph.domain.task import expire, opened, task_sk
from casegraph.domain.writes import Item
from casegraph.limits import FORM_MAX_OUTCOMES

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


PORT_PATTERN = r"^[a-z][a-z0-9_]{0,99}$"
OWN_PORTS = ("timeout", "error")


class Config(Model):
    """queue_id: where the task waits; form: its name in `bundle.forms`; priority: higher is handed out first;
    heartbeat_seconds: how long a claim lasts that is not renewed (15 minutes when not given)."""

    queue_id: Name
    form: Name
    title: Annotated[str, StringConstraints(max_length=200)] = ""
    priority: Annotated[int, Field(ge=0, le=100)] = 50
    heartbeat_seconds: Annotated[float, Field(ge=10, le=86_400, allow_inf_nan=False)] | None = None


def form_of(config: Config, bundle: Bundle) -> dict[str, Any] | None:
    """The form's JSON Schema, or None when the bundle has none of that name."""
    form = bundle.get("forms", {}).get(config.form)
    return form if isinstance(form, dict) else None


def outcomes(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """What the form lets a person choose as `outcome`; empty when the form does not say."""
    properties = (form_of(config, bundle) or {}).get("properties")
    outcome = properties.get("outcome") if isinstance(properties, dict) else None
    values = outcome.get("enum") if isinstance(outcome, dict) else None
    return tuple(v for v in values if isinstance(v, str)) if isinstance(values, list) else ()


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """One per outcome of the form, then `timeout`."""
    return (*dict.fromkeys(outcomes(config, bundle)), "timeout")


def output(config: Config, bundle: Bundle) -> Schema:
    """`outcome`, `response` (the filled form), `completed_by`, `completed_at`, `submissions`."""
    return record(
        {
            "outcome": {"type": "string", "enum": list(outcomes(config, bundle))},
            "response": form_of(config, bundle) or {},
            "completed_by": TEXT,
            "completed_at": INSTANT,
            "submissions": {"type": "array", "items": {}},
        }
    )


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """The form is there, and its outcomes can be ports."""
    where = "/config/form"
    if form_of(config, bundle) is None:
        names = ", ".join(sorted(bundle.get("forms", {}))) or "none"
        return [ConfigProblem(where, "form_missing", f"there is no form {config.form!r}", f"forms: {names}")]
    names_ = outcomes(config, bundle)
    if not names_:
        text = f"form {config.form!r} has no outcomes, so the task would have no ports"
        hint = (
            'give it "properties": {"outcome": {"enum": ["accept", "reject"]}} and list outcome in "required"'
        )
        return [ConfigProblem(where, "form_without_outcome", text, hint)]
    return _outcome_problems(config, bundle, names_)


def _outcome_problems(config: Config, bundle: Bundle, names: tuple[str, ...]) -> list[ConfigProblem]:
    found = []
    if len(names) > FORM_MAX_OUTCOMES:
        text = f"form {config.form!r} has {len(names)} outcomes; at most {FORM_MAX_OUTCOMES} can be ports"
        found.append(ConfigProblem("/config/form", "too_many_outcomes", text))
    if "outcome" not in (form_of(config, bundle) or {}).get("required", []):
        text = f"form {config.form!r} does not require outcome, so a response could choose no port"
        found.append(
            ConfigProblem("/config/form", "outcome_not_required", text, 'add "outcome" to "required"')
        )
    for name in names:
        if name in OWN_PORTS:
            text = f"form {config.form!r}: an outcome may not be called {name!r}: that is a port of its own"
            found.append(ConfigProblem("/config/form", "outcome_reserved", text))
        elif not re.fullmatch(PORT_PATTERN, name):
            text = f"form {config.form!r}: outcome {name!r} cannot be a port name"
            hint = "lower case letters, digits and _, starting with a letter, at most 100 characters"
            found.append(ConfigProblem("/config/form", "outcome_not_a_name", text, hint))
    return found


def enter(visit: Visit) -> Action:
    """Open the task; its row opens with the wait, in the same commit."""
    config = visit.node.config
    head = visit.run
    item: Item = {
        "run_id": visit.run_id,
        "installation_id": head.installation_id,
        "step_id": visit.step_id,
        "task_id": public_id(visit.run_id, visit.step_id),
        "token_key": visit.place.key,
        "queue_id": config.queue_id,
        "priority": config.priority,
        "form": config.form,
        "digest": head.digest,
        "workflow_key": head.workflow_key,
        "created_at": visit.now,
        **visit.kept("input", visit.input()),
    }
    period = config.heartbeat_seconds
    optional = {
        "claim_milliseconds": None if period is None else round(period * 1000),
        "title": config.title or None,
        "report_id": head.report_id,
        "due_at": visit.due_at,
        "timeout_at": visit.timeout_at,
    }
    item.update({name: value for name, value in optional.items() if value is not None})
    detail: dict[str, Any] = {name: item[name] for name in ("queue_id", "due_at") if name in item}
    return Wait("task", visit.timeout_at, (Row(task_sk(visit.step_id), opened(item)),), detail=detail)


def resume(visit: Visit, signal: Resumption | CallResult) -> Action:
    """The person's outcome is the port; the deadline expires the task in the same commit."""
    if isinstance(signal, TimedOut):
        expired = expire(row_key(visit.run_id, task_sk(visit.step_id)), visit.now)
        return Done("timeout", {"timed_out": True}, "timed_out", writes=(expired,))
    assert isinstance(signal, TaskDecided)
    task = signal.row
    response = visit.stored(task, "response")
    output = {
        "outcome": task["outcome"],
        "response": response,
        "completed_by": task["completed_by"],
        "completed_at": rfc3339(task["completed_at"]),
        "submissions": [
            {"by": task["completed_by"], "at": rfc3339(task["completed_at"]), "outcome": task["outcome"]}
        ],
    }
    return Done(task["outcome"], output)


KIND = NodeKind(
    name="human_task",
    config=Config,
    ports=ports,
    output=output,
    problems=problems,
    waits=True,
    needs_timeout=True,
    opens_rows=True,
    enter=enter,
    resume=resume,
)
