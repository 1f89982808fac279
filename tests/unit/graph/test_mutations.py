"""Whatever one field of the example workflow is changed to, validation answers with places, and never fails itself."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from casegraph.adapters.component_registry import ComponentRegistry
from casegraph.application.publish import problems_of
from casegraph.authoring.check import check

EXAMPLE = Path(__file__).parents[3] / "workflows" / "illegal-content-notice"
OTHERS: tuple[Any, ...] = (None, -1, 1.5, "", [], {}, [[]], {"$ref": "#"})
Path_ = tuple[str | int, ...]


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inner:
        yield from places(part, (*path, name))


def changed(bundle: Any, path: Path_, value: Any) -> Any:
    if not path:
        return value
    other = copy.copy(bundle)
    other[path[0]] = changed(bundle[path[0]], path[1:], value)
    return other


EXAMPLE_BUNDLE = check(EXAMPLE).required()
PLACES = [path for path in places(EXAMPLE_BUNDLE) if path]


@pytest.mark.parametrize("part", range(4))
def test_no_change_of_a_single_field_makes_validation_fail_itself(part: int) -> None:
    components, failed = ComponentRegistry(), []
    for number, path in enumerate(PLACES):
        # The kinds of change take turns in large bundles: every place gets two, neighbours get others.
        for other in (OTHERS[number % 8], OTHERS[(number + 3) % 8]):
            if number % 4 != part:
                continue
            try:
                problems_of(changed(EXAMPLE_BUNDLE, path, other), components)
            except Exception as exc:  # noqa: BLE001 - any kind of failure is what the test looks for
                failed.append((path, other, repr(exc)))
    assert failed == []
