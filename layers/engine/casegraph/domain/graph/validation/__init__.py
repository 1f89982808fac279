"""Everything that is wrong with a bundle, at once, each problem with its place."""

from casegraph.domain.graph.problem import Problem
from casegraph.domain.graph.validation.validate import Validated, validate

__all__ = ["Problem", "Validated", "validate"]
