"""SDK errors that mean the same for every service, translated once: by code and class, never by message text.

What is not known here (missing permission, missing table, wrong parameters) is no part of the protocol and is raised as
it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    IncompleteReadError,
    ProxyConnectionError,
    ResponseStreamingError,
    SSLError,
)
from botocore.parsers import ResponseParserError

from casegraph.errors import CasegraphError, OutcomeUnknown, Throttled, TransientFailure

Kind = Literal["read", "write"]

THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
# The connection was never made, so nothing was sent: even a write may be repeated as it is.
NEVER_SENT = (ConnectTimeoutError, EndpointConnectionError, ProxyConnectionError, SSLError)
# The request may have been carried out; its reply did not arrive, or not whole.
REPLY_LOST = (
    ChecksumError,
    HTTPClientError,
    IncompleteReadError,
    ResponseParserError,
    ResponseStreamingError,
)
_FIRST_SERVER_ERROR = 500


def error_code(error: ClientError) -> str:
    """The error's code, such as `ValidationException`."""
    return error.response.get("Error", {}).get("Code", "")


def common_error(error: Exception, kind: Kind) -> CasegraphError | None:
    """What an SDK error means, whatever the service; None: it is not one of these."""
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if error_code(error) in THROTTLES:
            return Throttled(f"{error.operation_name} was throttled ({error_code(error)})")
        return _interrupted(error.operation_name, kind) if status >= _FIRST_SERVER_ERROR else None
    if isinstance(error, NEVER_SENT):
        return TransientFailure(f"there was no connection ({type(error).__name__})")
    if isinstance(error, REPLY_LOST):
        return _interrupted(type(error).__name__, kind)
    return None


def _interrupted(what: str, kind: Kind) -> CasegraphError:
    if kind == "read":
        return TransientFailure(f"a read failed on the way ({what})")
    return OutcomeUnknown(f"a write's outcome is unknown ({what}); read back, or resend the identical body")


@contextmanager
def translating(kind: Kind) -> Iterator[None]:
    """Raise SDK errors of the block as the engine's, with the SDK's as their cause; unknown ones as they are."""
    try:
        yield
    except (ClientError, BotoCoreError, ResponseParserError) as error:
        meant = common_error(error, kind)
        if meant is None:
            raise
        raise meant from error
