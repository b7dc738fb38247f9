"""Operators that give each point a value of the same point of their inputs: `POINTS`.

In reading order: `elementwise` · `casts`, with quantisation · `recurrent`, the cells of networks · `training`.
"""

from graph.operators.points.casts import CASTS
from graph.operators.points.elementwise import ELEMENTWISE
from graph.operators.points.recurrent import RECURRENT
from graph.operators.points.training import TRAINING

POINTS = {**ELEMENTWISE, **CASTS, **RECURRENT, **TRAINING}

__all__ = ["CASTS", "POINTS"]
