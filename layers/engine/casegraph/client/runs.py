"""Runs: start, look at, steer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casegraph.client.paging import pages, whole_pages
from casegraph.client.transport import Json, Rows, Transport, segment


class Runs:
    """Runs of workflows."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def start(
        self,
        workflow_key: str,
        input: Mapping[str, Any],
        *,
        version: int | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Start a run of a version (the latest, when none is given): `{"run_id", "replayed"}`."""
        body: Json = {"workflow_key": workflow_key, "input": dict(input)}
        if version is not None:
            body["version"] = version
        return self._transport.post(
            "/runs", body, idempotency_key=idempotency_key or self._transport.new_key()
        )

    def get(self, run_id: str) -> Json:
        """The run: state, outcome, where it stands, what it waits for."""
        return self._transport.get(f"/runs/{segment(run_id)}")

    def list(self, **filters: Any) -> Iterator[Json]:
        """Runs, the newest first; filters: state, workflow, report_id, code."""
        return pages(self._transport, "/runs", **filters)

    def steps(self, run_id: str) -> Rows:
        """The steps that finished, with ports and outputs, in order."""
        return list(pages(self._transport, f"/runs/{segment(run_id)}/steps"))

    def log(self, run_id: str) -> Json:
        """What each commit wrote, in order (`items`), and whether its hash chain holds (`chain`)."""
        items: Rows = []
        faults: list[str] = []
        for page in whole_pages(self._transport, f"/runs/{segment(run_id)}/log"):
            items += page["items"]
            faults += page["chain"]["faults"]
        return {"items": items, "chain": {"verified": not faults, "faults": faults}}

    def why(self, run_id: str) -> Json:
        """What the run waits for, since when, until when, and who can unblock it."""
        return self._transport.get(f"/runs/{segment(run_id)}/why")

    def effects(self, run_id: str) -> Rows:
        """The run's effects and their states."""
        return list(pages(self._transport, "/effects", run_id=run_id))

    def pause(
        self,
        run_id: str,
        reason: str,
        *,
        until_at: str | None = None,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Let nothing of the run advance, until `resume` or `until_at` (RFC 3339)."""
        return self._control(run_id, "pause", reason, expected_revision, idempotency_key, until_at=until_at)

    def resume(
        self,
        run_id: str,
        reason: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Let a paused run go on; its deadlines move by the pause's length."""
        return self._control(run_id, "resume", reason, expected_revision, idempotency_key)

    def terminate(
        self,
        run_id: str,
        reason: str,
        *,
        expected_revision: int | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """End a run now; its open tasks are cancelled. A call to the outside that is under way cannot be recalled."""
        return self._control(run_id, "terminate", reason, expected_revision, idempotency_key)

    def _control(
        self,
        run_id: str,
        verb: str,
        reason: str,
        expected_revision: int | None,
        idempotency_key: str | None,
        **more: Any,
    ) -> Json:
        body = {"reason": reason, "expected_revision": expected_revision, **more}
        return self._transport.post(
            f"/runs/{segment(run_id)}/{verb}",
            {name: value for name, value in body.items() if value is not None},
            idempotency_key=idempotency_key or self._transport.new_key(),
        )
