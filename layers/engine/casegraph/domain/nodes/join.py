"""join: waits for the branches of a parallel: all of them, any, or n."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from casegraph.domain.graph.document import Model
from casegraph.domain.nodes.actions import Action, Arrive
from casegraph.domain.nodes.kind import TEXT, Bundle, ConfigProblem, NodeKind, Schema, record
from casegraph.limits import FORK_MAX_BRANCHES

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """mode: how many branches must arrive; n: with mode `n`; unsatisfied_port: leave by `unsatisfied` when too few
    branches can still arrive (else the run asks for help)."""

    mode: Literal["all", "any", "n"] = "all"
    n: Annotated[int, Field(ge=1, le=FORK_MAX_BRANCHES)] | None = None
    unsatisfied_port: bool = False


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`success`, and `unsatisfied` when declared."""
    return ("success", "unsatisfied") if config.unsatisfied_port else ("success",)


def output(config: Config, bundle: Bundle) -> Schema:
    """`arrived`: the branches that had arrived, in branch order."""
    return record({"arrived": {"type": "array", "items": TEXT}})


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """`n` goes with mode `n`, and only with it."""
    if (config.mode == "n") == (config.n is not None):
        return []
    if config.mode == "n":
        return [ConfigProblem("/config/n", "missing_field", "mode 'n' needs n, the number of branches")]
    return [ConfigProblem("/config/n", "unexpected_field", f"n has no meaning with mode {config.mode!r}")]


def enter(visit: Visit) -> Action:
    """Stand here and be counted."""
    return Arrive()


KIND = NodeKind(
    name="join", config=Config, ports=ports, output=output, problems=problems, pure=True, enter=enter
)
