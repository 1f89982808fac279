"""Segments: one row per mutation, hash-chained; replaying them rebuilds the head (protocol.md 1, invariants 3, 16).

The chain covers digests: a step's output is stored beside its digest and can be erased without breaking the chain.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from casegraph.domain.canonical import canonical_bytes, digest, digest_of_bytes
from casegraph.domain.head import Head, facts, run_pk
from casegraph.domain.writes import Item

SEGMENT_PREFIX = "SEG#"

_MAPS = ("frontier", "closing", "latest", "visits")


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A step that finished: written once (invariant 8).

    status: succeeded, failed, timed_out or cancelled. output is the JSON value, stored as its canonical text; one over
    the inline bound is `elsewhere`, in the blob that `output_digest` names.
    """

    step: str
    status: str
    port: str | None
    output: Any = None
    output_digest: str = ""
    elsewhere: bool = False
    attempts: int = 0
    code: str = ""

    @property
    def plain(self) -> bool:
        """A condition's step: it succeeded at once, and its output says nothing that its port does not."""
        usual = (self.status, self.attempts, self.code, self.elsewhere) == ("succeeded", 1, "", False)
        return usual and self.port is not None and self.output == {"port": self.port}

    def to_item(self) -> Item:
        """The stored form; empty fields are left out, and a plain step is its id and port."""
        if self.plain:
            return {"step": self.step, "plain": self.port}
        item: Item = {"step": self.step, "status": self.status}
        if self.port is not None:
            item["port"] = self.port
        if self.output_digest:
            item["digest"] = self.output_digest
        if self.elsewhere:
            item["elsewhere"] = True
        elif self.output_digest:
            item["output"] = canonical_bytes(self.output).decode()
        if self.attempts:
            item["attempts"] = self.attempts
        if self.code:
            item["code"] = self.code
        return item

    @staticmethod
    def from_item(item: Item) -> StepRecord:
        """The inverse of `to_item`; `output` stays None when it is elsewhere."""
        if "plain" in item:
            output = {"port": item["plain"]}
            return StepRecord(item["step"], "succeeded", item["plain"], output, digest(output), attempts=1)
        return StepRecord(
            step=item["step"],
            status=item["status"],
            port=item.get("port"),
            output=json.loads(item["output"]) if "output" in item else None,
            output_digest=item.get("digest", ""),
            elsewhere=item.get("elsewhere", False),
            attempts=item.get("attempts", 0),
            code=item.get("code", ""),
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """What one mutation did. `opened` and `taken` tell which waits opened and which signals were taken in."""

    run_id: str
    revision: int
    kind: str
    recorded_at: int
    commit_id: str
    previous: str
    steps: Sequence[StepRecord] = ()
    opened: Sequence[Mapping[str, Any]] = ()
    taken: Sequence[str] = ()
    delta: Mapping[str, Any] = field(default_factory=dict)
    actor: str | None = None
    reason: str | None = None
    installation_id: str = "default"
    facts: Mapping[str, Any] = field(default_factory=dict)


def segment_sk(revision: int) -> str:
    """Sort key of a segment; zero-padded so that they stand in order."""
    return f"{SEGMENT_PREFIX}{revision:010d}"


def to_item(segment: Segment) -> Item:
    """The stored row of a segment, its hash included."""
    item: Item = {
        "pk": run_pk(segment.run_id),
        "sk": segment_sk(segment.revision),
        "installation_id": segment.installation_id,
        "revision": segment.revision,
        "kind": segment.kind,
        "recorded_at": segment.recorded_at,
        "commit_id": segment.commit_id,
        "prev": segment.previous,
        "delta": dict(segment.delta),
    }
    optional: dict[str, Any] = {
        "steps": [step.to_item() for step in segment.steps],
        "opened": [dict(wait) for wait in segment.opened],
        "taken": list(segment.taken),
        "actor": segment.actor,
        "reason": segment.reason,
        "facts": dict(segment.facts),
    }
    item.update({name: value for name, value in optional.items() if value})
    item["hash"] = segment_hash(item)
    return item


def segment_hash(item: Item) -> str:
    """The hash of a segment row: everything but itself, with outputs and facts standing in as their digests."""
    covered = {
        name: value for name, value in item.items() if name not in ("hash", "pk", "sk", "steps", "facts")
    }
    if "steps" in item:
        covered["steps"] = [{k: v for k, v in step.items() if k != "output"} for step in item["steps"]]
    if "facts" in item:
        covered["facts"] = {
            name: value for name, value in item["facts"].items() if name not in ("input", "report")
        }
    return digest(covered).removeprefix("sha256:")


def chain_faults(items: Iterable[Item], previous: str = "", expected: int = 0) -> list[str]:
    """What is wrong with a chain of segment rows in order; empty when it verifies.

    previous, expected: for a page that does not start at segment 0: the hash before it, and its first revision.

    Each fault names the revision: a gap, a broken link, a changed row, or an output that is not what was recorded.
    """
    faults: list[str] = []
    for item in items:
        revision = item["revision"]
        if revision != expected:
            faults.append(f"segment {expected} is missing (found {revision})")
        if item["prev"] != previous:
            faults.append(f"segment {revision} does not follow the one before it")
        if segment_hash(item) != item["hash"]:
            faults.append(f"segment {revision} was changed")
        faults.extend(_content_faults(item))
        previous, expected = item["hash"], revision + 1
    return faults


def _content_faults(item: Item) -> list[str]:
    faults = [
        f"segment {item['revision']}: the output of step {step['step']} was changed"
        for step in item.get("steps", ())
        if "output" in step and digest_of_bytes(step["output"].encode()) != step.get("digest")
    ]
    for name in ("input", "report"):
        stored = item.get("facts", {})
        if name in stored and digest_of_bytes(stored[name].encode()) != stored.get(f"{name}_digest"):
            faults.append(f"segment {item['revision']}: the {name} was changed")
    return faults


def delta_between(before: Head, after: Head) -> dict[str, Any]:
    """How the facts of a head changed: `{"set": {...}, "remove": [...], "<map>": {"set", "remove"}}`."""
    return _difference(facts(before), facts(after))


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    delta: dict[str, Any] = {}
    changed = {k: v for k, v in new.items() if k not in _MAPS and (k not in old or old[k] != v)}
    removed = sorted(k for k in old if k not in new)
    if changed:
        delta["set"] = changed
    if removed:
        delta["remove"] = removed
    for name in _MAPS:
        inner: dict[str, Any] = {}
        put = {k: v for k, v in new[name].items() if old[name].get(k) != v}
        gone = sorted(k for k in old[name] if k not in new[name])
        if put:
            inner["set"] = put
        if gone:
            inner["remove"] = gone
        if inner:
            delta[name] = inner
    return delta


def replay(items: Iterable[Item]) -> dict[str, Any]:
    """The facts of the head, rebuilt from segment rows in order (invariant 16)."""
    state: dict[str, Any] = {name: {} for name in _MAPS}
    for item in items:
        delta = item["delta"]
        for name in _MAPS:
            inner = delta.get(name, {})
            state[name].update(inner.get("set", {}))
            for key in inner.get("remove", ()):
                del state[name][key]
        state.update(delta.get("set", {}))
        for name in delta.get("remove", ()):
            del state[name]
    return state


def first_delta(head: Head) -> dict[str, Any]:
    """The delta of segment 0: everything that the first head says."""
    return _difference({name: {} for name in _MAPS}, facts(head))
