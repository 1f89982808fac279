"""Models of request bodies and queries: unknown fields are refused, every problem has a JSON pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from casegraph.domain.instants import parse_instant
from casegraph.errors import InvalidInput
from casegraph.limits import (
    CORRELATION_KEY_MAX_CHARACTERS,
    IDEMPOTENCY_KEY_MAX_CHARACTERS,
    PAGE_MAX_ITEMS,
    SUBJECT_KEY_MAX_CHARACTERS,
)

M = TypeVar("M", bound=BaseModel)


class Body(BaseModel):
    """Base of request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Query(BaseModel):
    """Base of query parameters: text that is parsed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Listing(Query):
    """Query of a list."""

    limit: Annotated[int, Field(ge=1, le=PAGE_MAX_ITEMS)] = 50
    cursor: str | None = None


def _instant(text: str) -> str:
    if parse_instant(text) is None:
        raise ValueError("must be an RFC 3339 instant with an offset, such as 2026-01-31T12:00:00Z")
    return text


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not hold the character NUL")
    return text


ObjectId = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}$")]
WorkflowKey = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
EventType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$", max_length=100)]
ReportId = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,99}$")]
SubjectKey = Annotated[
    str, StringConstraints(min_length=1, max_length=SUBJECT_KEY_MAX_CHARACTERS), AfterValidator(_storable)
]
CorrelationKey = Annotated[
    str, StringConstraints(min_length=1, max_length=CORRELATION_KEY_MAX_CHARACTERS), AfterValidator(_storable)
]
SenderKey = Annotated[
    str,
    StringConstraints(min_length=1, max_length=IDEMPOTENCY_KEY_MAX_CHARACTERS, pattern=r"^[\x21-\x7e]+$"),
]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Instant = Annotated[str, AfterValidator(_instant)]
Revision = Annotated[int, Field(ge=0)]
Generation = Annotated[int, Field(ge=1)]

_CODES = {"extra_forbidden": "unknown_field", "missing": "missing_field"}


def parse(model: type[M], value: Any, *, code: str) -> M:
    """The value as a model. Raises `InvalidInput(code)` with every problem: pointer, code and message, no values."""
    if not isinstance(value, Mapping):
        raise InvalidInput(
            "the body must be a JSON object", code, problems=[_problem("", "not_an_object", "")]
        )
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        problems = [
            _problem(
                "".join(f"/{_escaped(part)}" for part in error["loc"]),
                _CODES.get(error["type"], error["type"]),
                error["msg"],
            )
            for error in exc.errors(include_url=False, include_input=False, include_context=False)
        ]
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    first = problems[0]
    raise InvalidInput(f"{first['pointer'] or '/'}: {first['message']}{more}", code, problems=problems)


def _escaped(part: str | int) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def _problem(pointer: str, code: str, message: str) -> dict[str, str]:
    known = {"unknown_field": "there is no such field", "missing_field": "this field is required"}
    text = known.get(code, message or "must be a JSON object")
    return {"pointer": pointer, "code": code, "message": text}
