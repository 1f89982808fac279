"""The JSON Schema checker of the API's edge (`jsonschema`); no other module imports that library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from casegraph.application.schemas import Problem
from casegraph.domain import patterns

# A form or an event with more mistakes than this is told its first ones.
_MAX_PROBLEMS = 50


def _pattern(
    validator: Any, pattern: str, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if isinstance(value, str) and not patterns.found(pattern, value):
        yield ValidationError("does not match")


def _pattern_properties(
    validator: Any, named: Mapping[str, Any], value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    for pattern, inner in named.items() if isinstance(value, Mapping) else ():
        for name in [name for name in value if patterns.found(pattern, name)]:
            yield from validator.descend(value[name], inner, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, rule: Any, value: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    known, by_pattern = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in value if isinstance(value, Mapping) else ():
        if name in known or any(patterns.found(pattern, name) for pattern in by_pattern):
            continue
        if rule is False:
            yield ValidationError("more than what may be given")
            return
        yield from validator.descend(value[name], rule, path=name)


# The library's own rules for these three search with `re`, which a pattern can keep busy without end.
_Validator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "additionalProperties": _additional_properties,
    },
)


class JsonSchemas:
    """`application.schemas.Schemas` on draft 2020-12; references outside the schema are never fetched."""

    def problems(self, schema: Mapping[str, Any], value: Any) -> list[Problem]:
        """See `Schemas.problems`."""
        validator = _Validator(dict(schema), registry=Registry())
        found: list[Problem] = []
        try:
            for error in validator.iter_errors(value):
                found.append({"pointer": _pointer(error), "message": _message(error)})
                if len(found) == _MAX_PROBLEMS:
                    break
        except Unresolvable:
            found.append({"pointer": "", "message": "the schema refers to a schema that is not there"})
        except (RecursionError, OverflowError):
            # A version of before the checks at publication, or a number that no float can hold.
            found.append({"pointer": "", "message": "the schema cannot be applied to this value"})
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
