"""Narrow kernels as loops: every pass keeps what they compute, and stores of whole lines are joined."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.codegen.arrays import stored
from cpu.codegen.emit import emit
from cpu.codegen.inside import facts_of_scheme
from cpu.kernel.callable import build
from cpu.passes.forms import product_forms
from cpu.passes.memory.store_lines import store_lines
from cpu.reference.oracle import integers, reference
from cpu.runtime.numbers import to_bits
from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa import isa_named
from tests.support.kernels.low_precision_cases import ISA
from tiling.arrays.access import access_of
from tiling.epilogue import fused
from tiling.loops.index import ZERO, constant
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Address, Do, Flag, If, Invoke, Register
from tiling.loops.meaning.memory import NUMPY
from tiling.operators import conv2d, matmul
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse

CASES = {
    "a line, and a masked vector": (
        conv2d(c=4, h=2, w=2, k=37, r=1, s=2, padding=(0, 1), dtype="bf16"),
        "relu(y + b)",
        "R(h) R(k) S(y) T(c,2) U(s,2) U(w,3) U(k,3) D(c,2) V(k,16)",
    ),
    "a line of four vectors, and one more": (
        conv2d(c=4, h=2, w=2, k=80, r=1, s=1, dtype="int8", output_dtype="u8"),
        "min(y*0.125, b[k]*30) + z",
        "T(h,2) S(y) T(c,1) U(w,2) U(k,5) D(c,4) V(k,16)",
    ),
    "a channel in each lane": (
        conv2d(c=20, k=20, groups=20, h=3, w=4, r=3, s=3, padding=1, dtype="int8", output_dtype="f32"),
        None,
        "R(c) T(h,3) S(y) T(r,3) U(s,3) U(w,4) V(c,16)",
    ),
    "sums that wait": (
        matmul(m=3, n=20, k=16, dtype="int8"),
        None,
        "T(k,2) R(n) S(c) T(k,2) U(m,3) D(k,4) V(n,16)",
    ),
    "sums of bf16 that wait": (
        matmul(m=3, n=32, k=8, dtype="bf16", output_dtype="f32"),
        None,
        "T(k,2) S(c) T(k,2) U(m,3) U(n,2) D(k,2) V(n,16)",
    ),
    "streamed": (
        conv2d(c=32, k=32, groups=32, h=2, w=3, r=2, s=1, padding=(1, 0), dtype="bf16"),
        "y + z",
        "T(h,3) S(y) U(r,2) U(w,3) U(c,2) V(c,16)",
    ),
}


def kernel_stages(case, stream=False):
    problem, epilogue, text = CASES[case]
    scheme = parse(fused(problem, epilogue), text)
    isa = isa_named(ISA[problem.dtype])
    dots = scheme_in_dot_groups(scheme)
    return scheme, isa, list(product_forms(facts_of_scheme(dots, isa, stream)))


def words_of(problem, x, w):
    """x and the weights as the plain loops read them: words of neighbours along the channels, or of one and zeros."""
    if access_of(problem).lanewise:
        return x, w.view(f"u{w.itemsize}").astype(np.uint32)
    axis = next(a for a, index in enumerate(problem.vector.indices) if index.coefficient(access_of(problem).dot_dim))
    words = np.ascontiguousarray(np.moveaxis(w, axis, -1)).view(np.uint32)
    return x.view(np.uint32), np.ascontiguousarray(np.moveaxis(words, -1, axis))


@pytest.mark.parametrize("case", [pytest.param(c, marks=pytest.mark.isa(ISA[CASES[c][0].dtype])) for c in CASES])
def test_each_pass_keeps_what_narrow_kernels_compute(case):
    scheme, isa, forms = kernel_stages(case, stream=case == "streamed")
    problem = scheme.problem
    values = integers(problem)
    x, w, *arrays = stored(problem, values)
    given = {f"E_{tensor.name}": array for tensor, array in zip(problem.epilogue_arrays, arrays)}
    words, unpacked = words_of(problem, x, w)
    packed = build(scheme, isa).pack(w).data.view(np.uint32)
    before = None
    for name, kernel in forms:
        if kernel == before:
            continue
        before = kernel
        y = np.zeros(problem.output.shape, NUMPY[problem.output_dtype])
        interpret(kernel, given | {"X": words, "W": unpacked if name == "lower" else packed, "Y": y})
        expected = to_bits(reference(problem, *values), problem.output_dtype)  # what is beyond u8 is its nearest end
        assert np.array_equal(y, expected), name


def test_vectors_that_fill_a_line_are_stored_at_once():
    text = {case: emit(kernel_stages(case)[0], isa_named(ISA[CASES[case][0].dtype])).text for case in CASES}
    lines = text["a line, and a masked vector"]
    assert "_mm512_storeu_si512(y, line_of_bf16(epilogue(acc_0_0, zero), epilogue(acc_0_1, zero)));" in lines
    assert "_mm256_mask_storeu_epi16(y + 32 * Y_k, TAIL, to_bf16(epilogue(acc_0_2, zero)));" in lines
    assert "_mm256_storeu_si256" not in lines
    longer = text["a line of four vectors, and one more"]
    assert longer.count("_mm512_storeu_si512(") == 2 and longer.count("_mm_storeu_si128(") == 2
    assert "line_of" not in text["a channel in each lane"]


def test_only_neighbours_are_joined():
    """Two vectors fill a line unless they lie in different rows, overlap, or have a statement between them."""
    narrow = instructions_of(isa_named("avx512bf16"))
    stores = narrow.narrow["to_bf16"]

    def store(row, column, name):
        at = Address("y", (constant(row), constant(column)))
        return Do(Invoke(stores.store, (("p", at), ("v", Register(name)))))

    def joined(*body):
        function = Function("tile", (("y", "Y"),), (), ("stream",), body)
        (after,) = store_lines(Kernel((), (), (function,)), narrow, 16).functions
        return after.body

    a, b, c = store(0, 0, "a"), store(0, 16, "b"), store(0, 32, "c")
    line = Do(Invoke(stores.line, (("p", Address("y", (ZERO, ZERO))), ("v_0", Register("a")), ("v_1", Register("b")))))
    assert joined(a, b, c) == (line, c)
    fence = Do(Invoke(narrow.stream_fence, ()))
    for apart in ((a,), (a, store(1, 16, "b")), (a, c), (b, a), (a, fence, b)):
        assert joined(*apart) == apart
    assert joined(If((Flag("stream"),), (fence,), (a, b))) == (If((Flag("stream"),), (fence,), (line,)),)
