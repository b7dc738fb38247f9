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

# Operators that move bytes, or know what they mean, so that they take numbers of dtypes that no program computes with.
MOVING = frozenset((*MOVES, *CASTS))
OPERATORS: Mapping[str, Callable[[Node], Made]] = {**POINTS, **PLACES, **SUMS, **REFUSED}
