"""The bundle's one stored form, its digest, and its verification."""

from __future__ import annotations

import json
from typing import Any

import pytest

from casegraph.domain.graph.bundle import bundle_bytes, bundle_digest, load_bundle
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.validation.validate import validate
from casegraph.errors import NeedsOperator
from casegraph.testing.bundles import bundle, node


def small(**load: Any) -> dict[str, Any]:
    return bundle(
        "small",
        [
            node("start", "start"),
            node("load", "enrichment", {"component_id": "history"}, **load),
            node("end", "end"),
        ],
        ["start.success > load", "load.success > end"],
        components={"history": {"output_schema": {}}, "unused": {"output_schema": {}}},
    )


def stored(given: dict[str, Any]) -> dict[str, Any]:
    found = validate(given).bundle
    assert found is not None
    return found


def test_what_means_the_same_has_the_same_digest() -> None:
    plain, explicit = small(), small(max_visits=100)
    explicit["graph"]["nodes"][1]["config"]["cost"] = "cheap"
    explicit["graph"]["on_unhandled"] = "attention"
    assert bundle_digest(stored(plain)) == bundle_digest(stored(explicit))


def test_what_means_something_else_has_another_digest() -> None:
    assert bundle_digest(stored(small())) != bundle_digest(stored(small(max_visits=99)))


def test_the_stored_form_is_stable() -> None:
    once = stored(small())
    assert stored(once) == once


def test_only_components_that_are_asked_are_pinned() -> None:
    assert list(stored(small())["components"]) == ["history"]


def test_a_stored_bundle_is_read_back_and_verified() -> None:
    found = stored(small())
    assert load_bundle(bundle_bytes(found), bundle_digest(found)) == found


@pytest.mark.parametrize("change", [b"{}", b"", b"[]", b"nonsense", b'{"graph": {"key": "other"}}'])
def test_a_bundle_that_is_not_what_was_pinned_needs_an_operator(change: bytes) -> None:
    with pytest.raises(NeedsOperator) as caught:
        load_bundle(change, bundle_digest(stored(small())))
    assert caught.value.code == "definition_changed"


def test_the_document_prints_what_it_read() -> None:
    document = Document.model_validate_json(json.dumps(stored(small())["graph"]))
    assert document.to_dict() == stored(small())["graph"]
