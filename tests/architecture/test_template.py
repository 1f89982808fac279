"""What template.yaml must keep, checked statically."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from casegraph.adapters.indexes import indexes_of
from casegraph.domain.writes import Table
from casegraph.local.stack import load_template
from casegraph.runtime.settings import PREFIX, Settings, variable

ROOT = Path(__file__).parents[2]
TEMPLATE = load_template()
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]
GLOBALS: dict[str, Any] = TEMPLATE["Globals"]["Function"]

ENGINE_TABLES = {f"{table.value.title()}Table": table for table in Table}
EXPIRING = {"RunsTable", "CorrelationsTable", "CatalogTable"}


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    return {name: r.get("Properties", {}) for name, r in RESOURCES.items() if r["Type"] == kind}


TABLES = of_type("AWS::DynamoDB::Table")
QUEUES = of_type("AWS::SQS::Queue")
FUNCTIONS = of_type("AWS::Serverless::Function")
WORK_QUEUES = [name for name in QUEUES if not name.endswith("DeadLetterQueue")]


def consumed_queue(function: dict[str, Any]) -> str | None:
    for event in function.get("Events", {}).values():
        if event["Type"] == "SQS":
            return str(event["Properties"]["Queue"]["Fn::GetAtt"][0])
    return None


def test_the_tables_are_the_engine_s_tables() -> None:
    assert set(TABLES) == set(ENGINE_TABLES)


@pytest.mark.parametrize("name", TABLES)
def test_each_table_has_exactly_its_keys_and_indexes(name: str) -> None:
    table = TABLES[name]
    types = {a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]}
    found = {}
    for index in table.get("GlobalSecondaryIndexes", []):
        (hash_key, range_key) = [k["AttributeName"] for k in index["KeySchema"]]
        assert [k["KeyType"] for k in index["KeySchema"]] == ["HASH", "RANGE"]
        assert types[hash_key] == "S"
        assert index["Projection"] == {"ProjectionType": "KEYS_ONLY"}
        found[index["IndexName"]] = (hash_key, range_key, types[range_key])
    kinds = {int: "N", str: "S"}
    wanted = indexes_of(ENGINE_TABLES[name])
    assert found == {index.name: (index.partition, index.sort, kinds[index.sort_type]) for index in wanted}
    assert [(k["AttributeName"], k["KeyType"]) for k in table["KeySchema"]] == [
        ("pk", "HASH"),
        ("sk", "RANGE"),
    ]
    assert (types["pk"], types["sk"]) == ("S", "S")


@pytest.mark.parametrize("name", TABLES)
def test_each_table_is_on_demand_backed_up_and_hard_to_lose(name: str) -> None:
    table = TABLES[name]
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["DeletionProtectionEnabled"] is True
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert "SSESpecification" in table
    assert RESOURCES[name]["DeletionPolicy"] == RESOURCES[name]["UpdateReplacePolicy"] == "Retain"
    ttl = table.get("TimeToLiveSpecification")
    assert ttl == ({"AttributeName": "expires_at", "Enabled": True} if name in EXPIRING else None)


@pytest.mark.parametrize("name", WORK_QUEUES)
def test_each_queue_redrives_to_a_dead_letter_queue_of_its_own(name: str) -> None:
    redrive = QUEUES[name]["RedrivePolicy"]
    assert redrive["maxReceiveCount"] == 5
    assert redrive["deadLetterTargetArn"] == {"Fn::GetAtt": [name.replace("Queue", "DeadLetterQueue"), "Arn"]}
    assert name.replace("Queue", "DeadLetterQueue") in QUEUES


def test_each_queue_hides_a_message_six_times_as_long_as_its_function_runs() -> None:
    consumers = {consumed_queue(f): f["Timeout"] for f in FUNCTIONS.values() if consumed_queue(f)}
    assert set(consumers) == set(WORK_QUEUES)
    for queue, timeout in consumers.items():
        assert QUEUES[str(queue)]["VisibilityTimeout"] >= 6 * timeout


def test_an_executor_takes_one_record_and_a_dispatcher_ten_both_bounded_and_partial() -> None:
    sizes = {}
    for name, function in FUNCTIONS.items():
        for event in function.get("Events", {}).values():
            if event["Type"] == "SQS":
                sizes[name] = event["Properties"]["BatchSize"]
                assert event["Properties"]["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
                assert "MaximumConcurrency" in event["Properties"]["ScalingConfig"]
    assert sizes == {"ExecuteFunction": 1, "DispatchFunction": 10}


def test_the_functions_run_on_arm64_with_their_timeouts_and_logs() -> None:
    assert GLOBALS["Architectures"] == ["arm64"]
    assert GLOBALS["Runtime"] == "python3.13"
    timeouts = {name: function["Timeout"] for name, function in FUNCTIONS.items()}
    assert timeouts == {
        "ApiFunction": 29,
        "ExecuteFunction": 60,
        "DispatchFunction": 60,
        "ReconcileFunction": 55,
    }
    logs = of_type("AWS::Logs::LogGroup")
    for function in FUNCTIONS.values():
        assert not {"Architectures", "Runtime", "Environment"} & set(function)
        assert "RetentionInDays" in logs[function["LoggingConfig"]["LogGroup"]["Ref"]]


def test_every_variable_is_read_by_the_settings_and_every_required_setting_is_set() -> None:
    given = {name for name in GLOBALS["Environment"]["Variables"] if name.startswith(PREFIX)}
    read = {variable(name) for name in Settings.model_fields}
    required = {variable(name) for name, field in Settings.model_fields.items() if field.is_required()}
    assert given - read == set()
    assert required - given == set()
    assert "CASEGRAPH_AWS_ENDPOINT_URL" not in given


def statements() -> list[tuple[str, dict[str, Any]]]:
    policies = [
        (name, policy)
        for name, function in FUNCTIONS.items()
        for policy in function["Policies"]
        if "Statement" in policy
    ]
    managed = of_type("AWS::IAM::ManagedPolicy")
    policies += [(name, properties["PolicyDocument"]) for name, properties in managed.items()]
    return [(name, s) for name, policy in policies for s in policy["Statement"] if s["Effect"] == "Allow"]


def test_no_permission_is_given_by_wildcard_or_to_everything() -> None:
    assert len(statements()) > len(FUNCTIONS)
    for name, statement in statements():
        assert all("*" not in action for action in statement["Action"]), name
        resources = statement["Resource"]
        for resource in resources if isinstance(resources, list) else [resources]:
            assert resource != "*", name


def test_only_the_sweep_may_delete_payloads_and_nobody_scans() -> None:
    deleters = {name for name, s in statements() if "s3:DeleteObject" in s["Action"]}
    scanners = {name for name, s in statements() if "dynamodb:Scan" in s["Action"]}
    assert deleters == {"ReconcileFunction"}
    assert scanners == set()


def test_a_missing_payload_answers_404_to_whoever_may_read_payloads() -> None:
    readers = {name for name, s in statements() if "s3:GetObject" in s["Action"]}
    listers = {name for name, s in statements() if "s3:ListBucket" in s["Action"]}
    assert readers == listers


def test_every_route_of_the_api_asks_for_identity() -> None:
    routes = of_type("AWS::ApiGatewayV2::Route")
    assert routes
    for route in routes.values():
        assert route["AuthorizationType"] in ("JWT", "AWS_IAM")
    assert "Default" not in TEMPLATE["Parameters"]["JwtIssuer"]


def test_every_alarm_says_what_it_means_what_to_do_first_and_where_to_read_on() -> None:
    alarms = of_type("AWS::CloudWatch::Alarm") | of_type("AWS::CloudWatch::CompositeAlarm")
    assert {
        "ExecuteDeadLettersAlarm",
        "DispatchDeadLettersAlarm",
        "DueLagAlarm",
        "ReconcileSilentAlarm",
    } < set(alarms)
    for alarm in alarms.values():
        assert "First command: casegraph " in alarm["AlarmDescription"]
        address = alarm["AlarmDescription"].split("Runbook: ")[1].split("#")
        assert f"\n## {address[1]}\n" in (ROOT / address[0]).read_text()
    assert alarms["ReconcileSilentAlarm"]["TreatMissingData"] == "breaching"


def test_the_bucket_is_private_encrypted_and_kept() -> None:
    bucket = RESOURCES["PayloadBucket"]
    assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}
    assert "BucketEncryption" in bucket["Properties"]
    assert bucket["DeletionPolicy"] == "Retain"
