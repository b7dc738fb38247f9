"""Times models in turns in one process, step by step. A worker runs this to tune a model.

turns(folders=[one, other]) -> seconds[model][turn][step]
"""

from __future__ import annotations

from graph.calls.compiled import load_model
from graph.calls.random_inputs import random_inputs


def turns(*, folders: list[str], count: int) -> list[list[list[float]]]:
    """The seconds of each step, in `count` turns of every saved model. Inputs are random, and the same for all."""
    models = [load_model(folder) for folder in folders]
    inputs, out = random_inputs(models[0], 0), models[0].empty()
    found: list[list[list[float]]] = [[] for _ in models]
    for turn in range(count):
        order = range(len(models)) if turn % 2 else reversed(range(len(models)))
        for place in order:
            models[place](*inputs, out=out)  # so that the caches hold what this model itself leaves there
            found[place].append(models[place].times(*inputs, out=out).tolist())
    return found
