"""Credentials of the local AWS process: made up, and set for this process and its children only.

The local AWS process takes any key. Real credentials of the machine must never reach it, and a client without any
would look for them on the network, so both are ruled out before the first client is made.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping

REGION = "us-east-1"

LOCAL_CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}
# What would win over the above, or lead a client elsewhere.
_OVERRIDING = (
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ENDPOINT_URL",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


def use_local_credentials(environment: MutableMapping[str, str] | None = None) -> None:
    """Put the made-up credentials into the environment (this process's own, when none is given)."""
    target = os.environ if environment is None else environment
    for name in _OVERRIDING:
        target.pop(name, None)
    target.update(LOCAL_CREDENTIALS)
    # Files of the machine that hold profiles are not read at all.
    target["AWS_CONFIG_FILE"] = target["AWS_SHARED_CREDENTIALS_FILE"] = os.devnull
