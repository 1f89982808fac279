"""Who am I, and acting as another person of the local run."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.output import As, AsJson, print_fields, print_json
from casegraph.client import context


def me(as_person: As = None, as_json: AsJson = False) -> None:
    """Who the API says that I am: subject, roles, queues."""
    with context.connect(as_person) as client:
        answer = client.me()
    if as_json:
        print_json(answer)
    else:
        print_fields({name: answer.get(name) for name in ("subject", "roles", "queues")})


def use(
    person: Annotated[str, typer.Argument(help="A person of the context, e.g. reviewer-1.")],
    as_json: AsJson = False,
) -> None:
    """Act as another person from now on (local run)."""
    chosen = context.use(person)
    if as_json:
        print_json({"person": chosen.person, "url": chosen.url})
    else:
        typer.echo(f"You are {chosen.person} at {chosen.url} now.")
