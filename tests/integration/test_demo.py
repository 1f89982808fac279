"""`casegraph demo --json`, as `make demo` runs it: one JSON document, and exit code 0 only if all is as expected."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from casegraph.local.aws_process import LocalAws
from tests.integration.dev_process import COMMAND


@pytest.mark.slow
@pytest.mark.local_aws
@pytest.mark.timeout(400)
def test_the_demo_reaches_every_outcome_and_leaves_nothing_running(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "demo", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=380
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads(done.stdout)
    counts = {name: result[name] for name in ("reports", "merged", "runs", "expected", "unexpected")}
    assert counts == {"reports": 30, "merged": 4, "runs": 26, "expected": 26, "unexpected": 0}
    assert result["cost"]["write_units"] > 0
    assert result["cost"]["microdollars_per_run"] > 0
    assert not (tmp_path / ".casegraph" / "demo" / "aws" / "process.json").exists()


@pytest.mark.local_aws
def test_a_demo_does_not_clear_what_another_one_is_using(tmp_path: Path) -> None:
    state = tmp_path / ".casegraph" / "demo"
    with LocalAws(state / "aws") as running:
        done = subprocess.run(
            [*COMMAND, "demo", "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert (done.returncode, json.loads(done.stderr)["error"]["code"]) == (1, "demo_running")
        assert running.port
        assert state.exists()
