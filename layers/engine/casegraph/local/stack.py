"""The deployed template's tables, queues and bucket on the local AWS process.

The local stack is derived from `template.yaml` itself: its stateful resources, and as outputs the values that its
functions get in their environment. So the handlers that run in this process get the settings that they would get on
AWS.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import boto3
from botocore.exceptions import ClientError
from samtranslator.yaml_helper import yaml_parse

from casegraph.local.aws_process import LocalAwsFailed
from casegraph.local.bundled import bundled
from casegraph.local.credentials import LOCAL_CREDENTIALS, REGION
from casegraph.runtime.settings import PREFIX, Settings, variable

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

STACK_NAME = "casegraph"
# What holds state. Functions run in this process, and the rest has no use on a laptop.
LOCAL_TYPES = frozenset({"AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::S3::Bucket"})
# Making five tables takes less than a second; a busy machine takes longer.
STACK_SECONDS = 60.0
POLL_SECONDS = 0.1
_DIGEST_TAG = "casegraph-template"


def load_template(path: Path | None = None) -> dict[str, Any]:
    """The SAM template (the packaged one, when no path is given) with its intrinsics in their long form."""
    parsed: dict[str, Any] = yaml_parse((path or bundled("template.yaml")).read_text())
    return parsed


def local_template(template: Mapping[str, Any]) -> dict[str, Any]:
    """The plain CloudFormation template of the local stack: resources of `LOCAL_TYPES`, and one output for each
    `CASEGRAPH_` variable of the functions' environment."""
    resources = {name: r for name, r in template["Resources"].items() if r["Type"] in LOCAL_TYPES}
    variables = template["Globals"]["Function"]["Environment"]["Variables"]
    outputs = {
        output_name(name): {"Value": value} for name, value in variables.items() if name.startswith(PREFIX)
    }
    conditions = _used(template.get("Conditions", {}), "Fn::If", resources)
    parameters = _used(template.get("Parameters", {}), "Ref", [resources, outputs, conditions])
    return {
        "AWSTemplateFormatVersion": template["AWSTemplateFormatVersion"],
        "Description": "Casegraph, local: tables, queues and bucket of template.yaml",
        "Parameters": parameters,
        "Conditions": conditions,
        "Resources": resources,
        "Outputs": outputs,
    }


def output_name(variable: str) -> str:
    """The output that carries an environment variable: CASEGRAPH_RUNS_TABLE is CasegraphRunsTable."""
    return variable.title().replace("_", "")


def ensure_stack(
    endpoint_url: str,
    *,
    name: str = STACK_NAME,
    template: Mapping[str, Any] | None = None,
    parameters: Mapping[str, str] | None = None,
) -> Settings:
    """Create the local stack, bring it up to the template, or adopt it as it is; the settings for the handlers.

    `name` makes an isolated stack of its own (tests). Raises `LocalAwsFailed` with the resources' reasons.
    """
    body = local_template(template or load_template())
    cloudformation = _client(endpoint_url)
    text = json.dumps(body, sort_keys=True)
    tag = hashlib.sha256(text.encode()).hexdigest()
    request: dict[str, Any] = {
        "StackName": name,
        "TemplateBody": text,
        "Parameters": [{"ParameterKey": k, "ParameterValue": v} for k, v in (parameters or {}).items()],
        "Tags": [{"Key": _DIGEST_TAG, "Value": tag}],
    }
    stack = _describe(cloudformation, name)
    # A creation that failed has left nothing, and the local AWS process lets it be tried again under the same name.
    if stack is None or stack["StackStatus"] == "ROLLBACK_COMPLETE":
        _create(cloudformation, request)
    elif {"Key": _DIGEST_TAG, "Value": tag} not in stack.get("Tags", []):
        cloudformation.update_stack(**request)
    return _settings(_settled(cloudformation, name), endpoint_url)


def at_endpoint(url: str, endpoint_url: str) -> str:
    """A queue URL with host and port of the endpoint: the local AWS process writes the ones of its first start."""
    scheme, netloc, *_ = urlsplit(endpoint_url)
    return urlunsplit((scheme, netloc, urlsplit(url).path, "", ""))


def _client(endpoint_url: str) -> CloudFormationClient:
    return boto3.client(
        "cloudformation",
        endpoint_url=endpoint_url,
        region_name=REGION,
        aws_access_key_id=LOCAL_CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=LOCAL_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )


def _create(cloudformation: CloudFormationClient, request: dict[str, Any]) -> None:
    try:
        cloudformation.create_stack(**request)
    except ClientError as exc:
        # Another process was quicker; its stack is as good as ours.
        if exc.response["Error"]["Code"] != "AlreadyExistsException":
            raise


def _describe(cloudformation: CloudFormationClient, name: str) -> StackTypeDef | None:
    try:
        return cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as exc:
        # CloudFormation answers an unknown stack's name with ValidationError, and so does the local AWS process.
        if exc.response["Error"]["Code"] == "ValidationError":
            return None
        raise


def _settled(cloudformation: CloudFormationClient, name: str) -> StackTypeDef:
    deadline = time.monotonic() + STACK_SECONDS
    while True:
        stack = _describe(cloudformation, name)
        status = stack["StackStatus"] if stack else "missing"
        if stack and status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return stack
        if not status.endswith("_IN_PROGRESS") or time.monotonic() > deadline:
            reasons = _reasons(cloudformation, name) if stack else []
            raise LocalAwsFailed(f"local stack {name} is {status}: {'; '.join(reasons)}", status=status)
        time.sleep(POLL_SECONDS)


def _reasons(cloudformation: CloudFormationClient, name: str) -> list[str]:
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    failed = [e for e in events if e.get("ResourceStatus", "").endswith("_FAILED")]
    return [
        f"{e.get('LogicalResourceId')}: {e.get('ResourceStatusReason', 'no reason given')}" for e in failed
    ]


def _settings(stack: StackTypeDef, endpoint_url: str) -> Settings:
    outputs = {o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}
    keys = {name: output_name(variable(name)) for name in Settings.model_fields}
    fields = {name: outputs[key] for name, key in keys.items() if key in outputs}
    for name in ("execute_queue_url", "dispatch_queue_url"):
        fields[name] = at_endpoint(fields[name], endpoint_url)
    return Settings.model_validate(fields | {"aws_endpoint_url": endpoint_url})


def _used(available: Mapping[str, Any], intrinsic: str, where: Any) -> dict[str, Any]:
    """The members of `available` that an intrinsic names anywhere in `where`."""
    names = set(_named(intrinsic, where))
    return {name: value for name, value in available.items() if name in names}


def _named(intrinsic: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if intrinsic in value:
            argument = value[intrinsic]
            yield argument[0] if isinstance(argument, list) else argument
        for member in value.values():
            yield from _named(intrinsic, member)
    elif isinstance(value, list):
        for member in value:
            yield from _named(intrinsic, member)
