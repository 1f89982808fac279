"""What a cold start loads (architecture.md 12): checked by the set of modules, not by the clock."""

from __future__ import annotations

import subprocess
import sys

ONLY_FOR_THE_API = ("aws_lambda_powertools.event_handler", "jsonschema", "referencing")
NEVER = (
    "typer", "rich", "ruamel", "jwt", "ministack", "samtranslator", "moto",
    "casegraph.cli", "casegraph.local", "casegraph.testing", "casegraph.authoring", "casegraph.client",
)  # fmt: skip


def loaded(module: str) -> set[str]:
    """The modules that are there after importing one in a fresh interpreter."""
    code = f"import sys, {module}; print('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def offences(modules: set[str], names: tuple[str, ...]) -> list[str]:
    return sorted(m for m in modules if any(m == name or m.startswith(f"{name}.") for name in names))


def test_execute_dispatch_and_reconcile_load_nothing_of_the_http_edge() -> None:
    modules = loaded("casegraph.runtime.entry")
    assert offences(modules, (*ONLY_FOR_THE_API, *NEVER, "httpx")) == []
    print(f"modules of a cold execute: {len(modules)}")


def test_the_api_loads_nothing_of_the_local_run() -> None:
    assert offences(loaded("casegraph.runtime.api"), NEVER) == []
