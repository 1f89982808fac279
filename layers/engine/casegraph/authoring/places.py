"""Where things stand: from a JSON pointer of the canonical bundle to file, line and column of the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# A path in a source file: keys and list positions from its root.
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a text, both counted from 1, as editors do."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file of a workflow folder; `file` is relative to the folder."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a value and its key stand. inside: characters (a quote) before the value's text, when it is written on one
    line and letter by letter, so that a column in it can be counted on."""

    key: Spot
    value: Spot
    scalar: bool
    inside: int | None = None


Entries = Mapping[Path, Entry]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a part of the bundle comes from. at_key: it is about the key itself; exact: what lies deeper in the part
    has no place of its own in the source; lead: characters before an expression's own text, its `=`."""

    file: str
    path: Path
    at_key: bool = False
    exact: bool = False
    lead: int = 0


@dataclass
class Places:
    """Origins by pointer of the bundle, and the entries of each file that was read."""

    origins: dict[str, Origin] = field(default_factory=dict)
    files: dict[str, Entries] = field(default_factory=dict)

    def put(self, pointer: str, origin: Origin) -> None:
        """Say where a part of the bundle comes from."""
        self.origins[pointer] = origin

    def find(self, pointer: str, *, at_key: bool = False, column: int | None = None) -> Place | None:
        """The place of a pointer, or of what surrounds it most closely. column: in the text of an expression, from 1;
        counted on where the source writes the expression on one line."""
        tokens = pointer.split("/")
        for end in range(len(tokens), 0, -1):
            origin = self.origins.get("/".join(tokens[:end]))
            if origin is not None:
                rest = () if origin.exact else tuple(_token(t) for t in tokens[end:])
                return self._in_file(origin, rest, at_key=at_key, column=column)
        return None

    def _in_file(self, origin: Origin, rest: Path, *, at_key: bool, column: int | None) -> Place:
        entries = self.files.get(origin.file, {})
        wanted = (*origin.path, *rest)
        for end in range(len(wanted), -1, -1):
            entry = _entry(entries, wanted[:end])
            if entry is None:
                continue
            whole = end == len(wanted)
            by_key = not entry.scalar or (whole and (at_key or (origin.at_key and not rest)))
            spot = entry.key if by_key else entry.value
            if whole and column is not None and entry.inside is not None and not by_key:
                spot = Spot(spot.line, spot.column + entry.inside + origin.lead + column - 1)
            return Place(origin.file, spot.line, spot.column)
        return Place(origin.file, 1, 1)


def _entry(entries: Entries, path: Path) -> Entry | None:
    found = entries.get(path)
    if found is None and any(isinstance(part, str) and part.isdigit() for part in path):
        found = entries.get(tuple(int(p) if isinstance(p, str) and p.isdigit() else p for p in path))
    return found


def _token(text: str) -> str:
    return text.replace("~1", "/").replace("~0", "~")
