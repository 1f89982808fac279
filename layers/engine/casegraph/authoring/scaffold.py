"""A new workflow folder that is valid, formatted and tested from its first minute."""

from __future__ import annotations

import re
from pathlib import Path

from casegraph.errors import Conflict, InvalidInput

_KEY = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")

_WORKFLOW = """\
# A person decides, the decision is recorded, and whoever asked is told. Change it: docs/reference/source-form.md
schema_version: 1
key: {key}
name: {title}
purpose: report
authority: assist                    # every action needs a person; messages go
input_schema: {{$ref: schemas/request.json}}
defaults:
  on_error: escalate                 # every `error` port that is not wired goes here
nodes:
  review:                            # its ports are the outcomes of the form, and timeout
    kind: human_task
    queue_id: {key}
    form: {{$ref: forms/review.json}}
    title: Decide
    due: 4h
    timeout: 1d
    with: {{text: =input.text}}        # `=` makes an expression; anything else is a literal
    next: {{timeout: escalate, '*': record}}
  record:
    kind: decision
    with:
      outcome: =nodes.review.outcome
      reason: =nodes.review.response.?note.orValue("")
  tell:                              # without `next`, a node leads to the one below it
    kind: send_message
    connector_id: mail
    recovery: idempotent
    with: {{template: outcome, to: =input.from, outcome: =nodes.review.outcome}}
    next: end
  escalate:
    kind: decision
    with: {{outcome: escalated, reason: nobody decided in time}}
  escalated: {{kind: end, terminal_code: escalated}}
"""
_REQUEST = """\
{
  "type": "object",
  "required": ["text", "from"],
  "properties": {
    "text": {"type": "string", "maxLength": 20000},
    "from": {"type": "string", "maxLength": 500}
  }
}
"""
_FORM = """\
{
  "type": "object",
  "title": "Decision",
  "required": ["outcome"],
  "additionalProperties": false,
  "properties": {
    "outcome": {"type": "string", "title": "Decision", "enum": ["accept", "decline"]},
    "note": {"type": "string", "title": "Why", "maxLength": 5000}
  }
}
"""
_MESSAGE = """\
{
  "language": "en",
  "subject": "Your request: our decision",
  "body": "We have looked at your request. Decision: {{outcome}}."
}
"""
_INPUT = "input: {text: Please have a look., from: someone@example.org}\n"
_CASES = {
    "accepted": f"""\
about: A person accepts within the day.
{_INPUT}steps:
  - +2h
  - complete: review
    by: reviewer-1
    response: {{outcome: accept, note: Fine.}}
expect:
  path: [review.accept, record, tell.sent, end]
  decisions: [{{outcome: accept, policies: []}}]
  effects: [{{connector: mail, template: outcome, to: someone@example.org}}]
""",
    "declined": f"""\
about: A person declines; the mail system refuses the message.
{_INPUT}connectors: {{mail: {{rejected: address_unknown}}}}
steps:
  - complete: review
    response: {{outcome: decline}}
expect:
  path: [review.decline, record, tell.error, escalate, escalated]
  code: escalated
""",
    "nobody": f"""\
about: Nobody decides; after a day it is escalated.
{_INPUT}steps: [+23h, +2h]
expect:
  path: [review.timeout, escalate, escalated]
  code: escalated
""",
}


def new_workflow(name: str, parent: Path) -> list[Path]:
    """Make the folder `parent/name`; returns the files written. Raises `InvalidInput("invalid_name")`,
    `Conflict("folder_exists")`."""
    if not _KEY.match(name):
        hint = "lower case letters, digits, - and _, starting with a letter, at most 64 characters"
        raise InvalidInput(f"{name!r} cannot be a workflow's key", "invalid_name", hint=hint)
    folder = parent / name
    if folder.exists():
        raise Conflict(f"{folder} is there already", "folder_exists", hint="choose another name")
    title = name.replace("-", " ").replace("_", " ").capitalize()
    texts = {
        "workflow.yaml": _WORKFLOW.format(key=name, title=title),
        "schemas/request.json": _REQUEST,
        "forms/review.json": _FORM,
        "messages/outcome.json": _MESSAGE,
        **{f"cases/{case}.yaml": text for case, text in _CASES.items()},
    }
    for file, text in texts.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [folder / file for file in texts]
