"""The local AWS process and the stack that is derived from template.yaml."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from casegraph.local.aws_process import LocalAws, LocalAwsFailed
from casegraph.local.credentials import REGION, use_local_credentials
from casegraph.local.stack import at_endpoint, ensure_stack, load_template, local_template
from casegraph.runtime.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

pytestmark = pytest.mark.local_aws


def dynamodb(settings: Settings) -> DynamoDBClient:
    return boto3.client("dynamodb", endpoint_url=settings.aws_endpoint_url, region_name=REGION)


def sqs(settings: Settings) -> SQSClient:
    return boto3.client("sqs", endpoint_url=settings.aws_endpoint_url, region_name=REGION)


def s3(settings: Settings) -> S3Client:
    return boto3.client("s3", endpoint_url=settings.aws_endpoint_url, region_name=REGION)


def test_items_messages_and_objects_are_there_after_a_stop_and_a_start(tmp_path: Path) -> None:
    item: dict[str, Any] = {"pk": {"S": "RUN#1"}, "sk": {"S": "HEAD"}}
    with LocalAws(tmp_path) as process:
        before = ensure_stack(process.endpoint_url)
        dynamodb(before).put_item(TableName=before.runs_table, Item=item)
        sqs(before).send_message(QueueUrl=before.execute_queue_url, MessageBody="job")
        s3(before).put_object(Bucket=before.payload_bucket, Key="runs/1/digest", Body=b"payload")
    with LocalAws(tmp_path) as process:
        after = ensure_stack(process.endpoint_url)
        found = dynamodb(after).get_item(TableName=after.runs_table, Key=item)
        messages = sqs(after).receive_message(QueueUrl=after.execute_queue_url)["Messages"]
        payload = s3(after).get_object(Bucket=after.payload_bucket, Key="runs/1/digest")["Body"].read()
    assert found["Item"] == item
    assert [m["Body"] for m in messages] == ["job"]
    assert payload == b"payload"
    assert after.runs_table == before.runs_table
    assert after.execute_queue_url.startswith(f"{after.aws_endpoint_url}/")
    assert after.dispatch_queue_url.startswith(f"{after.aws_endpoint_url}/")


def test_a_stopped_process_no_longer_listens(tmp_path: Path) -> None:
    process = LocalAws(tmp_path).start()
    pid = json.loads((tmp_path / "process.json").read_text())["pid"]
    process.stop()
    process.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert not (tmp_path / "process.json").exists()
    with pytest.raises(LocalAwsFailed, match="not started"):
        _ = process.endpoint_url


def test_a_process_whose_owner_was_killed_is_adopted_with_what_it_holds(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with owner:
        assert owner.stdout is not None
        endpoint = owner.stdout.readline().strip()
        owner.send_signal(signal.SIGKILL)
    with LocalAws(tmp_path) as process:
        assert process.endpoint_url == endpoint
        assert process.owned
        settings = ensure_stack(process.endpoint_url)
        key = {"pk": {"S": "written by"}, "sk": {"S": "the owner"}}
        assert "Item" in dynamodb(settings).get_item(TableName=settings.runs_table, Key=key)
    assert not (tmp_path / "process.json").exists()


OWNER = """
import sys, time, boto3
from pathlib import Path
from casegraph.local.aws_process import LocalAws
from casegraph.local.credentials import use_local_credentials
from casegraph.local.stack import ensure_stack
use_local_credentials()
process = LocalAws(Path(sys.argv[1])).start()
settings = ensure_stack(process.endpoint_url)
client = boto3.client("dynamodb", endpoint_url=process.endpoint_url)
client.put_item(TableName=settings.runs_table, Item={"pk": {"S": "written by"}, "sk": {"S": "the owner"}})
print(process.endpoint_url, flush=True)
time.sleep(60)
"""


@pytest.fixture
def living_owner(tmp_path: Path) -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        yield owner.stdout.readline().strip()
        owner.kill()
    LocalAws(tmp_path).stop()


def test_a_process_whose_owner_lives_is_used_and_not_stopped(living_owner: str, tmp_path: Path) -> None:
    with LocalAws(tmp_path) as guest:
        assert guest.endpoint_url == living_owner
        assert not guest.owned
    with LocalAws(tmp_path) as guest_again:
        assert guest_again.endpoint_url == living_owner


def test_two_starts_at_once_end_with_one_process(tmp_path: Path) -> None:
    script = OWNER.replace("time.sleep(60)", "sys.stdin.read()")
    owners = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path)],
            stdout=subprocess.PIPE,
            stdin=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    endpoints = {o.stdout.readline().strip() for o in owners if o.stdout}
    for owner in owners:
        owner.communicate()
    LocalAws(tmp_path).stop()
    assert len(endpoints) == 1


def test_a_record_of_a_process_that_is_gone_is_ignored(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "process.json").write_text(json.dumps({"pid": gone.pid, "port": 9, "owner_pid": gone.pid}))
    with LocalAws(tmp_path) as process:
        assert process.port != 9


def test_a_port_that_is_taken_is_refused(local_aws_process: LocalAws, tmp_path: Path) -> None:
    with pytest.raises(LocalAwsFailed, match=rf"port {local_aws_process.port} .* taken"):
        LocalAws(tmp_path, port=local_aws_process.port).start()


def test_a_process_that_ends_while_starting_is_an_error_that_quotes_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    with pytest.raises(LocalAwsFailed, match=r"did not start: .+"):
        LocalAws(tmp_path).start()
    assert not (tmp_path / "process.json").exists()


def test_the_stack_is_adopted_the_second_time(local_aws_process: LocalAws) -> None:
    first = ensure_stack(local_aws_process.endpoint_url, name="adopted")
    second = ensure_stack(local_aws_process.endpoint_url, name="adopted")
    assert second == first


def test_a_new_index_in_the_template_reaches_the_tables_and_keeps_the_items(
    local_aws_process: LocalAws,
) -> None:
    template = load_template()
    before = ensure_stack(local_aws_process.endpoint_url, name="updated", template=template)
    key = {"pk": {"S": "kept"}, "sk": {"S": "kept"}}
    dynamodb(before).put_item(TableName=before.subjects_table, Item=key)
    table = template["Resources"]["SubjectsTable"]["Properties"]
    table["AttributeDefinitions"].append({"AttributeName": "new_pk", "AttributeType": "S"})
    table["GlobalSecondaryIndexes"] = [
        {
            "IndexName": "new",
            "KeySchema": [{"AttributeName": "new_pk", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ]
    after = ensure_stack(local_aws_process.endpoint_url, name="updated", template=template)
    described = dynamodb(after).describe_table(TableName=after.subjects_table)["Table"]
    assert after == before
    assert [i["IndexName"] for i in described["GlobalSecondaryIndexes"]] == ["new"]
    assert dynamodb(after).get_item(TableName=after.subjects_table, Key=key)["Item"] == key


def test_a_stack_that_cannot_be_made_says_why_and_can_be_made_once_the_template_is_right(
    local_aws_process: LocalAws,
) -> None:
    template = load_template()
    template["Resources"]["ExecuteQueue"]["Properties"]["VisibilityTimeout"] = "wrong"
    with pytest.raises(LocalAwsFailed, match=r"ExecuteQueue: .*VisibilityTimeout"):
        ensure_stack(local_aws_process.endpoint_url, name="repaired", template=template)
    settings = ensure_stack(local_aws_process.endpoint_url, name="repaired")
    assert settings.runs_table.startswith("repaired-")


def test_the_tables_have_the_template_s_indexes(local_aws: Settings) -> None:
    described = dynamodb(local_aws).describe_table(TableName=local_aws.runs_table)["Table"]
    names = {i["IndexName"] for i in described["GlobalSecondaryIndexes"]}
    assert names == {"due", "attention", "started", "queue_tasks", "person_tasks"}


def test_each_queue_redrives_to_its_own_dead_letter_queue(local_aws: Settings) -> None:
    targets = [
        json.loads(
            sqs(local_aws).get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"][
                "RedrivePolicy"
            ]
        )["deadLetterTargetArn"]
        for url in (local_aws.execute_queue_url, local_aws.dispatch_queue_url)
    ]
    assert len(set(targets)) == 2


def test_the_settings_carry_the_parameters_defaults_and_the_endpoint(
    local_aws: Settings, local_aws_process: LocalAws
) -> None:
    assert local_aws.installation_id == "default"
    assert local_aws.aws_endpoint_url == local_aws_process.endpoint_url
    assert local_aws.execute_queue_url.startswith(local_aws_process.endpoint_url + "/")


def test_the_local_template_holds_no_function_and_no_unused_parameter() -> None:
    derived = local_template(load_template())
    assert "Transform" not in derived
    assert "JwtIssuer" not in derived["Parameters"]
    assert not [n for n, r in derived["Resources"].items() if "Serverless" in r["Type"]]


def test_a_queue_url_is_moved_to_the_endpoint() -> None:
    moved = at_endpoint("http://localhost:4566/000000000000/jobs", "http://127.0.0.1:1234")
    assert moved == "http://127.0.0.1:1234/000000000000/jobs"


def test_real_credentials_of_the_machine_do_not_reach_the_local_process() -> None:
    environment = {
        "AWS_PROFILE": "work",
        "AWS_SESSION_TOKEN": "real",
        "AWS_ACCESS_KEY_ID": "real",
        "PATH": "/bin",
    }
    use_local_credentials(environment)
    assert environment["AWS_ACCESS_KEY_ID"] == "local"
    assert not {"AWS_PROFILE", "AWS_SESSION_TOKEN"} & set(environment)
    assert environment["AWS_CONFIG_FILE"] == os.devnull
    assert environment["PATH"] == "/bin"
