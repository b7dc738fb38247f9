"""bf16 and int8 kernels: words of several numbers, odd channels, narrow outputs; exact on integers,
bounded on reals.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from cpu.codegen.arrays import stored
from cpu.codegen.emit import emit
from cpu.kernel import dlpack
from cpu.kernel.callable import build
from cpu.kernel.measure import check_exact, largest_error
from cpu.reference.oracle import WrongResult, integers
from cpu.runtime.machine.host import supports
from microkernels.tile.isa import best_isa, isa_named
from tests.support.kernels.assembly import assembly_of, spills_of
from tests.support.kernels.low_precision_cases import (
    CASES,
    ISA,
    NUMBERS,
    ON_BOTH,
    ONE,
    check_all,
    check_saved,
    problem_of,
    scheme_of,
)
from tiling.arguments import ArgumentError
from tiling.dtypes.products import OUTPUT_DTYPES
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.rewrite.dot_groups import in_dot_groups
from tiling.scheme.specifiers import DotGroup, SchemeError
from tiling.text.notation import parse


def kernel_of(case, dtype, output_dtype=None, epilogue=None):
    return build(scheme_of(case, dtype, output_dtype, epilogue), isa_named(ISA[dtype]))


# Each case gives, for either dtype of the inputs, the output's dtype and its epilogue.
STORED = {
    "whole words": {"bf16": ("bf16", None), "int8": ("u8", "y*0.01 + b")},
    "one channel": {"bf16": ("f32", "relu(y + b)"), "int8": ("u8", None)},
    "three channels, strided": {"bf16": ("bf16", "relu(y + b)"), "int8": ("s32", None)},
    "five channels, masked": {"bf16": ("bf16", None), "int8": ("f32", "gelu(y/1000 + b)")},
    "six channels, composed": {"bf16": ("f32", None), "int8": ("s32", None)},
    "groups of odd channels": {"bf16": ("bf16", "min(y*scale, 6) + z"), "int8": ("s32", None)},
    "groups of whole words": {"bf16": ("bf16", None), "int8": ("s8", "y*0.002*scale[k] + z")},
    "windows of three channels, strided": {"bf16": ("bf16", "relu(y + b)"), "int8": ("s32", None)},
    "windows of five channels, padded before": {"bf16": ("bf16", None), "int8": ("u8", "y*0.01 + b")},
    "windows of one channel, composed": {"bf16": ("f32", None), "int8": ("s32", None)},
    "windows of whole words": {"bf16": ("bf16", None), "int8": ("s32", None)},
    "windows by themselves": {"bf16": ("bf16", "relu(y + b)"), "int8": ("s8", "y*0.002")},
    "windows, padded after": {"bf16": ("f32", None), "int8": ("s32", None)},
    "channels first, masked": {"bf16": ("bf16", "relu(y + b) - z"), "int8": ("f32", "gelu(y/1000 + b)")},
    "channels first, whole blocks": {"bf16": ("bf16", None), "int8": ("s8", "y*0.002*scale[k] + z")},
    "channels first, one row, accumulated": {"bf16": ("f32", None), "int8": ("s32", None)},
    "channels first, groups of odd channels": {"bf16": ("bf16", "min(y*scale, 6) + z"), "int8": ("u8", "y*0.01 + b")},
    "channels first, groups of whole words": {"bf16": ("f32", None), "int8": ("s32", None)},
    "product, a transposed": {"bf16": ("bf16", None), "int8": ("s32", None)},
    "product": {"bf16": ("f32", "y*t[m] + b"), "int8": ("f32", None)},
    "product, whole words": {"bf16": ("bf16", None), "int8": ("s8", "y/512")},
}


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("case", CASES)
def test_exact_on_integers_bounded_on_reals_and_nothing_beside_the_arrays_is_touched(case, dtype):
    check_all(kernel_of(case, dtype, *STORED[case][dtype]))


def test_the_cases_store_every_dtype_that_there_is():
    for dtype in ISA:
        assert {outputs[dtype][0] for outputs in STORED.values()} == set(OUTPUT_DTYPES[dtype])


@pytest.mark.isa("avx512vnni")
def test_rounding_is_an_error_and_saturation_is_none():
    problem = conv2d(c=4, h=1, w=3, k=1, r=1, s=1, dtype="int8", output_dtype="u8")
    y, expected = np.array([[[[255], [0], [8]]]], np.uint8), np.array([[[[5e5], [-70.0], [7.5]]]])
    assert largest_error(problem, y, expected, np.zeros_like(expected)) == 0.5
    y[..., 0, 0] = 254
    with pytest.raises(WrongResult, match="an error of 1 "):
        largest_error(problem, y, expected, np.zeros_like(expected))


@pytest.mark.isa("avx512vnni")
def test_requantised_sums_are_rounded_to_even_and_saturate():
    """One product a channel, so that every output is known without a reference: 2·w + b, halved."""
    problem = fused(matmul(m=1, n=16, k=1, dtype="int8", output_dtype="s8"), "y*0.5 + b")
    kernel = build(parse(problem, "S(c) D(k,4) V(n,16)"), isa_named("avx512vnni"))
    w = np.array([[1, 3, 5, -1, -3, 127, -128, 100, -100, 0, 7, 9, 0, 0, 0, 0]], np.int8)
    b = np.zeros(16, np.float32)
    b[12:] = 1e30, -1e30, 127.4, -128.6
    y = kernel(np.array([[1]], np.uint8), w, b)
    assert y.tolist() == [[0, 2, 2, 0, -2, 64, -64, 50, -50, 0, 4, 4, 127, -128, 127, -128]]
    y = kernel(np.array([[255]], np.uint8), w, b)
    assert y[0, :9].tolist() == [127, 127, 127, -128, -128, 127, -128, 127, -128]


@pytest.mark.isa("avx512bf16")
def test_bf16_is_taken_by_its_bits_and_through_dlpack():
    kernel = kernel_of("five channels, masked", "bf16")
    x, w = stored(kernel.problem, integers(kernel.problem))
    expected = kernel(x, w)

    class Bfloat16:
        """What another library hands over: the bits of NumPy's capsule, said to be bfloat16."""

        def __init__(self, bits):
            self.bits = bits

        def __dlpack__(self):
            capsule = self.bits.__dlpack__()
            dlpack._Tensor.from_address(dlpack._POINTER(capsule, b"dltensor")).code = 4
            return capsule

    assert np.array_equal(kernel(Bfloat16(x), w), expected)
    assert np.shares_memory(dlpack.bits_of(Bfloat16(x)), x)
    with pytest.raises(ArgumentError, match="x is float32, but this kernel takes bfloat16, or its bits as uint16"):
        kernel(x.astype(np.float32), w)
    out = np.empty(kernel.problem.output.shape, np.uint16)
    assert kernel(x, w, out=out) is out and np.array_equal(out, expected)
    out[...], theirs = 0, Bfloat16(out)
    assert kernel(x, w, out=theirs) is theirs and np.array_equal(out, expected)


