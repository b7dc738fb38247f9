"""Operators that take numbers from other places: `PLACES`.

In reading order: `moves`, known when compiled · `selection`, decided by numbers · `resizing` · `sampling`, in between.
"""

from graph.operators.places.moves import MOVES
from graph.operators.places.resizing import RESIZING
from graph.operators.places.sampling import SAMPLING
from graph.operators.places.selection import SELECTION

PLACES = {**MOVES, **SELECTION, **RESIZING, **SAMPLING}

__all__ = ["MOVES", "PLACES"]
