"""The messages of the two queues (architecture.md 4). Items and messages of the version before are read too.

An unknown version or type is a failure of its record: it is received again (a newer function may know it during a
deployment) and ends in the dead-letter queue, where an alarm shows it. Acknowledging it would lose it in silence.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from casegraph.errors import CasegraphError


class JobMalformed(CasegraphError):
    """The message is no job of a known version."""

    default_code = "job_malformed"


class _Job(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1]
    job_id: str
    run_id: str


J = TypeVar("J", bound=_Job)


class AdvanceRun(_Job):
    """A hint that a run may be due."""

    type: Literal["advance_run"]


class DeliverEffect(_Job):
    """A hint that an effect (`<step>#<n>`) may be due."""

    type: Literal["deliver_effect"]
    effect_id: str


def parse_advance_run(body: str) -> AdvanceRun:
    """A message of the execute queue. Raises `JobMalformed`."""
    return _parse(AdvanceRun, body)


def parse_deliver_effect(body: str) -> DeliverEffect:
    """A message of the dispatch queue. Raises `JobMalformed`."""
    return _parse(DeliverEffect, body)


def _parse(model: type[J], body: str) -> J:
    try:
        return model.model_validate_json(body)
    except ValidationError as exc:
        fields = ", ".join(str(error["loc"]) for error in exc.errors(include_input=False))
        raise JobMalformed(f"not a {model.__name__} message: {fields}") from exc
