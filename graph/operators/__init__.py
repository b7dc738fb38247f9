"""The table of operators: a function for each, from a node to a program, a view or a product.

In reading order: `points/` · `places/` · `sums/` · `refused`. An operator that is missing here is expanded into others
where the standard defines it by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graph.model.node import Made, Node
from graph.operators.places import MOVES, PLACES
from graph.operators.points import CASTS, POINTS
from graph.operators.refused import REFUSED
from graph.operators.sums import SUMS

# Operators that move bytes, or that decode them. They take dtypes with which no program can compute.
MOVING = frozenset((*MOVES, *CASTS))
OPERATORS: Mapping[str, Callable[[Node], Made]] = {**POINTS, **PLACES, **SUMS, **REFUSED}
