"""The digest of a folder and of its version: the same where folder and installation say the same of components."""

from __future__ import annotations

from pathlib import Path

from casegraph.application.publish import with_components
from casegraph.authoring.check import check
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.validation.validate import validate
from casegraph.local.subject_and_history import OUTPUT_SCHEMA

EXAMPLE = Path(__file__).parents[3] / "workflows" / "illegal-content-notice"


class Installed:
    """An installation with the example's component, whose result has this schema."""

    def __init__(self, schema: dict[str, object]) -> None:
        self._schema = schema

    def output_schema(self, component_id: str) -> dict[str, object]:
        return self._schema


def published(schema: dict[str, object]) -> str:
    stored = validate(with_components(check(EXAMPLE).required(), Installed(schema))).bundle
    assert stored is not None
    return bundle_digest(stored)


def test_a_version_has_the_digest_of_its_folder_when_both_say_the_same_of_components() -> None:
    assert published(OUTPUT_SCHEMA) == check(EXAMPLE).digest


def test_what_the_installation_knows_otherwise_is_in_the_version_and_in_its_digest() -> None:
    assert published({**OUTPUT_SCHEMA, "description": "another"}) != check(EXAMPLE).digest


def test_the_folder_says_which_components_publication_looks_up() -> None:
    assert check(EXAMPLE).components_asked == ("subject-and-history",)
