"""Settings from the environment."""

from __future__ import annotations

import pytest

from casegraph.domain.writes import Table
from casegraph.runtime.settings import Settings, SettingsError

ENVIRONMENT = {
    "CASEGRAPH_RUNS_TABLE": "runs",
    "CASEGRAPH_SUBJECTS_TABLE": "subjects",
    "CASEGRAPH_CORRELATIONS_TABLE": "correlations",
    "CASEGRAPH_REPORTS_TABLE": "reports",
    "CASEGRAPH_CATALOG_TABLE": "catalog",
    "CASEGRAPH_PAYLOAD_BUCKET": "payloads",
    "CASEGRAPH_EXECUTE_QUEUE_URL": "https://queues/execute",
    "CASEGRAPH_DISPATCH_QUEUE_URL": "https://queues/dispatch",
}


def test_what_is_not_set_takes_its_default() -> None:
    settings = Settings.from_environment(ENVIRONMENT | {"CASEGRAPH_LOG_LEVEL": ""})
    assert settings.installation_id == "default"
    assert settings.log_level == "INFO"
    assert settings.aws_endpoint_url is None


def test_every_missing_variable_is_named_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({})
    for name in ENVIRONMENT:
        assert f"{name} is not set" in str(caught.value)
    assert caught.value.code == "settings_invalid"


def test_a_wrong_value_is_named_with_what_it_must_be() -> None:
    with pytest.raises(SettingsError, match=r"CASEGRAPH_LOG_LEVEL='LOUD'.*DEBUG"):
        Settings.from_environment(ENVIRONMENT | {"CASEGRAPH_LOG_LEVEL": "LOUD"})
    with pytest.raises(SettingsError, match=r"CASEGRAPH_EXECUTE_QUEUE_URL='execute'.*URL"):
        Settings.from_environment(ENVIRONMENT | {"CASEGRAPH_EXECUTE_QUEUE_URL": "execute"})


def test_settings_survive_the_way_through_the_environment() -> None:
    settings = Settings.from_environment(ENVIRONMENT | {"CASEGRAPH_AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
    assert Settings.from_environment(settings.to_environment()) == settings


def test_each_table_has_its_deployed_name() -> None:
    settings = Settings.from_environment(ENVIRONMENT)
    assert {table: settings.table_name(table) for table in Table} == {table: table.value for table in Table}
