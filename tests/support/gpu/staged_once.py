"""Schemes of one stage that end with a matrix instruction, on the twin."""

from __future__ import annotations

import numpy as np

from gpu.codegen.loops.scheme import emit_scheme
from gpu.twin.launch import run_on_twin
from tests.support.gpu.cases import expected, integers, product_scheme
from tiling.text.notation import parse

EPILOGUE = "relu(y + bias[n]) + z[m,n]"


def staged_once(problem, **options):
    """A scheme of one stage, and the same of two stages."""
    two = product_scheme(problem, depth=2, **options)
    return parse(problem, two.text.replace(", 2)", ")")), two


def conflicts(scheme) -> int:
    """The bank conflicts of a kernel that is exact on the twin."""
    given = integers(scheme.problem)
    run = run_on_twin(emit_scheme(scheme), *given, seed=3)
    np.testing.assert_array_equal(run.output, expected(scheme.problem, *given))
    return run.conflicts
