"""Where the files that belong to the product are: in the wheel, or in the clone that an editable install points to."""

from __future__ import annotations

from pathlib import Path

import casegraph
from casegraph.errors import NeedsOperator

_PACKAGE = Path(casegraph.__file__).parent


def bundled(name: str) -> Path:
    """The path of `template.yaml`, `workflows` or another file of the project's root.

    Raises `NeedsOperator` (code `installation_incomplete`) when neither the wheel nor a clone has it.
    """
    clone = _PACKAGE.parents[2]
    for candidate in (_PACKAGE / "_bundled" / name, clone / name):
        if candidate.exists():
            return candidate
    raise NeedsOperator(
        f"{name} is neither in the installed package nor in {clone}; install casegraph again",
        "installation_incomplete",
        name=name,
    )
