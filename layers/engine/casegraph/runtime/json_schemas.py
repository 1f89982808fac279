"""The JSON Schema checker of the API's edge (`jsonschema`); no other module imports that library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from casegraph.application.schemas import Problem

# A form or an event with more mistakes than this is told its first ones.
_MAX_PROBLEMS = 50


class JsonSchemas:
    """`application.schemas.Schemas` on draft 2020-12; references outside the schema are never fetched."""

    def problems(self, schema: Mapping[str, Any], value: Any) -> list[Problem]:
        """See `Schemas.problems`."""
        validator = Draft202012Validator(dict(schema), registry=Registry())
        found: list[Problem] = []
        try:
            for error in validator.iter_errors(value):
                found.append({"pointer": _pointer(error), "message": _message(error)})
                if len(found) == _MAX_PROBLEMS:
                    break
        except Unresolvable:
            found.append({"pointer": "", "message": "the schema refers to a schema that is not there"})
        return sorted(found, key=lambda problem: problem["pointer"])


def _pointer(error: ValidationError) -> str:
    parts = [str(part).replace("~", "~0").replace("/", "~1") for part in error.absolute_path]
    return "".join(f"/{part}" for part in parts)


def _message(error: ValidationError) -> str:
    """What is wrong, from the schema only: the library's own texts repeat the value, which may be personal data."""
    rule, limit = error.validator, error.validator_value
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    if rule == "required" and isinstance(error.instance, Mapping) and isinstance(limit, list):
        missing = [name for name in limit if name not in error.instance]
        return f"{', '.join(missing)} is required"
    if rule == "additionalProperties":
        return f"only {', '.join(sorted(schema.get('properties', {})))} may be given"
    if rule in ("enum", "const"):
        return f"must be {'one of ' if rule == 'enum' else ''}{limit}"
    if rule in ("type", "format", "pattern"):
        return f"must have {rule} {limit}"
    if isinstance(limit, int | float | str):
        return f"breaks {rule} {limit}"
    return f"breaks {rule}"
