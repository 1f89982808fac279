"""`casegraph`: nouns and verbs over the HTTP API, and the local run."""

from __future__ import annotations

import typer

from casegraph.cli import (
    authoring,
    cases,
    connector,
    demo,
    dev,
    diff,
    draw,
    event,
    identity,
    new,
    queue,
    report,
    run,
    task,
    workflow,
)
from casegraph.cli.exits import Group

app = typer.Typer(
    name="casegraph",
    cls=Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Durable, human-in-the-loop workflows. Start with `casegraph demo`; `casegraph dev` is a server of your own.",
)

app.command("demo")(demo.demo)
app.command("dev")(dev.dev)
app.command("build")(authoring.build)
app.command("fmt")(authoring.fmt)
app.command("validate")(authoring.validate)
app.command("draw")(draw.draw)
app.command("test")(cases.run_cases)
app.command("diff")(diff.show_diff)
app.command("publish")(workflow.publish)
app.command("me")(identity.me)
app.command("use")(identity.use)
app.add_typer(new.app, name="new")
app.add_typer(run.app, name="run")
app.add_typer(task.app, name="task")
app.add_typer(event.app, name="event")
app.add_typer(report.app, name="report")
app.add_typer(queue.app, name="queue")
app.add_typer(connector.app, name="connector")

if __name__ == "__main__":
    app()
