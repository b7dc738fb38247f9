"""Kernels for the twin travel, and so do the twins that run their texts, whether they have run before or not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cpu.runtime.numbers import to_bits
from gpu.codegen.loops.emit import emit_program
from gpu.codegen.loops.scheme import emit_scheme
from gpu.twin.launch import Twin
from gpu.twin.program import ProgramTwin
from search import generate_matmul, generate_program
from tests.support.gpu.cases import product_scheme
from tiling.operators import matmul
from tiling.program.infer import sized
from tiling.program.read import read

WAYS = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]
A = np.arange(256, dtype=np.float32).reshape(16, 16) % 5
ROWS = "y[i] = sum[j] a[i,j]"


def launched(twin: Twin) -> np.ndarray:
    a = to_bits(A, "f16")
    return twin.launch(a, a, np.zeros((16, 16), np.float32)).output


def ran(twin: ProgramTwin) -> np.ndarray:
    return twin.run([A, np.zeros(16, np.float32)])[0][-1]


TRAVELLERS: dict[str, tuple[Callable[[], Any], Callable[[Any], np.ndarray], np.ndarray]] = {
    "kernel": (lambda: generate_matmul(m=16, n=16, k=16, target="cuda-twin"), lambda kernel: kernel(A, A), A @ A),
    "kernel of a program": (
        lambda: generate_program(ROWS, i=16, j=16, target="cuda-twin"),
        lambda kernel: kernel(A),
        A.sum(axis=1),
    ),
    "twin": (
        lambda: Twin(emit_scheme(product_scheme(matmul(m=16, n=16, k=16, dtype="f16", output_dtype="f32")))),
        launched,
        A @ A,
    ),
    "twin of a program": (lambda: ProgramTwin(emit_program(sized(read(ROWS), {"i": 16, "j": 16}))), ran, A.sum(axis=1)),
}


@pytest.mark.parametrize("name", TRAVELLERS)
def test_it_is_pickled_and_copied_before_it_runs_and_after(name):
    made, result, wanted = TRAVELLERS[name]
    one = made()
    before = [way(one) for way in WAYS]
    np.testing.assert_array_equal(result(one), wanted)
    for other in (*before, *(way(one) for way in WAYS)):
        assert other is not one
        np.testing.assert_array_equal(result(other), wanted)
