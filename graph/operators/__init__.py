"""The table of operators: a function for each, from a node to a program, a view or a product.

An operator that is missing here is expanded into others where the standard defines it by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graph.model.node import Made, Node
from graph.operators.casts import CASTS
from graph.operators.counting import COUNTING
from graph.operators.elementwise import ELEMENTWISE
from graph.operators.images import IMAGES
from graph.operators.moves import MOVES
from graph.operators.normalisations import NORMALISATIONS
from graph.operators.products import PRODUCTS
from graph.operators.quantised import QUANTISED
from graph.operators.recurrent import RECURRENT
from graph.operators.reductions import REDUCTIONS
from graph.operators.refused import REFUSED
from graph.operators.resizing import RESIZING
from graph.operators.sampling import SAMPLING
from graph.operators.selection import SELECTION
from graph.operators.signals import SIGNALS
from graph.operators.training import TRAINING

# Operators that move bytes, or know what they mean, so that they take numbers of dtypes that no program computes with.
MOVING = frozenset((*MOVES, *CASTS))
OPERATORS: Mapping[str, Callable[[Node], Made]] = {
    **ELEMENTWISE,
    **CASTS,
    **REDUCTIONS,
    **NORMALISATIONS,
    **MOVES,
    **IMAGES,
    **PRODUCTS,
    **QUANTISED,
    **SELECTION,
    **RESIZING,
    **SAMPLING,
    **SIGNALS,
    **TRAINING,
    **COUNTING,
    **REFUSED,
    **RECURRENT,
}
