"""Random models give exactly what onnx's reference does, in every layout and on one thread and two."""

from __future__ import annotations

import pytest

from graph.passes import in_place
from tests.support.models.random_graphs.checks import check_compiled, check_steps


@pytest.mark.slow
@pytest.mark.exhaustive(block=lambda block: block % 2)
@pytest.mark.parametrize("block", range(4))
def test_the_steps_of_random_models_are_exact(block, monkeypatch):
    monkeypatch.setattr(in_place, "ALIGNMENT", (64, 4)[block % 2])  # parts may begin with any number
    for seed in range(25 * block, 25 * (block + 1)):
        check_steps(seed)


@pytest.mark.slow
@pytest.mark.exhaustive(seed=lambda seed: seed % 3)
@pytest.mark.parametrize("seed", range(6))
def test_random_models_are_exact(seed, monkeypatch):
    check_compiled(seed, monkeypatch)
