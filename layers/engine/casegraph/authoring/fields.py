"""Single fields of the source form: durations, and names that are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from casegraph.authoring.durations import seconds_of, written
from casegraph.authoring.files import Folder
from casegraph.authoring.places import Origin, Path
from casegraph.authoring.shorthand import CANONICAL_FIELDS
from casegraph.domain.graph.problem import did_you_mean, pointer


def duration(folder: Folder, value: Any, where: str) -> int | float | None:
    """The seconds of a duration; None (and a problem) when it is none."""
    seconds = seconds_of(value) if isinstance(value, str) else None
    if seconds is None:
        hint = "write it like 90s, 15m, 24h or 7d"
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            hint = f"a bare number has no unit: write {written(value)} for {value} seconds"
        folder.problem("duration_invalid", where, f"{value!r} is no duration", hint)
    return seconds


def unknown_fields(
    folder: Folder,
    source: Mapping[str, Any],
    path: Path,
    where: str,
    known: Iterable[str],
    *,
    hints: Mapping[str, str] = MappingProxyType({}),
) -> set[str]:
    """Report the fields that do not exist, with what was probably meant (or `hints`); returns their names."""
    names = tuple(known)
    found = {name for name in source if name not in names}
    for name in source:
        if name not in found:
            continue
        place = where + pointer(name)
        folder.places.put(place, Origin(folder.main, (*path, name), at_key=True))
        better = CANONICAL_FIELDS.get(name)
        hint = f"write `{better}`" if better in names else did_you_mean(name, names)
        hint = hints.get(name, hint)
        folder.problem("unknown_field", place, f"there is no field {name!r} here", hint, at_key=True)
    return found
