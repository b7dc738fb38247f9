"""Times models in turns in one process, step by step. A worker runs this to tune a model.

turns(folders=[one, other]) -> seconds[model][turn][step]
"""

from __future__ import annotations

import numpy as np

from graph.calls.compiled import CompiledModel, load_model


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


def random_inputs(model: CompiledModel, seed: int) -> list[np.ndarray]:
    """Floats between 0 and 1; whole numbers 0, which are inside whatever they index."""
    random = np.random.default_rng(seed)
    wanted = [(array.shape, y.dtype) for array, y in zip(model.inputs, model.empty_inputs())]
    return [random.random(s).astype(d) if d.kind == "f" else np.zeros(s, d) for s, d in wanted]
