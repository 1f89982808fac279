"""The demo's reports: createReport's shape, invented texts, and what must become of each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from casegraph.local.bundled import bundled

WORKFLOW_FOLDER = "workflows/illegal-content-notice"
QUEUE = "illegal-content"
# Reports that nobody completes: the same workflow, except that it waits seconds and not days.
SHORT_QUEUE = "illegal-content-short"


@dataclass(frozen=True, slots=True)
class DemoReport:
    """One report. index: its place in the file; expected: the decision that its run must reach; merges_into: the index
    of the report whose run takes it in; completed_by: how its notice is completed; times_out: it never is."""

    index: int
    content: dict[str, Any]
    expected: str
    merges_into: int | None = None
    completed_by: Literal["run", "key"] | None = None
    explanation: str = ""
    times_out: bool = False

    @property
    def subject_key(self) -> str:
        """What makes two reports reports on the same subject: the record's address, or the account."""
        subject = self.content["subject"]
        return str(subject.get("uri") or subject["did"])

    @property
    def queue_id(self) -> str:
        """The queue that it is sent to."""
        return SHORT_QUEUE if self.times_out else QUEUE

    @property
    def body(self) -> dict[str, Any]:
        """The body of POST /v1/reports."""
        return {"queue_id": self.queue_id, "subject_key": self.subject_key, "content": self.content}


def load_reports() -> tuple[DemoReport, ...]:
    """The reports of the example workflow, in the order in which they are sent."""
    data = json.loads((bundled(WORKFLOW_FOLDER) / "examples" / "reports.json").read_text())
    return tuple(
        DemoReport(
            index=index,
            content=entry["report"],
            **{name: value for name, value in entry.items() if name != "report"},
        )
        for index, entry in enumerate(data["reports"])
    )
