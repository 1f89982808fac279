"""The settings of a Lambda function (or of the local run): environment variables as one frozen model.

`template.yaml` sets them; `tests/architecture/test_template.py` compares both sides. Nothing else in the engine reads
the environment.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, field_validator

from casegraph.domain.writes import Table
from casegraph.errors import NeedsOperator

PREFIX = "CASEGRAPH_"

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=255)]
Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
LogLevel = Literal["DEBUG", "INFO", "WARNING", "ERROR"]


class SettingsError(NeedsOperator):
    """The environment is incomplete or wrong; the text names each variable and what it must be."""

    default_code = "settings_invalid"


class Settings(BaseModel):
    """Where this deployment's resources are. Each field is read from `CASEGRAPH_` and its name in capitals."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    runs_table: Name
    subjects_table: Name
    correlations_table: Name
    reports_table: Name
    catalog_table: Name
    payload_bucket: Name
    execute_queue_url: Name
    dispatch_queue_url: Name
    # One per deployment; every record carries it (protocol.md 1).
    installation_id: Identifier = "default"
    log_level: LogLevel = "INFO"
    # Claims of the sign-in token that hold the roles and the queue ids of a person.
    roles_claim: Name = "casegraph_roles"
    queues_claim: Name = "casegraph_queues"
    # The local AWS process; absent on AWS, where the SDK finds the services itself.
    aws_endpoint_url: Name | None = None

    @field_validator("execute_queue_url", "dispatch_queue_url", "aws_endpoint_url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith(("http://", "https://")):
            raise ValueError("must be a URL that starts with https:// (http:// on the local AWS process)")
        return value

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings; an empty variable counts as absent.

        Raises `SettingsError`, which names every variable that is missing or wrong at once.
        """
        source = os.environ if environment is None else environment
        given = {name: source.get(variable(name), "") for name in cls.model_fields}
        try:
            return cls.model_validate({name: value for name, value in given.items() if value != ""})
        except ValidationError as exc:
            raise SettingsError(_explain(exc)) from exc

    def to_environment(self) -> dict[str, str]:
        """The environment that `from_environment` reads back as the same settings."""
        return {variable(name): str(value) for name, value in self if value is not None}

    def table_name(self, table: Table) -> str:
        """The deployed name of one of the engine's tables."""
        return str(getattr(self, f"{table.value}_table"))


def variable(field: str) -> str:
    """The environment variable of a field."""
    return PREFIX + field.upper()


def _explain(exc: ValidationError) -> str:
    lines = []
    for problem in exc.errors():
        name = variable(str(problem["loc"][0]))
        if problem["type"] == "missing":
            lines.append(f"{name} is not set; template.yaml sets it (Globals.Function.Environment)")
        else:
            lines.append(f"{name}={problem['input']!r}: {problem['msg']}")
    return "The settings are incomplete or wrong. " + "; ".join(lines)
