"""How far a program's kernel is from the definition. A kernel fails whose error no rounding explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from search.evaluator.interface.definition import definition_error, unbounded
from search.evaluator.interface.errors import CandidateError
from tiling.program.infer import Array, Sized, sized
from tiling.program.read import read


@dataclass
class Function:
    """A kernel that a function of NumPy stands for."""

    program: Sized
    computed: Any

    @property
    def inputs(self) -> tuple[Array, ...]:
        return self.program.inputs

    @property
    def outputs(self) -> tuple[Array, ...]:
        return self.program.assigned

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.computed(*arrays)
        return found


SUM = sized(read("y[i] = sum[j] x[i,j] * w[j]"), {"i": 4, "j": 100})
WHOLE = sized(read("x: s32; y: s32; y[i] = x[i] * 3"), {"i": 4})


def test_roundings_are_explained():
    errors = definition_error(Function(SUM, lambda x, w: x @ w), 0)
    assert isinstance(errors, dict) and errors["y"] < 1e-6 and unbounded(SUM) == ""
    assert definition_error(Function(WHOLE, lambda x: x * 3), 0) == {"y": 0.0}


@pytest.mark.parametrize(
    "program, computed, why",
    [
        (SUM, lambda x, w: x[:, 1:] @ w[1:], "y is .* from the definition where roundings explain "),
        (SUM, lambda x, w: x @ w * np.float32("nan"), "y is inf from|y is nan from"),
        (
            WHOLE,
            lambda x: x * 3 + (np.arange(4) == 2).astype(np.int32),
            "y differs .* in 1 of 4 whole",
        ),
    ],
)
def test_another_error_is_no_kernels(program, computed, why):
    with pytest.raises(CandidateError, match=why):
        definition_error(Function(program, computed), 0)


def test_sums_of_other_terms_are_only_measured():
    errors = definition_error(Function(SUM, lambda x, w: x[:, 1:] @ w[1:]), 0, direct=False)
    assert isinstance(errors, dict) and errors["y"] > 1e-4
