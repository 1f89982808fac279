"""Where a client goes and as whom: `.casegraph/context.json`, which `casegraph dev` writes.

`CASEGRAPH_URL` and `CASEGRAPH_TOKEN` win over the file, for an API that is not on this machine.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from casegraph.client.client import CasegraphClient
from casegraph.errors import InvalidInput, NotFound

STATE_DIRECTORY = Path(".casegraph")
FILE_NAME = "context.json"


@dataclass(frozen=True, slots=True)
class Context:
    """An API, tokens by person, and the person in use."""

    url: str
    person: str
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def token(self) -> str:
        """The token of the person in use. Raises `NotFound("person_unknown")`."""
        return self.token_of(self.person)

    def token_of(self, person: str) -> str:
        """A person's token. Raises `NotFound("person_unknown")`, naming who there is."""
        if person not in self.tokens:
            raise NotFound(
                f"there is no token of {person!r}; known here: {', '.join(sorted(self.tokens))}",
                "person_unknown",
            )
        return self.tokens[person]


def save(context: Context, directory: Path = STATE_DIRECTORY) -> Path:
    """Write the context, readable by its owner only: tokens are keys."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / FILE_NAME
    partial = directory / f"{FILE_NAME}.{os.getpid()}"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump(asdict(context), file, indent=2)
    partial.replace(path)
    return path


def load(directory: Path = STATE_DIRECTORY) -> Context:
    """The context of the environment, or of the file. Raises `NotFound("no_context")` saying how to get one."""
    url, token = os.environ.get("CASEGRAPH_URL"), os.environ.get("CASEGRAPH_TOKEN")
    if url and token:
        return Context(url, "environment", {"environment": token})
    path = directory / FILE_NAME
    try:
        return Context(**json.loads(path.read_text()))
    except FileNotFoundError as exc:
        raise NotFound(
            f"{path} is not there: start `casegraph dev` in this directory, or set CASEGRAPH_URL and CASEGRAPH_TOKEN",
            "no_context",
        ) from exc
    except (ValueError, TypeError) as exc:
        raise InvalidInput(
            f"{path} cannot be read; start `casegraph dev` again, it writes a new one"
        ) from exc


def use(person: str, directory: Path = STATE_DIRECTORY) -> Context:
    """Act as another person from now on."""
    context = load(directory)
    context.token_of(person)
    changed = replace(context, person=person)
    save(changed, directory)
    return changed


def connect(person: str | None = None, directory: Path = STATE_DIRECTORY) -> CasegraphClient:
    """A client as the person in use, or as another one of this context."""
    context = load(directory)
    token = context.token if person is None else context.token_of(person)
    return CasegraphClient(context.url, token)
