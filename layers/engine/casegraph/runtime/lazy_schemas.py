"""JSON Schema checks for functions that rarely need them: the library is imported at the first use.

The executor's cold import must not pay for it (architecture.md 12), but an event by key is matched, and so checked, by
whichever burst opens the wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.application.schemas import Problem


class LazyJsonSchemas:
    """The `Schemas` port, loaded when it is asked."""

    def problems(self, schema: Mapping[str, Any], value: Any) -> list[Problem]:
        """See `Schemas.problems`."""
        from casegraph.runtime.json_schemas import JsonSchemas

        return JsonSchemas().problems(schema, value)
