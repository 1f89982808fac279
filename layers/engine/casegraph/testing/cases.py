"""Cases run in virtual time on the real application code: `casegraph test`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema

from casegraph.application.ports import Applied, ComponentAnswer, Rejected, RetryLater, Unknown
from casegraph.authoring import case_file
from casegraph.authoring.case_file import Answer, CaseFile
from casegraph.authoring.problems import SourceProblem
from casegraph.domain.graph.problem import pointer
from casegraph.domain.place import node_of, parse_key
from casegraph.errors import CasegraphError, NodeFailed
from casegraph.testing.outside import Scripted, ScriptedConnector
from casegraph.testing.view import RunView, rows_of
from casegraph.testing.world import World

QUEUE = "cases"
# What the step of an end node has as port (domain/nodes/end.py has none that could be wired).
TERMINAL = "terminal"
Edge = tuple[str, str]


@dataclass
class CaseResult:
    """failures: empty when the case holds; edges: (node, port) that its run left by."""

    name: str
    failures: list[SourceProblem] = field(default_factory=list)
    edges: set[Edge] = field(default_factory=set)

    @property
    def passed(self) -> bool:
        """Whether everything came as expected."""
        return not self.failures


def run_case(file: CaseFile, bundle: Mapping[str, Any]) -> CaseResult:
    """Run one case on a canonical bundle. What does not hold is a failure with its place; nothing is raised for it."""
    assert file.case is not None
    result = CaseResult(file.name)
    player = _Player(file, bundle)
    try:
        player.play()
    except CaseFailed as failed:
        result.failures.append(file.problem(failed.code, failed.where, failed.message, failed.hint))
    if player.run_id is not None:
        view = player.world.run(player.run_id)
        result.edges = {(step.node, step.port) for step in view.steps if step.port is not None}
        if not result.failures:
            for where, message in compare(file.case.expect, view, player.outside(), player.kinds):
                result.failures.append(file.problem("case_failed", f"/expect{where}", message))
    return result


class CaseFailed(Exception):
    """A step of a case cannot be played."""

    def __init__(self, code: str, where: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.where, self.message, self.hint = code, where, message, hint


class _Player:
    def __init__(self, file: CaseFile, bundle: Mapping[str, Any]) -> None:
        assert file.case is not None
        self.case, self.bundle = file.case, bundle
        self.graph = bundle["graph"]
        # In document order, as the places of tokens count them.
        self.kinds: dict[str, str] = {node["id"]: node["kind"] for node in self.graph["nodes"]}
        self.world = World(seed=file.name)
        self.run_id: str | None = None
        self.connectors: list[ScriptedConnector] = []

    def play(self) -> None:
        """Prepare the outside, start, and take the steps in order."""
        self._fakes()
        version = self.world.publish(self.bundle)
        if self.case.report is not None:
            self._fits(self.graph.get("input_schema", {}), self.case.report.content, "/report/content")
            self.world.queue(QUEUE, pin=version, merge="subject")
            self.run_id = self._report(self.case.report).run_id
        else:
            self._fits(self.graph.get("input_schema", {}), self.case.input, "/input")
            self.run_id = self.world.start(version, self.case.input)
        self.world.settle()
        for index, step in enumerate(self.case.script()):
            self._step(step, f"/steps/{index}")
            self.world.settle()

    def outside(self) -> list[dict[str, Any]]:
        """What receivers applied, in order: `{connector, operation?, ...payload}`."""
        received = [entry for connector in self.connectors for entry in connector.received if entry.applied]
        return [
            {"connector": entry.connector_id, **(entry.payload if isinstance(entry.payload, dict) else {})}
            for entry in sorted(received, key=lambda entry: entry.at)
        ]

    def _fakes(self) -> None:
        configs = [node.get("config", {}) for node in self.graph["nodes"]]
        asked = {config.get("component_id") for config in configs}
        used = {config["connector_id"] for config in configs if "connector_id" in config}
        for name, answers in self.case.components.items():
            where = f"/components{pointer(name)}"
            if name not in asked:
                raise CaseFailed("unknown_component", where, f"no node asks a component {name!r}")
            listed = answers if isinstance(answers, list) else [answers]
            schema = self.bundle.get("components", {}).get(name, {}).get("output_schema", {})
            for answer in listed:
                if answer.failure is None:
                    self._fits(schema, answer.result, where)
            self.world.component(name, _in_turn(listed))
        for name in self.case.connectors.keys() - used:
            where = f"/connectors{pointer(name)}"
            raise CaseFailed("unknown_connector", where, f"no node uses a connector {name!r}")
        for name in sorted(used):
            self.connectors.append(self.world.connector(name, self._outcomes(name)))

    def _outcomes(self, name: str) -> list[Scripted]:
        given = self.case.connectors.get(name, "applied")
        where = f"/connectors{pointer(name)}"
        return [_outcome(entry, where) for entry in (given if isinstance(given, list) else [given])]

    def _step(self, step: case_file.Step, where: str) -> None:
        assert self.run_id is not None
        try:
            match step:
                case case_file.Wait():
                    self.world.advance(step.wait)
                case case_file.Event():
                    self._fits(self.graph.get("event_schemas", {}).get(step.event, {}), step.payload, where)
                    target = None if step.by_key else self.run_id
                    key = self._key(step.key)
                    self.world.event(
                        target, step.event, key=key, payload=step.payload, event_id=step.event_id
                    )
                case case_file.Complete():
                    self._complete(step, where)
                case case_file.NextReport():
                    merged = self._report(step.report).merged
                    if merged != step.merged:
                        words = "joined the run" if merged else "started a run of its own"
                        raise CaseFailed("case_failed", where, f"the report {words}")
                case case_file.Control():
                    getattr(self.world, step.operator)(self.run_id)
        except CasegraphError as error:
            raise CaseFailed(error.code, where, error.message) from error

    def _report(self, report: case_file.Report) -> Any:
        return self.world.report(QUEUE, report.content, subject=report.subject)

    def _key(self, key: str) -> str:
        """`=report.report_id`: the first report's id, which no one can know beforehand."""
        if key == "=report.report_id":
            assert self.run_id is not None
            return str(self.world.run(self.run_id).head.report_id)
        return key

    def _complete(self, step: case_file.Complete, where: str) -> None:
        assert self.run_id is not None
        if step.refused is not None:
            self._refused(step, where)
            return
        tasks = [row for row in self.world.tasks(self.run_id) if node_of(row["step_id"]) == step.complete]
        if not tasks:
            view = self.world.run(self.run_id)
            text = f"{step.complete!r} has no open task; the run is {view.state}"
            raise CaseFailed("no_open_task", where, text, f"path so far: {', '.join(path_of(view))}")
        self._fits(self._form(step.complete), step.response, f"{where}/response")
        self.world.complete(tasks[0], by=step.by, response=step.response)

    def _refused(self, step: case_file.Complete, where: str) -> None:
        assert self.run_id is not None
        rows = rows_of(self.world.ports(), self.run_id, "TASK#")
        tasks = [row for row in rows if node_of(row["step_id"]) == step.complete]
        if not tasks:
            raise CaseFailed("no_task", where, f"{step.complete!r} never had a task")
        try:
            self.world.complete(tasks[-1], by=step.by, response=step.response)
        except CasegraphError as error:
            if error.code == step.refused:
                return
            text = f"it was refused as {error.code}, not {step.refused}"
            raise CaseFailed("case_failed", f"{where}/refused", text) from error
        raise CaseFailed("case_failed", f"{where}/refused", f"it was not refused as {step.refused}")

    def _form(self, node_id: str) -> Any:
        config = next(node["config"] for node in self.graph["nodes"] if node["id"] == node_id)
        return self.bundle.get("forms", {}).get(config["form"], {})

    def _fits(self, schema: Any, value: Any, where: str) -> None:
        """A case that gives what no sender could give proves nothing."""
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(value))
        if errors:
            place = "/".join(str(part) for part in errors[0].absolute_path)
            at = f" (at {place})" if place else ""
            raise CaseFailed("schema_mismatch", where, f"{errors[0].message}{at}", "see the schema of it")


