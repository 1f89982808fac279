"""Derived ids, so that retries converge (protocol.md 1), and the public ids of a run's rows."""

from __future__ import annotations

from casegraph.domain.canonical import digest


def derived_id(prefix: str, *parts: object) -> str:
    """`<prefix>-<28 hex>` from the digest of the parts."""
    return f"{prefix}-{digest([str(part) for part in parts]).removeprefix('sha256:')[:28]}"


def run_id_from_key(installation_id: str, caller: str, operation: str, idempotency_key: str) -> str:
    """A run started by a caller with an `Idempotency-Key`."""
    return derived_id("run", installation_id, caller, operation, idempotency_key)


def run_id_from_route(report_id: str, route_number: int, workflow_key: str) -> str:
    """A run started by routing a report."""
    return derived_id("run", report_id, route_number, workflow_key)


def public_id(run_id: str, step: str, number: int | None = None) -> str:
    """The URL-safe id of a step's task or effect: `<run_id>.<step with ~ and .>[.~n]`.

    Node ids hold no `~` or `.`, so that it can be taken apart again.
    """
    tail = "" if number is None else f".~{number}"
    return f"{run_id}.{step.replace('#', '~').replace('/', '.')}{tail}"


def parse_public_id(text: str) -> tuple[str, str, int | None] | None:
    """`(run_id, step, number)` of a public id, or None when it is none."""
    run_id, _, rest = text.partition(".")
    if not run_id or not rest:
        return None
    body, _, number = rest.rpartition(".~")
    if body and number.isdigit():
        return run_id, body.replace("~", "#").replace(".", "/"), int(number)
    return run_id, rest.replace("~", "#").replace(".", "/"), None
