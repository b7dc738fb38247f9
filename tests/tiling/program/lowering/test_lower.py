"""Programs as plain loops: the interpreter finds what the definition says."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpu.reference.programs import evaluate, rounded
from tests.support.programs.programs import SOFTMAX, inputs_of, numbers, random_program, stored
from tests.support.sampled import examples
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.language import Alloc, Choose, For
from tiling.loops.listing import listing
from tiling.loops.rewrite import operands_of, parts_of
from tiling.loops.walk import walk
from tiling.program.infer import Sized, sized
from tiling.program.lowering.lower import lower_program
from tiling.program.read import read


def run(program: Sized, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs by the interpreter."""
    kernel = lower_program(program)
    buffers = dict(zip((*program.inputs, *(a for a in program.assigned if a.name in program.outputs)), kernel.arrays))
    given = {}
    for array, buffer in buffers.items():
        values = arrays.get(array.name, np.zeros(array.shape))
        given[buffer.name] = stored(values, array.dtype)
    with np.errstate(all="ignore"):
        interpret(kernel, given)
    return {array.name: numbers(given[buffer.name], array.dtype) for array, buffer in buffers.items()}


def check(seed: int) -> None:
    random = Random(seed)
    program = random_program(random)
    arrays = inputs_of(program, random)
    wanted, found = evaluate(program, arrays), run(program, arrays)
    for array in program.assigned:
        if array.name in program.outputs:
            expected = rounded(wanted[array.name], array.dtype)
            np.testing.assert_array_equal(found[array.name], expected, err_msg=f"{program.program}")


@pytest.mark.slow
@examples(100)
@given(st.integers(0, 2**32))
def test_loops_give_the_definition(seed):
    check(seed)


@pytest.mark.slow
@examples(1000)
@given(st.integers(0, 2**32))
def test_many_loops_give_the_definition(seed):
    check(seed)


@pytest.mark.parametrize(
    "text",
    [
        SOFTMAX,
        "v[i] = sum[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i] / 5 + 1e-6)",
        "m[i] = mean[j] x[i,j]; y[i,j] = gelu(x[i,j] - m[i]) + erf(x[i,j]) * tanh(x[i,j])",
        "y[i,j] = pow(abs(x[i,j]) + 1, 0.5) + sqrt(abs(x[i,j])) - log(abs(x[i,j]) + 1) + sin(x[i,j]) * cos(x[i,j])",
        "y[i,j] = sigmoid(x[i,j]) + silu(x[i,j]) + gelu_tanh(x[i,j]) + hardswish(x[i,j]) - hardsigmoid(x[i,j])",
        "y[i] = prod[j] (1 + x[i,j] / 8)",
        "y[i,j] = leaky_relu(x[i,j], 0.1) + relu6(x[i,j] * 4) // 2 % 3",
    ],
)
def test_real_functions(text):
    x = np.random.default_rng(3).standard_normal((4, 5)).astype(np.float32)
    program = sized(read(text), {}, {"x": x.shape})
    wanted = evaluate(program, {"x": x})
    np.testing.assert_allclose(run(program, {"x": x})["y"], wanted["y"], rtol=3e-6, atol=1e-6)


def test_statements_of_a_group_share_loops_and_need_a_row():
    kernel = lower_program(sized(read(SOFTMAX), {}, {"x": (4, 5)}))
    (rows,) = kernel.body
    assert isinstance(rows, For) and rows.name == "i"
    between = {s.buffer.name: s.buffer.shape for s in rows.body if isinstance(s, Alloc)}
    assert [buffer.name for buffer in kernel.arrays] == ["x", "y"] and {
        "m": (1,),
        "e": (5,),
        "d": (1,),
    }.items() <= between.items()


def test_what_is_read_elsewhere_lies_in_memory_in_between():
    kernel = lower_program(sized(read("e[i] = exp(x[i]); y[i] = e[3-i] * e[i]"), {"i": 4}))
    assert [s.buffer.name for s in kernel.body if isinstance(s, Alloc)] == ["e"] and len(kernel.body) == 3


def test_only_an_index_that_may_lie_outside_is_tested():
    kernel = lower_program(sized(read("y[n,h] = sum[r] x[n,h+r-1] * w[r]"), {"n": 2, "h": 5, "r": 3}))
    chosen = [p for s in walk(kernel.body) for o in operands_of(s) for p in parts_of(o) if isinstance(p, Choose)]
    assert [str(test.index) for choose in chosen for test in choose.conditions] == ["h + r - 1"]


def test_a_listing_reads_as_the_program():
    kernel = lower_program(sized(read("t: s32; y[i] = max[j] x[t[i], j-1] else 0.5"), {"i": 2, "j": 3}, {"x": (4, 3)}))
    assert listing(kernel).splitlines()[4:] == [
        "for i in 0..2:",
        "  acc_y[1] in registers",
        "  acc_y[0] = -inf",
        "  for j in 0..3:",
        "    at_0 = as_s64(t[i])",
        "    acc_y[0] = max(acc_y[0], (x[at_0, j - 1] if 0 <= at_0 < 4 and j - 1 >= 0 else 0.5))",
        "  y[i] = acc_y[0]",
    ]


def test_an_array_with_the_name_of_a_dim_has_another_name_in_loops():
    kernel = lower_program(sized(read("y[w] = 2 * w[w]"), {"w": 3}))
    assert [buffer.name for buffer in kernel.arrays] == ["w_", "y"]
