"""`casegraph dev`: a server of your own on this machine."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from casegraph.cli.output import AsJson, print_json
from casegraph.client.context import STATE_DIRECTORY
from casegraph.errors import NeedsOperator
from casegraph.local.dev_server import DevServer, Options

# Easy to remember, and registered for nothing that runs on laptops.
DEFAULT_PORT = 7420


def dev(
    port: Annotated[
        int, typer.Option(help="Port of the API on 127.0.0.1; 0 takes a free one.")
    ] = DEFAULT_PORT,
    state: Annotated[Path, typer.Option(help="Where everything is kept.")] = STATE_DIRECTORY,
    aws_endpoint: Annotated[
        str | None, typer.Option(help="Use this running local AWS process and leave it running.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run the whole of Casegraph here: API, handlers, queues, tables. Ctrl-C stops it; everything is kept."""
    stopping = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopping.set())
    server = DevServer(Options(state, port, aws_endpoint))
    try:
        server.start()
    except OSError as exc:
        server.stop()
        raise NeedsOperator(
            f"port {port} cannot be used ({exc.strerror}); try --port 0", "port_taken"
        ) from exc
    except BaseException:
        server.stop()
        raise
    try:
        _announce(server, as_json)
        stopping.wait()
    finally:
        server.stop()
    if not as_json:
        typer.echo("Stopped; the state is kept.")


def _announce(server: DevServer, as_json: bool) -> None:
    context = server.context
    if as_json:
        print_json({"url": context.url, "people": sorted(context.tokens)})
        return
    typer.echo(f"Casegraph is at {context.url} (API under /v1); Ctrl-C stops it.")
    typer.echo(
        f"You are {context.person}; others: {', '.join(p for p in context.tokens if p != context.person)}"
    )
    typer.echo(f"Handlers log to {server.log_file}")
    typer.echo("Next, in another terminal: casegraph me, casegraph publish workflows/illegal-content-notice")
