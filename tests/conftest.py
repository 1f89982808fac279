"""Fixtures that every test folder shares.

The first lines matter: made-up credentials and moto's hooks must be there before any AWS client is made, else a client
talks to the real endpoint, or looks for real credentials.
"""

from __future__ import annotations

from casegraph.local.credentials import use_local_credentials

use_local_credentials()

import os  # noqa: E402
from collections.abc import Iterator  # noqa: E402

import hypothesis  # noqa: E402
import moto.core  # noqa: E402, F401 -- before the first client, see above
import pytest  # noqa: E402

from casegraph.local.aws_process import LocalAws  # noqa: E402
from casegraph.local.stack import ensure_stack  # noqa: E402
from casegraph.runtime.settings import Settings  # noqa: E402

# The gate (`make test`, CI) repeats the same examples: a change is blamed for what it broke and for nothing else.
# `HYPOTHESIS_PROFILE=explore` looks for new ones; a timing is never a pass or fail.
hypothesis.settings.register_profile("gate", derandomize=True, deadline=None)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


@pytest.fixture(scope="session")
def local_aws_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAws]:
    """The local AWS process of this test worker, without any stack; for tests that make stacks of their own:
    `ensure_stack(local_aws_process.endpoint_url, name="my-test")` takes half a second."""
    with LocalAws(tmp_path_factory.mktemp("local-aws")) as process:
        yield process


@pytest.fixture(scope="session")
def local_aws(local_aws_process: LocalAws) -> Settings:
    """Settings of the real template's tables, queues and bucket on the local AWS process of this test worker.

    Shared by all tests of the worker and never emptied: write under ids of your own (`tmp_path`'s name, a counter), and
    purge no queue that another test may be reading. `settings.aws_endpoint_url` is the endpoint for boto3.
    """
    return ensure_stack(local_aws_process.endpoint_url)