def path_of(view: RunView) -> list[str]:
    """Steps as `node.port` in the order of finishing; an end is only named."""
    own = (None, TERMINAL)
    return [step.node if step.port in own else f"{step.node}.{step.port}" for step in view.steps]


def compare(
    expected: case_file.Expected, view: RunView, effects: list[dict[str, Any]], kinds: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What is not as expected: pointer in `expect`, and text."""
    path = [step for step in path_of(view) if kinds.get(step.partition(".")[0]) != "start"]
    if view.state != expected.state:
        why = f" ({', '.join(view.attention)})" if view.attention else ""
        yield "/state", f"the run is {view.state}{why}, not {expected.state}; path: {', '.join(path)}"
    if expected.code is not None and view.terminal_code != expected.code:
        yield "/code", f"it ended with {view.terminal_code}, not {expected.code}"
    if expected.path is not None:
        yield from _paths(expected.path, path)
    if expected.waiting is not None:
        ids = list(kinds)
        waiting = sorted({ids[parse_key(key).node] for key in view.head.frontier})
        if waiting != sorted(expected.waiting):
            yield "/waiting", f"it waits at {', '.join(waiting) or 'nothing'}"
    if expected.attention is not None and list(view.attention) != expected.attention:
        yield "/attention", f"attention: {', '.join(view.attention) or 'none'}"
    decided = [step.output for step in view.steps if kinds.get(step.node) == "decision"]
    for name, wanted, found in (
        ("decisions", expected.decisions, decided),
        ("effects", expected.effects, effects),
    ):
        if wanted is not None:
            yield from _lists(name, wanted, found)
    for node, wanted_output in expected.output.items():
        if not _holds(wanted_output, view.output.get(node)):
            yield f"/output{pointer(node)}", f"the output of {node!r} is {view.output.get(node)!r}"


def _paths(expected: list[str], path: list[str]) -> Iterator[tuple[str, str]]:
    for index, wanted in enumerate(expected):
        found = path[index] if index < len(path) else None
        if found is None or wanted not in (found, found.partition(".")[0]):
            text = (
                f"step {index + 1} of the path is {found or 'missing'}, not {wanted}; path: {', '.join(path)}"
            )
            yield f"/path/{index}", text
            return
    if len(path) > len(expected):
        yield "/path", f"the path goes on: {', '.join(path[len(expected) :])}"


def _lists(name: str, expected: list[Any], found: list[Any]) -> Iterator[tuple[str, str]]:
    for index, wanted in enumerate(expected):
        actual = found[index] if index < len(found) else None
        if not _holds(wanted, actual):
            yield f"/{name}/{index}", f"{actual!r} came instead" if actual is not None else "it did not come"
    if len(found) > len(expected):
        yield f"/{name}", f"there was more: {found[len(expected) :]!r}"


def _holds(wanted: Any, found: Any) -> bool:
    """Whether `found` has at least what is wanted: objects by their fields, anything else as it is."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and _holds(v, found[name]) for name, v in wanted.items()
        )
    return bool(wanted == found)


def _in_turn(answers: list[Answer]) -> Callable[[Mapping[str, Any]], Any]:
    """Answers one after the other; the last is repeated."""
    left = list(answers)

    def answer(_: Mapping[str, Any]) -> Any:
        current = left.pop(0) if len(left) > 1 else left[0]
        if current.failure is not None:
            raise NodeFailed(current.failure, retryable=current.retry is not None)
        return ComponentAnswer(current.result, current.port)

    return answer


def _outcome(entry: Any, where: str) -> Scripted:
    """`applied`, `unknown`, or `{applied: result}`, `{rejected: code}`, `{retry: code}`, `{unknown: code}`."""
    if isinstance(entry, str):
        entry = {entry: None if entry == "applied" else entry}
    name, value = next(iter(entry.items())) if isinstance(entry, dict) and len(entry) == 1 else ("", None)
    match name:
        case "applied":
            return Applied(value)
        case "rejected":
            return Rejected(str(value))
        case "retry":
            return RetryLater(str(value))
        case "unknown":
            return Unknown(str(value))
    text = "an outcome is applied, rejected, retry or unknown, with a result or a code"
    raise CaseFailed("invalid_value", where, text, "mail: [{retry: busy}, applied]")
