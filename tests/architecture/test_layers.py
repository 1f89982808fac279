"""Who may import whom, where a list of what is allowed says more than import-linter's list of what is not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "layers/engine/casegraph"
# Standard library with a clock, randomness, or a way to the outside.
IMPURE = {
    "random",
    "secrets",
    "uuid",
    "socket",
    "subprocess",
    "threading",
    "asyncio",
    "os",
    "pathlib",
    "time",
    "logging",
}
DOMAIN_MAY = {"pydantic", "pydantic_core", "cel_expr_python", "google", "re2", "casegraph"}
FUNCTION_MAY = {"casegraph.runtime", "aws_lambda_powertools"}


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def test_the_domain_is_pure() -> None:
    offences = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(ENGINE / "domain")
        for name in imported(path)
        if (top := name.split(".")[0]) in IMPURE
        or (top not in sys.stdlib_module_names and top not in DOMAIN_MAY)
    ]
    assert offences == []


def test_errors_and_limits_import_the_standard_library_only() -> None:
    for name in ("errors.py", "limits.py"):
        foreign = {n.split(".")[0] for n in imported(ENGINE / name)} - set(sys.stdlib_module_names)
        assert foreign == set()


def test_a_function_calls_the_runtime_and_nothing_else_of_the_engine() -> None:
    offences = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in modules(ROOT / "functions")
        for name in imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names
        and not any(name == allowed or name.startswith(f"{allowed}.") for allowed in FUNCTION_MAY)
    ]
    assert offences == []


@pytest.mark.parametrize("handler", modules(ROOT / "functions"), ids=lambda p: p.parent.name)
def test_a_handler_is_short(handler: Path) -> None:
    assert len(handler.read_text().splitlines()) <= 60


def test_no_module_is_longer_than_600_lines() -> None:
    long = [str(p.relative_to(ROOT)) for p in modules(ENGINE) if len(p.read_text().splitlines()) > 600]
    assert long == []


def test_a_package_s_init_holds_no_code() -> None:
    for path in ENGINE.rglob("__init__.py"):
        body = ast.parse(path.read_text()).body
        assert all(isinstance(node, ast.Expr | ast.Assign) for node in body), path
