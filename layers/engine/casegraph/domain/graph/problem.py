"""What is wrong with a graph, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Problem:
    """code: short identifier; pointer: JSON pointer from the bundle (`/graph/nodes/3/config`); message: what is wrong;
    hint: what to do."""

    code: str
    pointer: str
    message: str
    hint: str = ""

    def to_dict(self) -> dict[str, str]:
        """As it stands in an answer of the API."""
        return asdict(self)


def pointer(*parts: str | int) -> str:
    """A JSON pointer (RFC 6901) of these parts."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` when a known name is close, else the first known names."""
    names = sorted(known)
    close = get_close_matches(name, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(names[:20])}" if names else ""
