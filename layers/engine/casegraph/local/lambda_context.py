"""What the Lambda runtime gives a handler besides its event: name, request id and the time that is left."""

from __future__ import annotations

import time
import uuid

from casegraph.local.credentials import REGION


class LambdaContext:
    """Lambda's context object (docs.aws.amazon.com/lambda/latest/dg/python-context.html), for handlers in process."""

    def __init__(self, function_name: str, timeout_seconds: float) -> None:
        self.function_name = function_name
        self.function_version = "$LATEST"
        self.memory_limit_in_mb = 1024
        self.aws_request_id = str(uuid.uuid4())
        self.invoked_function_arn = f"arn:aws:lambda:{REGION}:000000000000:function:{function_name}"
        self.log_group_name = f"/aws/lambda/{function_name}"
        self.log_stream_name = "local"
        self._ends_at = time.monotonic() + timeout_seconds

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until this invocation would be stopped, at least 0."""
        return max(0, round((self._ends_at - time.monotonic()) * 1000))
