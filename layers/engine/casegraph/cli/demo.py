"""`casegraph demo`: the whole product on this machine, from reports to decisions."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from casegraph.cli.exits import Exit
from casegraph.cli.output import AsJson, console, print_json, print_table
from casegraph.client.context import STATE_DIRECTORY
from casegraph.errors import NeedsOperator
from casegraph.local.aws_process import LocalAws
from casegraph.local.demo.driver import Demo, Result
from casegraph.local.demo.reports import load_reports
from casegraph.local.dev_server import DevServer, Options

STATE = STATE_DIRECTORY / "demo"


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Stay up afterwards, until Ctrl-C.")] = False,
    port: Annotated[int, typer.Option(help="Port of the API on 127.0.0.1; 0 takes a free one.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Thirty reports become runs; reviewers decide them; every run must reach its expected outcome."""
    say = _silent if as_json else _say
    _clear(STATE)
    say("starting the local AWS process, tables, queues and handlers")
    with DevServer(Options(STATE, port, context=STATE_DIRECTORY)) as server:
        result = _play(server, say)
        if as_json:
            print_json(summary(result, server.meter.report(len(result.outcomes))))
        else:
            _print_result(result, server)
        if keep:
            say(f"staying up at {server.context.url}; Ctrl-C stops it. Next: casegraph run list")
            _until_interrupted()
    if result.unexpected:
        raise typer.Exit(Exit.REFUSED)


def _play(server: DevServer, say: Any) -> Result:
    demo = Demo(server.context, load_reports(), say=say)
    try:
        return demo.play()
    finally:
        demo.close()


def summary(result: Result, cost: dict[str, Any]) -> dict[str, Any]:
    """What `--json` prints."""
    runs, unexpected = len(result.outcomes), len(result.unexpected)
    return {
        "reports": result.reports,
        "merged": result.merged,
        "runs": runs,
        "expected": runs - unexpected,
        "unexpected": unexpected,
        "cost": cost,
    }


def _print_result(result: Result, server: DevServer) -> None:
    rows = [
        {
            "run": outcome.run_id,
            "reports": outcome.reports,
            "state": outcome.state,
            "decision": outcome.decision or "-",
            "expected": outcome.expected,
            "": "ok" if outcome.as_expected else "NOT AS EXPECTED",
        }
        for outcome in result.outcomes
    ]
    print_table(rows, ("run", "reports", "state", "decision", "expected", ""), empty="No run was started.")
    counts = summary(result, server.meter.report(len(result.outcomes)))
    typer.echo(
        f"{counts['reports']} reports, {counts['merged']} merged, {counts['runs']} runs: "
        f"{counts['expected']} as expected, {counts['unexpected']} not."
    )
    cost = counts["cost"]
    typer.echo(
        f"On AWS about {cost['microdollars_per_run']:.1f} microdollars a run: "
        f"{cost['write_units']:.0f} write units, {cost['read_units']:.0f} read units, {cost['requests']} requests."
    )
    typer.echo(f"API: {server.context.url}/v1 (handlers log to {server.log_file})")


def _clear(state: Path) -> None:
    """Start from nothing: what an earlier demo left is removed, unless it still runs."""
    if not state.exists():
        return
    left = LocalAws(state / "aws")
    if (left.directory / "process.json").exists():
        left.start()
        if not left.owned:
            raise NeedsOperator("another demo is running here; stop it with Ctrl-C first", "demo_running")
        left.stop()
    shutil.rmtree(state)


def _until_interrupted() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return


def _say(line: str) -> None:
    console(stderr=True).print(line, markup=False)


def _silent(line: str) -> None:
    pass
