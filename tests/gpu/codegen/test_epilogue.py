"""Epilogues in CUDA kernels: exact on whole numbers, near float64 on reals, within bounds at edges, and
through NVRTC.
"""

import numpy as np
import pytest

from cpu.reference.oracle import reference
from cpu.runtime.numbers import from_bits, to_bits
from gpu.codegen.loops.scheme import emit_scheme
from gpu.runtime.compiler.compile import compile_cubin
from gpu.twin.launch import run_on_twin
from tests.support.gpu.cases import check_on_twin, integers, product_scheme, wgmma_scheme
from tests.support.gpu.compiling import needs_nvrtc
from tiling.epilogue import FUNCTIONS, fused
from tiling.operators import conv2d, matmul

CONV = conv2d(n=2, c=8, h=9, w=9, k=23, r=3, s=3, padding=1, dtype="f16", filters="krsc")
STEM = conv2d(n=2, c=3, h=9, w=9, k=23, r=3, s=3, padding=1, dtype="f16", filters="krsc")  # gathered
ARGUMENTS = {"leaky_relu": "y, 0.25", "min": "y, z", "max": "z, y", "clamp": "y, -2, b", "round_mul": "y, 0.375"}


@pytest.mark.parametrize(
    "problem",
    [
        fused(CONV, "relu(y*scale + b + z)"),
        fused(CONV, "max(y, q[n,k]) - p[w]"),
        fused(matmul(m=40, n=24, k=50, dtype="bf16", batch=3), "clamp(y, -9, 9) + z - abs(q[m,n])*r[l,n]"),
        fused(matmul(m=33, n=31, k=20, dtype="tf32"), "relu6(-y) + b + rows[m]"),
    ],
    ids=lambda problem: str(problem.epilogue),
)
def test_whole_numbers_are_exact(problem):
    assert check_on_twin(product_scheme(problem), seeds=(1, 2)) == 0


@pytest.mark.parametrize(("n", "accesses"), [(48, 1), (45, 2)])
def test_numbers_are_loaded_once_by_pairs_if_they_can_be(n, accesses):
    """A lane has four rows and two pairs of columns of its warp's 32 by 16 tile, so it loads two pairs of b."""
    problem = fused(matmul(m=64, n=n, k=20, dtype="f16"), "relu(y + b + z)")
    source = emit_scheme(product_scheme(problem))
    pairs = -(-n // 2) if accesses == 1 else n / 2
    assert run_on_twin(source, *integers(problem)).loads == accesses * pairs * (64 + 2 * 8)


def test_the_sums_of_wgmma_are_finished_alike():
    assert check_on_twin(wgmma_scheme(fused(CONV, "relu(y*scale + b + z)"))) == 0


def test_what_is_rounded_to_zero_has_no_sign():
    problem = fused(matmul(m=32, n=40, k=8, dtype="tf32"), "round_mul(y, 0.25)")
    x, w = np.full(problem.broadcast.shape, 0.125, np.float32), np.full(problem.vector.shape, -1, np.float32)
    found = run_on_twin(emit_scheme(product_scheme(problem)), x, w).output  # of -1, times a quarter
    assert not found.any() and not np.signbit(found).any()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_are_near_what_float64_gives(function):
    """Inputs from -6 to 6; the output is f32, so what is seen is the function's own error."""
    problem = fused(matmul(m=32, n=40, k=8, dtype="tf32"), f"{function}({ARGUMENTS.get(function, 'y')}) + 0*z + 0*b")
    rng = np.random.default_rng(3)
    shapes = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
    inputs = [rng.integers(-4, 5, tensor.shape).astype(np.float32) / 4 for tensor in shapes]
    source = emit_scheme(product_scheme(problem))
    found, wanted = run_on_twin(source, *inputs).output, reference(problem, *inputs)
    np.testing.assert_allclose(found, wanted, rtol=3e-6, atol=1e-6)


def test_nans_are_kept():
    problem = fused(matmul(m=16, n=16, k=16, dtype="f16"), "clamp(relu(y) + z, 0, 6)")
    a, b, z = (np.zeros(t.shape, np.float32) for t in (problem.broadcast, problem.vector, *problem.epilogue_arrays))
    z[3, 5] = np.nan
    output = run_on_twin(emit_scheme(product_scheme(problem)), a, b, z).output
    assert np.isnan(output[3, 5]) and np.isnan(output).sum() == 1


def test_the_epilogue_comes_before_the_rounding():
    """4096 + 1 is no f16: rounded first, the sum would lose the 1 that the epilogue takes away again."""
    problem = fused(matmul(m=16, n=16, k=16, dtype="f16"), "y - 4096")
    a, b = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    a[:, :2], b[0], b[1] = (64, 1), 64, 1
    output = run_on_twin(emit_scheme(product_scheme(problem)), a, b).output
    assert (output == 1).all() and from_bits(to_bits(np.float32([4097]), "f16"), "f16") == 4096


@pytest.mark.slow
@needs_nvrtc
def test_every_function_compiles():
    everything = " + ".join(f"{name}({ARGUMENTS.get(name, 'y')})" for name in FUNCTIONS)
    source = emit_scheme(product_scheme(fused(CONV, everything + " + b + z"), unrolled=(4, 4, 2)))
    assert compile_cubin(source, "sm_80").spilled == 0


@pytest.mark.parametrize("problem", [CONV, STEM], ids=str)
def test_a_kernel_without_an_epilogue_has_no_trace_of_one(problem):
    plain, fused_in = (emit_scheme(product_scheme(each)).text for each in (problem, fused(problem, "y + b")))
    assert "E_" in fused_in
    assert "E_" not in plain and "epilogue" not in plain
