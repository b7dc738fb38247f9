"""Matrix instructions: blocks of x and of the weights in tile registers; exact on integers, on the CPU's registers
where it has them and on a twin of them in C.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from cpu.codegen.arrays import stored
from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from cpu.kernel.measure import check_exact, largest_error
from cpu.reference.oracle import error_bound, reals, reference
from cpu.runtime.machine.host import host, supports
from microkernels.ranking.offline import UsageError, usable_isa
from microkernels.tile.isa import isa_named
from search.evaluator.cpu.backend import cpu_backend
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.matrix_cases import ISA, NUMBERS
from tests.support.kernels.random_cases import case
from tiling.dtypes.products import OUTPUT_DTYPES
from tiling.epilogue import fused
from tiling.operators import conv2d, in_layout, matmul
from tiling.rewrite.dot_groups import (
    in_dot_groups,
    matrix_dot_group,
)
from tiling.scheme.specifiers import DotGroup
from tiling.text.notation import parse

# Operator, its extents, and a scheme; {b}: so many blocks of {d} words each, of bf16 as of int8.
CASES = {
    "one run": (conv2d, dict(c=64, h=2, w=16, k=16, r=1, s=1), "T(h,2) S(y) T(c,{b}) U(w,16)", "c", 8),
    "two runs of 2 vectors": (
        conv2d,
        dict(c=128, h=4, w=14, k=64, r=1, s=1),
        "T(h,2) T(k,2) S(y) T(c,{b}) U(h,2) U(w,14) U(k,2)",
        "c",
        16,
    ),
    "runs that go on in the next row": (
        conv2d,
        dict(c=32, h=3, w=5, k=40, r=1, s=1),
        "R(k) S(y) T(c,{b}) U(h,3) U(w,5)",
        "c",
        4,
    ),
    "unequal runs": (conv2d, dict(c=16, h=1, w=34, k=16, r=1, s=1), "S(y) T(c,{b}) U(w,34)", "c", 4),
    "unequal runs of 2 vectors": (
        conv2d,
        dict(c=16, h=1, w=33, k=32, r=1, s=1),
        "S(y) T(c,{b}) U(w,33) U(k,2)",
        "c",
        4,
    ),
    "composed": (conv2d, dict(c=24, h=3, w=34, k=16, r=1, s=1), "R(h) L(w, 2x11 + 1x12) S(y) T(c,{b}) U(w,λ)", "c", 6),
    "padded": (
        conv2d,
        dict(n=2, c=64, h=9, w=9, k=37, r=3, s=3, padding=1),
        "R(n) T(h,3) R(k) S(y) T(r,3) T(s,3) T(c,{b}) U(h,3) U(w,9)",
        "c",
        16,
    ),
    "padded, taps unrolled": (
        conv2d,
        dict(c=20, h=5, w=7, k=16, r=3, s=3, padding=((0, 2), (2, 0))),
        "R(h) S(y) T(c,{b}) U(r,3) U(s,3) U(w,7)",
        "c",
        5,
    ),
    "one row, padded": (
        conv2d,
        dict(c=32, h=1, w=6, k=16, r=1, s=3, padding=(0, 1)),
        "S(y) T(s,3) T(c,{b}) U(w,6)",
        "c",
        8,
    ),
    "padded beyond the image, strided": (
        conv2d,
        dict(c=8, h=6, w=6, k=32, r=3, s=5, padding=((1, 0), (4, 3)), stride=2),
        "R(h) S(y) T(r,3) T(s,5) T(c,{b}) U(w,5) U(k,2)",
        "c",
        2,
    ),
    "columns that no window reaches": (
        conv2d,
        dict(c=8, h=5, w=9, k=16, r=2, s=2, padding=((1, 0), (1, 0)), stride=(1, 4)),
        "R(h) S(y) T(r,2) T(s,2) T(c,{b}) U(w,3)",
        "c",
        2,
    ),
    "dilated": (
        conv2d,
        dict(c=16, h=7, w=8, k=16, r=2, s=3, padding=2, dilation=2),
        "R(h) R(w) S(y) T(r,2) T(s,3) T(c,{b})",
        "c",
        4,
    ),
    "channels that fill no block": (
        conv2d,
        dict(c=37, h=4, w=6, k=16, r=1, s=3, padding=(0, 1)),
        "T(h,4) S(y) T(s,3) T(c,{b}) U(w,6)",
        "c",
        7,
    ),
    "words of a window": (
        conv2d,
        dict(c=3, h=9, w=9, k=37, r=5, s=5, padding=2, stride=2),
        "R(k) T(h,5) S(y) T(r,5) T(sc,{b}) U(w,5)",
        "sc",
        5,
    ),
    "several blocks of a window": (
        conv2d,
        dict(c=3, h=3, w=14, k=16, r=2, s=12, padding=(0, 2)),
        "T(h,2) S(y) T(r,2) T(sc,{b}) U(w,7)",
        "sc",
        6,
    ),
    "pixels that are whole words": (
        conv2d,
        dict(c=4, h=4, w=17, k=24, r=3, s=3, padding=1),
        "R(k) T(h,4) S(y) T(r,3) T(sc,{b}) U(w,17)",
        "sc",
        3,
    ),
    "windows beyond the image": (
        conv2d,
        dict(c=2, h=2, w=3, k=16, r=1, s=6, padding=((0, 0), (4, 2))),
        "T(h,2) S(y) T(sc,{b}) U(w,4)",
        "sc",
        3,
    ),
    "pixels between windows": (
        conv2d,
        dict(c=3, h=2, w=19, k=16, r=1, s=3, stride=(1, 4)),
        "T(h,2) S(y) T(sc,{b}) U(w,5)",
        "sc",
        3,
    ),
    "several passes": (
        conv2d,
        dict(c=64, h=3, w=8, k=20, r=3, s=1, padding=(1, 0)),
        "T(c,{b}) R(k) R(h) S(y) T(r,3) U(w,8)",
        "c",
        4,
    ),
    "weights that are prefetched": (
        conv2d,
        dict(c=1024, h=4, w=4, k=1040, r=1, s=1),
        "T(h,2) T(k,65) T(h,2) S(y) T(c,{b}) U(w,4)",
        "c",
        16,
    ),
    "groups": (
        conv2d,
        dict(c=32, h=3, w=4, k=64, groups=2, r=3, s=3, padding=1),
        "R(g) R(k) T(h,3) S(y) T(r,3) T(s,3) T(c,{b}) U(w,4)",
        "c",
        4,
    ),
    "product": (matmul, dict(m=34, n=50, k=40), "T(m,2) T(n,2) S(c) T(k,{b}) U(m,17) U(n,2)", "k", 5),
    "a batch, composed": (
        matmul,
        dict(m=15, n=50, k=19, batch=2),
        "R(l) L(m, 1x3 + 2x6) R(n) S(c) T(k,{b}) U(m,λ)",
        "k",
        2,
    ),
}


def scheme_of(case: str, dtype: str, layout: str = "nhwc", **more):
    operator, extents, text, dims, words = CASES[case]
    problem = operator(**extents, dtype=dtype, **more)
    problem = in_layout(problem, layout) if operator is conv2d else problem
    dot = DotGroup(dims, words * NUMBERS[dtype])
    blocks = in_dot_groups(problem, dot).extents[dims[-1]]
    return parse(problem, f"{text.format(b=blocks)} {dot} V({problem.vector_dim},16)")


@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("case", CASES)
def test_exact_on_integers_beside_guard_pages(case, dtype, row):
    isa = row(dtype)
    scheme = scheme_of(case, dtype, output_dtype=OUTPUT_DTYPES[dtype][1 if dtype == "bf16" else 0])
    kernel = build(scheme, isa)
    assert kernel.emitted.isa == isa.name and "tile_dot(" in kernel.source
    for place in PLACES:
        check_guarded(kernel, place)


@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("case", [name for name, found in CASES.items() if found[0] is conv2d and found[3] == "c"])
def test_channels_first(case, dtype, row):
    """A copy transposes x to blocks, row by row where these need zeros; tiles are transposed as they are stored."""
    isa = row(dtype)
    output = OUTPUT_DTYPES[dtype][1 if case == "several passes" and dtype == "bf16" else 0]
    kernel = build(scheme_of(case, dtype, "nchw", output_dtype=output), isa)
    assert (
        kernel.emitted.isa == isa.name and "tile_dot(" in kernel.source and "copy_of_x(input, x_copy)" in kernel.source
    )
    for place in PLACES:
        check_guarded(kernel, place)


@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_transposed_product(dtype, threads, row):
    problem = matmul(m=40, n=37, k=50, transpose_a=True, dtype=dtype)
    dot = matrix_dot_group(problem)
    text = f"T(m,4)@core R(n) S(c) R(k) U(m,10) {dot} V(n,16)"
    check_exact(build(parse(problem, text), row(dtype), threads))


@pytest.mark.parametrize("dtype", ISA)
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_and_epilogues(dtype, threads, row):
    output = {"bf16": "bf16", "int8": "u8"}[dtype]
    problem = conv2d(n=2, c=32, h=8, w=8, k=37, r=3, s=3, padding=1, dtype=dtype, output_dtype=output)
    problem = fused(problem, "relu(y + b)" if dtype == "bf16" else "relu(y*0.01*s[k] + b)")
    dot = matrix_dot_group(problem)
    text = f"T(h,4)@core T(n,2) T(k,3) S(y) T(r,3) T(s,3) R(c) U(h,2) U(w,8) {dot} V(k,16)"
    kernel = build(parse(problem, text), row(dtype), threads)
    check_exact(kernel)
    inputs = reals(problem, 5)
    largest_error(problem, kernel(*stored(problem, inputs)), reference(problem, *inputs), error_bound(problem, *inputs))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ISA)
def test_random_schemes(dtype, row):
    isa, random, blocked = row(dtype), Random(f"{dtype} 1"), 0
    for _ in range(30):
        found = case(random, (isa.name,), (1, 2))
        kernel = build(found.scheme, isa, found.threads, found.stream)
        blocked += kernel.emitted.isa == isa.name
        check_guarded(kernel, random.choice(PLACES))
    assert blocked > 7  # the others are read by vectors


def test_vectors_take_over_where_the_system_withholds_tile_registers(monkeypatch):
    isa = isa_named("amxbf16")
    monkeypatch.setattr("search.evaluator.cpu.target.host", lambda: replace(host(), flags=frozenset(isa.cpu_flags)))
    for given, name in ((True, "amxbf16"), (False, "avx512bf16")):
        monkeypatch.setattr("search.evaluator.cpu.target.tiles_given", lambda given=given: given)
        assert cpu_backend(dtype="bf16").isa.name == name


def test_only_convolutions_have_matrix_tiles_to_rank(monkeypatch):
    isa = isa_named("amxbf16")
    monkeypatch.setattr("microkernels.ranking.offline.host", lambda: replace(host(), flags=frozenset(isa.cpu_flags)))
    assert usable_isa("amxbf16") is isa
    with pytest.raises(UsageError, match="amxbf16 computes depthwise2d by vectors: its ranking is avx512f's"):
        usable_isa("amxbf16", "depthwise2d")


def test_a_step_reads_like_the_picture():
    scheme = scheme_of("two runs of 2 vectors", "bf16")
    text = emit(scheme, isa_named("amxbf16")).text
    for line in (
        "tile_load(tmm4, x_c, X_w * sizeof *x); tile_load(tmm6, w_c, 16 * sizeof *w); tile_dot(tmm0, tmm4, tmm6); "
        "tile_load(tmm7, w_c + 256, 16 * sizeof *w); tile_dot(tmm1, tmm4, tmm7);",
        "tile_load(tmm5, x_c + X_h, X_w * sizeof *x); tile_dot(tmm2, tmm5, tmm6); tile_dot(tmm3, tmm5, tmm7);",
        "static const struct shapes SHAPES_0 = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {14, 14, 14, 14, 14, 14, "
        "16, 16}};",
    ):
        assert line in text


def test_the_next_weights_are_prefetched():
    text = emit(scheme_of("weights that are prefetched", "bf16"), isa_named("amxbf16")).text
    assert "const long next_w = 512 * k + 8192;" in text and text.count("w_next = l2_prefetch(w_next, w_end);") == 8
    assert "cursors->w_end = place(W, (next_w + 8192) * sizeof *W, W_BYTES);" in text
    few = emit(scheme_of("padded", "bf16"), isa_named("amxbf16")).text
    assert "l2_prefetch" not in few


def test_an_infinity_beside_a_window_is_no_part_of_it(row):
    """Blocks of neighbouring windows overlap, but none reads beyond its own pixels."""
    problem = conv2d(c=3, h=1, w=24, k=16, r=1, s=5, dtype="bf16", output_dtype="f32")
    kernel = build(parse(problem, "R(h) T(w,2) S(y) T(sc,1) U(w,10) D(sc,20) V(k,16)"), row("bf16"))
    x, w = np.ones((1, 1, 24, 3), np.float32), np.ones((16, 3, 1, 5), np.float32)
    x[0, :, 11] = np.inf
    y = kernel(*stored(problem, (x, w)))
    touched = range(7, 12)
    assert np.all(np.isinf(y[:, :, touched])) and np.all(np.delete(y, touched, axis=2) == 15)


SMALL_STACK = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)

class Stack(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

memory = ctypes.create_string_buffer(4096)
assert libc.sigaltstack(ctypes.byref(Stack(ctypes.addressof(memory), 0, 4096)), None) == 0

from cpu.runtime.machine.host import tiles_given
from cpu.kernel.callable import CpuError, build
from microkernels.tile.isa import isa_named
from search.evaluator.cpu.backend import cpu_backend
from tiling.text.notation import parse
from tiling.operators import conv2d
from tiling.problem import ProblemError

assert not tiles_given() and cpu_backend(dtype="bf16").isa.name == "avx512bf16"
try:
    cpu_backend("amxbf16", dtype="bf16")
except ProblemError as error:
    print(error)
problem = conv2d(c=64, h=1, w=16, k=16, r=1, s=1, dtype="bf16")
try:
    build(parse(problem, "R(h) S(y) T(c,2) U(w,16) D(c,32) V(k,16)"), isa_named("amxbf16"))
except CpuError as error:
    print(error)
"""


def test_where_the_system_refuses_tile_registers_it_is_said(tmp_path):
    """Linux refuses them to a process with a signal stack that has no room for them."""
    if not supports(isa_named("amxbf16").cpu_flags):
        pytest.skip("needs AMX")
    told = subprocess.run([sys.executable, "-c", SMALL_STACK], capture_output=True, text=True, check=True).stdout
    lines = told.splitlines()
    assert len(lines) == 2
    assert all("the system does not give this process the tile registers of amxbf16" in line for line in lines)
    assert lines[0].endswith("use avx512bf16")