@pytest.mark.isa("avx512vnni")
def test_int8_is_uint8_times_int8():
    kernel = kernel_of("three channels, strided", "int8")
    x, w = stored(kernel.problem, integers(kernel.problem))
    assert kernel(x, kernel.pack(w)).dtype == np.int32
    for call, message in [
        (lambda: kernel(x.view(np.int8), w), "x is int8, but this kernel takes uint8"),
        (lambda: kernel(x, w.view(np.uint8)), "w is uint8, but this kernel takes int8"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("taps, dims", [("T(s,3)", "c"), ("", "sc")])
def test_threads_share_the_work_and_the_copy_of_x(taps, dims, dtype):
    problem = conv2d(n=2, c=3, h=8, w=8, k=32, r=3, s=3, padding=1, dtype=dtype)
    text = f"T(h,4)@core T(n,2) T(h,2) T(k,2) S(y) T(r,3) {taps} R({dims}) U(w,8) D({dims},{NUMBERS[dtype]}) V(k,16)"
    arrays = stored(problem, integers(problem))
    one, several = (build(parse(problem, text), isa_named(ISA[dtype]), threads)(*arrays) for threads in (1, 3))
    assert np.array_equal(one, several)


@pytest.mark.isa("avx512bf16")
def test_streaming_stores_of_narrow_outputs():
    problem = problem_of("whole words", "bf16")
    text = "R(k) T(h,6) S(y) T(r,3) T(s,3) T(c,4) U(w,6) D(c,2) V(k,16)"
    kernel = build(parse(problem, text), isa_named("avx512bf16"), stream=True)
    assert "_mm256_stream_si256" in kernel.source
    check_exact(kernel)


@pytest.mark.parametrize(
    "problem, text, message",
    [
        (conv2d(**ONE, dtype="bf16"), "T(h,4) S(y) T(c,8) U(w,4) V(k,16)", r"D\(c,2\) is missing before V"),
        (
            conv2d(**ONE, dtype="bf16"),
            "T(c,2) T(h,4) S(y) T(c,2) U(w,4) D(c,2) V(k,16)",
            "sums of f32 would wait in an y of bf16",
        ),
        (conv2d(**ONE, dtype="f16"), "T(h,4) S(y) T(c,4) U(w,4) D(c,2) V(k,16)", "of f16 runs on a GPU only"),
        (conv2d(**ONE), "T(h,4) S(y) T(c,8) U(w,4) V(k,16)", "avx512bf16 computes in bf16, not f32: use avx512f"),
    ],
)
def test_schemes_that_the_emitter_refuses(problem, text, message):
    with pytest.raises(SchemeError, match=message):
        emit(parse(problem, text), isa_named("avx512bf16"))


def test_sums_may_wait_where_the_output_holds_them():
    text = "T(c,2) T(h,4) S(y) T(c,{c}) U(w,4) D(c,{n}) V(k,16)"
    bf16, int8 = conv2d(**ONE, dtype="bf16", output_dtype="f32"), conv2d(**ONE, dtype="int8")
    for problem, c, dot, isa in ((bf16, 2, 2, "avx512bf16"), (int8, 1, 4, "avx512vnni")):
        source = emit(parse(problem, text.format(c=c, n=dot)), isa_named(isa)).text
        first, later = re.search(r"if \(first\) \{(.*?)\} else \{(.*?)\}", source, re.S).groups()
        assert "acc_0_0 = _mm512_setzero_ps();" in first and "acc_0_0 = _mm512_loadu_ps(y);" in later


@pytest.mark.isa("avx512bf16")
def test_an_infinity_beside_a_window_is_no_part_of_it():
    """A word of two numbers would bring 0 times infinity."""
    kernel = kernel_of("windows of one channel, composed", "bf16", "f32")
    x = np.ones(kernel.problem.broadcast.shape, np.float32)
    x[0, :, 11] = np.inf
    y = kernel(*stored(kernel.problem, (x, np.ones(kernel.problem.vector.shape, np.float32))))
    touched = [w for w in range(19) if w <= 11 < w + 5]
    assert np.all(np.isinf(y[:, :, touched])) and np.all(np.delete(y, touched, axis=2) == 10)


def test_the_longest_sums_of_int8_may_leave_part_of_their_words_empty():
    """One channel of 65 793 taps, tap by tap, is as many words, whose other numbers are zeros."""
    problem = conv2d(c=1, h=1, w=65793, k=16, r=1, s=65793, dtype="int8")
    assert in_dot_groups(problem, DotGroup("c", 4)).reduction_length == problem.reduction_length


@pytest.mark.parametrize("dtype", ISA)
def test_a_cpu_without_the_instructions_is_told_so(dtype):
    with pytest.raises(
        ValueError, match=f"this CPU computes nothing in {dtype}: it lacks avx512f.*; dtype='f32' runs everywhere"
    ):
        best_isa(frozenset({"fma", "avx2"}), dtype)


@pytest.mark.parametrize(
    "case, dtype, output, epilogue",
    [
        ("five channels, masked", "bf16", "bf16", None),
        ("groups of odd channels", "int8", "s32", None),
        ("whole words", "int8", "u8", "y*0.01 + b"),
        ("product", "bf16", "f32", "y*t[m] + b"),
    ],
)
def test_saved_kernels_run_without_python_and_load_again(case, dtype, output, epilogue, tmp_path):
    if not supports(isa_named(ISA[dtype]).cpu_flags):
        pytest.skip(f"needs {ISA[dtype]}")
    check_saved(kernel_of(case, dtype, output, epilogue), tmp_path)


@pytest.mark.parametrize("dtype", ON_BOTH)
@pytest.mark.parametrize("rows, vectors, taps", [(14, 2, 1), (9, 3, 1), (9, 2, 3)])
def test_tiles_of_nearly_all_registers_do_not_spill(rows, vectors, taps, dtype):
    """Read off the assembly: for every word of x one broadcast, for every word of weights one load, and no more."""
    problem = conv2d(c=64, h=1, w=rows + 2, k=16 * vectors, r=1, s=3, dtype=dtype)
    words = in_dot_groups(problem).extents["c"]
    text = f"S(y) T(s,{3 // taps}) T(c,{words}) U(s,{taps}) U(w,{rows}) U(k,{vectors}) D(c,{NUMBERS[dtype]}) V(k,16)"
    source = emit(parse(problem, text), isa_named(ISA[dtype]))
    assembly = assembly_of(source)
    instruction = {"bf16": "vdpbf16ps", "int8": "vpdpbusd"}[dtype]
    assert len(re.findall(rf"{instruction}\s", assembly)) == rows * vectors * taps
    reads = rows + taps - 1  # taps share what they have in common
    assert len(re.findall(r"v\w*broadcast\w+\s+-?\w*\(", assembly)) + assembly.count("{1to16}") == reads
    assert not spills_of(assembly)
