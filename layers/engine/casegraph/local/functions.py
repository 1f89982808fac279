"""The real Lambda handlers, loaded from `functions/<name>/handler.py` (clone or wheel) and called in process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from casegraph.errors import NeedsOperator
from casegraph.local.bundled import bundled
from casegraph.local.lambda_context import LambdaContext

Handler = Callable[[dict[str, Any], Any], Any]
NAMES = ("api", "execute", "dispatch", "reconcile")


class Function:
    """One function: its handler and its time limit, as Lambda would call it."""

    def __init__(self, name: str, timeout_seconds: float) -> None:
        """Loads the handler, which reads the environment (`Settings.to_environment`) as on AWS."""
        self.name = name
        self.timeout_seconds = timeout_seconds
        self._handler = load_handler(name)

    def __call__(self, event: dict[str, Any]) -> Any:
        """Invoke it with a fresh context."""
        return self._handler(event, LambdaContext(f"casegraph-{self.name}", self.timeout_seconds))


def load_handler(name: str) -> Handler:
    """The `handler` of `functions/<name>/handler.py`; a second load in the same process is the same module, as in a
    warm Lambda environment. Raises `NeedsOperator("installation_incomplete")`."""
    module = sys.modules.get(_module_name(name)) or _load(name)
    handler: Handler = module.handler
    return handler


def _module_name(name: str) -> str:
    return f"casegraph_function_{name}"


def _load(name: str) -> ModuleType:
    path = bundled("functions") / name / "handler.py"
    spec = importlib.util.spec_from_file_location(_module_name(name), path)
    if spec is None or spec.loader is None or not path.exists():
        raise NeedsOperator(
            f"{path} is missing; install casegraph again", "installation_incomplete", name=name
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[_module_name(name)] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[_module_name(name)]
        raise
    return module
