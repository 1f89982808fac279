"""`cases/*.yaml`: what happens to one run of a workflow, and what must come of it (docs/reference/cases.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from casegraph.authoring.durations import seconds_of
from casegraph.authoring.files import Folder
from casegraph.authoring.places import Origin
from casegraph.authoring.problems import SourceProblem
from casegraph.domain.graph.problem import pointer

CASES = "cases"
JsonObject = dict[str, Any]
Text = Annotated[str, StringConstraints(min_length=1)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Answer(_Model):
    """What a component answers: a result (by a port of its own, if it declares some), or a failure's code: `error` for
    good, `retry` when it may be tried again."""

    result: Any = None
    port: Text = "success"
    error: Text | None = None
    retry: Text | None = None

    @property
    def failure(self) -> str | None:
        """The code of a failure."""
        return self.error or self.retry


class Report(_Model):
    """A report as it comes in."""

    content: JsonObject
    subject: Text = "subject-1"


class Complete(_Model):
    """A person takes the open task of a node and answers it. refused: the code with which it must be refused."""

    complete: Text
    by: Text = "reviewer-1"
    response: JsonObject
    refused: Text | None = None


class Event(_Model):
    """An event comes: to the run, or (`by_key`) to whichever run waits for its type and key."""

    event: Text
    key: str = ""
    by_key: bool = False
    payload: Any = None
    event_id: Text | None = None


class NextReport(_Model):
    """A further report; it joins the run when its subject is the same. merged: whether it must."""

    report: Report
    merged: bool = True


class Wait(_Model):
    """Time passes."""

    wait: Text

    @model_validator(mode="after")
    def _is_a_duration(self) -> Wait:
        if seconds_of(self.wait) is None:
            raise ValueError(f"{self.wait!r} is no duration; write it like +3d or +90s")
        return self


class Control(_Model):
    """An operator pauses, resumes or ends the run."""

    operator: Literal["pause", "resume", "terminate"]


Step = Complete | Event | NextReport | Wait | Control
_BY_FIELD: dict[str, type[_Model]] = {
    "complete": Complete,
    "event": Event,
    "report": NextReport,
    "wait": Wait,
    "operator": Control,
}


class Expected(_Model):
    """What must come of it. state: the run's; path: `node` or `node.port`, in the order of finishing, without the
    start; code: of the end that was reached; waiting: nodes where it waits; decisions, effects: all of them in order,
    each with at least these fields; output: at least this of a node's latest output."""

    state: Literal["succeeded", "failed", "timed_out", "terminated", "waiting", "attention", "paused"] = (
        "succeeded"
    )
    code: Text | None = None
    path: list[Text] | None = None
    waiting: list[Text] | None = None
    attention: list[Text] | None = None
    decisions: list[JsonObject] | None = None
    effects: list[JsonObject] | None = None
    output: dict[str, Any] = Field(default_factory=dict)


class Case(_Model):
    """One case. input starts a run by itself; report brings it in through a queue that merges by subject."""

    about: str = ""
    input: Any = Field(default_factory=dict)
    report: Report | None = None
    components: dict[str, Answer | list[Answer]] = Field(default_factory=dict)
    connectors: dict[str, Any] = Field(default_factory=dict)
    steps: list[Any] = Field(default_factory=list)
    expect: Expected

    def script(self) -> Iterator[Step]:
        """The steps, parsed."""
        for step in self.steps:
            yield _step(step)


@dataclass(frozen=True)
class CaseFile:
    """A case and where its parts stand; case None: the problems of `folder` say why."""

    name: str
    file: str
    case: Case | None
    folder: Folder

    def problem(self, code: str, where: str, message: str, hint: str = "") -> SourceProblem:
        """A problem at a pointer of the case (`/steps/2`)."""
        place = self.folder.places.find(f"/{CASES}/{self.name}{where}")
        assert place is not None
        return SourceProblem(code, place, message, hint, where)


def read_cases(folder: Folder) -> list[CaseFile]:
    """Every case of a workflow folder, by name. Problems of the files are added to the folder's."""
    found = []
    for path in sorted((folder.path / CASES).glob("*.y*ml")):
        file = f"{CASES}/{path.name}"
        known = len(folder.problems)
        source = folder.source(file)
        folder.places.put(f"/{CASES}/{path.stem}", Origin(file, ()))
        read = CaseFile(path.stem, file, None, folder)
        case = None
        if len(folder.problems) == known:
            case, problems = _parsed(source.value, read)
            folder.problems += problems
        found.append(CaseFile(path.stem, file, case, folder))
    return found


def _parsed(value: Any, file: CaseFile) -> tuple[Case | None, list[SourceProblem]]:
    problems: list[SourceProblem] = []
    case: Case | None = None
    try:
        case = Case.model_validate(value)
    except ValidationError as exc:
        problems += _problems(exc, file, "")
    for index, step in enumerate(value.get("steps") or () if isinstance(value, dict) else ()):
        try:
            _step(step)
        except ValidationError as exc:
            problems += _problems(exc, file, f"/steps/{index}")
        except ValueError as exc:
            problems.append(file.problem("invalid_value", f"/steps/{index}", str(exc)))
    return (None if problems else case), problems


def _step(step: Any) -> Any:
    """One step. Raises `ValueError` (pydantic's included)."""
    if isinstance(step, str) and step.startswith("+"):
        return Wait(wait=step[1:])
    names = [name for name in _BY_FIELD if isinstance(step, dict) and name in step]
    if not names:
        raise ValueError(f"a step is a span of time (+3d) or has one of: {', '.join(_BY_FIELD)}")
    return _BY_FIELD[names[0]].model_validate(step)


def _problems(error: ValidationError, file: CaseFile, where: str) -> Iterator[SourceProblem]:
    codes = {"extra_forbidden": "unknown_field", "missing": "missing_field"}
    for detail in error.errors(include_url=False, include_context=False):
        loc = [part for part in detail["loc"] if part not in ("Answer", "list[Answer]")]
        code = codes.get(detail["type"], "invalid_value")
        message = detail["msg"].removeprefix("Value error, ")
        if code == "unknown_field":
            message = f"there is no field {str(loc[-1])!r} here"
        elif code == "missing_field":
            message = f"field {str(loc[-1])!r} is missing"
        yield file.problem(code, where + pointer(*loc), message)
