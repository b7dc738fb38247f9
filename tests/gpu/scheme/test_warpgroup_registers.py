"""Registers of warpgroups: those who copy give some to those who multiply, and none is spilled."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.passes.order import scheme_forms
from gpu.passes.threads.move_registers import move_registers
from gpu.runtime.compiler.compile import compile_cubin
from gpu.twin.launch import TwinError
from tests.support.gpu.cases import integers, tma_scheme, wgmma_scheme
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.schemes import MOVING, expected, interpreted, on_twin, scheme_of
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse


def test_that_registers_move_changes_no_result():
    text = "T(m,1)@cluster T(n,1)@cluster S(c) T(k,1) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n64k16)"
    scheme = parse(matmul(m=9, n=8, k=16, dtype="f16", transpose_b=True), text)
    kernel = dict(scheme_forms(scheme))["store boxes"]
    moved = move_registers(kernel)
    assert moved != kernel
    np.testing.assert_array_equal(interpreted(scheme, moved), expected(scheme.problem, *integers(scheme.problem)))


@pytest.mark.parametrize("name", MOVING)
def test_those_who_multiply_take_registers_of_those_who_copy(name):
    scheme = scheme_of(name)
    source = emit_scheme(scheme)
    multiplying = prod(int(count) for count in re.findall(r"T\(m,(\d)\)@warpgroup", scheme.text))
    assert source.threads == 128 * (multiplying + 1) and on_twin(scheme, source)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("give_registers(168, 40);", "", "for registers"),
        ("give_registers(168, 40)", "give_registers(168, 48)", "for registers"),
        ("take_registers(168, 232)", "take_registers(168, 240)", "for registers"),
        ("give_registers(168, 40)", "give_registers(168, 44)", "44 is no multiple of 8"),
        ("(168, ", "(176, ", "do not begin with 176 registers"),
        ("give_registers", "if (warp < 9) give_registers", "not all threads of a warpgroup|for registers"),
        ("take_registers", "if (member) take_registers", "not all threads of a warpgroup"),
        ("take_registers(", "take_registers(168, 176); take_registers(", "were set before"),
    ],
)
def test_mistakes_about_registers_are_found(old, new, said):
    scheme = scheme_of(MOVING[1])
    source = emit_scheme(scheme)
    assert old in source.text
    with pytest.raises(TwinError, match=said):
        on_twin(scheme, replace(source, text=source.text.replace(old, new)))


@pytest.mark.slow
@needs_nvrtc
def test_tiles_of_128_sums_spill_without_the_registers_of_others():
    problem = matmul(m=4096, n=4096, k=4096, dtype="f16", transpose_b=True)
    problem = fused(problem, "relu(y*scale + b[n] + z[m,n]*q[m,n])")
    source = emit_scheme(tma_scheme(problem, groups=(2, 1), rows=2, columns=128, depth=4))
    alone = re.sub(r".*_registers\(168, .*\n", "", source.text)
    ours, other = (compile_cubin(replace(source, text=text), "sm_90a") for text in (source.text, alone))
    assert (ours.registers, ours.spilled) == (168, 0) and other.spilled


# Registers by NVRTC 13.0, the fewest of the pipeline whose threads copied these tiles.
OF_PIPELINE = {64: 64, 128: 105, 256: 196}
LARGE = [((2, 1), 1, 256, 4), ((2, 1), 2, 128, 3), ((1, 1), 1, 128, 3), ((2, 1), 1, 64, 6)]


@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("across", [False, True])
@pytest.mark.parametrize("groups, rows, columns, depth", LARGE, ids=str)
def test_no_kernel_takes_more_registers_than_the_pipeline_had(groups, rows, columns, depth, across):
    """NVRTC also says where it would run products one after the other, which is an error."""
    problem = matmul(m=4096, n=4096, k=4096, dtype="f16", transpose_a=across, transpose_b=not across)
    scheme = wgmma_scheme(problem, groups=groups, rows=rows, columns=columns, depth=depth)
    ours = compile_cubin(emit_scheme(scheme), "sm_90a")
    assert ours.spilled == 0 and ours.registers <= OF_PIPELINE[rows * columns]


@needs_nvrtc
@pytest.mark.parametrize("groups, rows, columns, depth", LARGE, ids=str)
def test_pixels_by_the_copy_engine_take_no_registers_of_those_who_multiply(groups, rows, columns, depth):
    problem = conv2d(n=16, c=64, h=56, w=56, k=512, r=3, s=3, padding=1, dtype="f16", filters="krsc")
    scheme = wgmma_scheme(problem, groups=groups, rows=rows, columns=columns, depth=depth, taps="rs")
    ours = compile_cubin(emit_scheme(scheme), "sm_90a")
    assert ours.spilled == 0 and ours.registers <= OF_PIPELINE[rows * columns]


@pytest.mark.slow
@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("of", [wgmma_scheme, tma_scheme])
@pytest.mark.parametrize("tile", LARGE, ids=str)
def test_an_epilogue_compiles_without_spills(of, tile):
    problem = fused(matmul(m=4096, n=4096, k=4096, dtype="bf16"), "relu(y + bias[n]) + z[m,n]")
    groups, rows, columns, depth = tile
    scheme = of(problem, groups=groups, rows=rows, columns=columns, depth=depth)
    assert compile_cubin(emit_scheme(scheme), "sm_90a").spilled == 0
