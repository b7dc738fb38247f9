"""bf16 and int8 problems, and how their kernels are checked."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from cpu.codegen.arrays import stored
from cpu.kernel.measure import check_exact
from cpu.reference.oracle import error_bound, reals, reference, wrong
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import host
from cpu.runtime.numbers import ELEMENTS, from_bits
from microkernels.tile.isa import ISAS_OF
from search import load_kernel
from tests.support.kernels.guard import PLACES, check_guarded
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.rewrite.dot_groups import in_dot_groups
from tiling.scheme.specifiers import DotGroup
from tiling.text.notation import parse

ISA = {"bf16": "avx512bf16", "int8": "avx512vnni"}
NUMBERS = {"bf16": 2, "int8": 4}
ON_BOTH = [pytest.param(dtype, marks=pytest.mark.isa(ISA[dtype])) for dtype in ISA]
# Operator, its extents, and a scheme; {c}: words along the channels, or along k of a product; {sc}: along a window's
# row.
CASES = {
    "whole words": (
        conv2d,
        dict(c=8, h=6, w=6, k=32, r=3, s=3, padding=1),
        "R(k) T(h,6) S(y) T(r,3) T(s,3) T(c,{c}) U(w,6)",
    ),
    "one channel": (
        conv2d,
        dict(c=1, h=5, w=6, k=16, r=3, s=3, padding=1),
        "R(k) T(h,5) S(y) T(r,3) T(c,{c}) U(s,3) U(w,6)",
    ),
    "three channels, strided": (
        conv2d,
        dict(c=3, h=9, w=9, k=37, r=5, s=5, padding=2, stride=2),
        "R(k) T(h,5) S(y) T(r,5) T(s,5) U(c,{c}) U(w,5)",
    ),
    "five channels, masked": (
        conv2d,
        dict(n=2, c=5, h=7, w=7, k=37, r=3, s=3, padding=1),
        "R(n) R(k) T(h,7) S(y) T(r,3) T(c,{c}) U(s,3) U(w,7)",
    ),
    "six channels, composed": (
        conv2d,
        dict(c=6, h=4, w=9, k=48, r=1, s=3, padding=(0, 1), dilation=(1, 2)),
        "R(h) L(w, 1x2 + 1x5) S(y) T(s,3) T(c,{c}) U(w,λ) U(k,3)",
    ),
    "groups of odd channels": (
        conv2d,
        dict(c=9, h=5, w=5, k=60, r=3, s=3, padding=1, groups=3),
        "R(g) R(k) T(h,5) S(y) T(r,3) T(s,3) T(c,{c}) U(w,5)",
    ),
    "groups of whole words": (
        conv2d,
        dict(c=16, h=5, w=4, k=32, r=3, s=1, padding=(1, 0), groups=2),
        "T(g,2)@core R(k) T(h,5) S(y) T(r,3) T(c,{c}) U(w,4)",
    ),
    "windows of three channels, strided": (
        conv2d,
        dict(c=3, h=9, w=9, k=37, r=5, s=5, padding=2, stride=2),
        "R(k) T(h,5) S(y) T(r,5) U(sc,{sc}) U(w,5)",
    ),
    "windows of five channels, padded before": (
        conv2d,
        dict(n=2, c=5, h=6, w=7, k=20, r=3, s=3, padding=((0, 1), (4, 0))),
        "R(n) R(k) T(h,5) S(y) T(r,3) R(sc) U(w,9)",
    ),
    "windows of one channel, composed": (
        conv2d,
        dict(c=1, h=4, w=23, k=48, r=2, s=5, dilation=(2, 1)),
        "R(h) L(w, 1x4 + 3x5) S(y) T(sc,{sc}) U(r,2) U(w,λ) U(k,3)",
    ),
    "windows of whole words": (
        conv2d,
        dict(c=4, h=3, w=8, k=16, r=3, s=2, stride=2),
        "T(h,1) S(y) T(sc,{sc}) T(r,3) U(w,4)",
    ),
    "windows by themselves": (
        conv2d,
        dict(c=3, h=4, w=12, k=32, r=2, s=4, stride=(1, 4)),
        "T(h,3) S(y) T(r,2) T(sc,{sc}) U(w,3) U(k,2)",
    ),
    "windows, padded after": (
        conv2d,
        dict(c=3, h=1, w=6, k=16, r=1, s=3, padding=((0, 0), (0, 7))),
        "S(y) T(sc,{sc}) U(w,11)",
    ),
    "channels first, masked": (
        conv2d,
        dict(n=2, c=5, h=7, w=7, k=37, r=3, s=3, padding=1, layout="nchw"),
        "R(n) R(k) T(h,7) S(y) T(r,3) T(c,{c}) U(s,3) U(w,7)",
    ),
    "channels first, whole blocks": (
        conv2d,
        dict(c=68, h=4, w=19, k=48, r=1, s=2, padding=(0, 1), layout="nchw"),
        "R(h) R(k) L(w, 1x4 + 1x16) S(y) T(s,2) T(c,{c}) U(w,λ)",
    ),
    "channels first, one row, accumulated": (
        conv2d,
        dict(c=12, h=1, w=3, k=20, r=3, s=1, padding=(1, 0), layout="nchw"),
        "T(r,3) R(w) R(k) S(y) T(c,{c})",
    ),
    "channels first, groups of odd channels": (
        conv2d,
        dict(n=2, c=9, h=5, w=5, k=60, r=3, s=3, padding=1, groups=3, layout="nchw"),
        "T(g,3)@core R(n) R(k) T(h,5) S(y) T(r,3) T(s,3) T(c,{c}) U(w,5)",
    ),
    "channels first, groups of whole words": (
        conv2d,
        dict(c=16, h=5, w=4, k=32, r=3, s=1, padding=(1, 0), groups=2, layout="nchw"),
        "R(g) R(k) T(h,5) S(y) T(r,3) T(c,{c}) U(w,4)",
    ),
    "product, a transposed": (
        matmul,
        dict(m=15, n=50, k=19, batch=2, transpose_a=True),
        "R(l) L(m, 1x3 + 2x6) R(n) S(c) T(k,{c}) U(m,λ)",
    ),
    "product": (matmul, dict(m=15, n=50, k=19), "L(m, 1x3 + 2x6) R(n) S(c) T(k,{c}) U(m,λ)"),
    "product, whole words": (matmul, dict(m=12, n=33, k=24), "T(m,2) R(n) S(c) T(k,{c}) U(m,6)"),
}


def multiplies(dtype: str) -> bool:
    """Whether this CPU has instructions for products of a dtype."""
    return any(host().flags >= set(isa.cpu_flags) for isa in ISAS_OF[dtype].values())


def problem_of(case, dtype, output_dtype=None):
    operator, extents, _ = CASES[case]
    return operator(**extents, dtype=dtype, output_dtype=output_dtype)


def scheme_of(case, dtype, output_dtype=None, epilogue=None):
    problem = fused(problem_of(case, dtype, output_dtype), epilogue)
    dims = "k" if problem.op == "matmul" else "sc" if "(sc" in CASES[case][2] else "c"
    words = in_dot_groups(problem, DotGroup(dims, NUMBERS[dtype])).extents[dims[-1]]
    return parse(
        problem, f"{CASES[case][2].format(c=words, sc=words)} D({dims},{NUMBERS[dtype]}) V({problem.vector_dim},16)"
    )


def check_all(kernel):
    """Exact on integers wherever the arrays lie beside guard pages, and within the bound on reals."""
    check_exact(kernel)
    for place in PLACES:
        check_guarded(kernel, place)
    values = reals(kernel.problem, seed=1)
    y = kernel(*stored(kernel.problem, values))
    assert y.dtype == ELEMENTS[kernel.problem.output_dtype].numpy
    assert not np.any(
        wrong(kernel.problem, y, reference(kernel.problem, *values), error_bound(kernel.problem, *values))
    )


ONE = dict(c=8, h=4, w=4, k=16, r=1, s=1)


def check_saved(kernel, tmp_path):
    """A C program that calls the saved kernel prints the checksum of its result, and it loads again."""
    library = next(path for path in kernel.save(tmp_path) if path.suffix == ".so")
    x, w, *arrays = (
        np.arange(t.elements, dtype=np.float32).reshape(t.shape)
        for t in (kernel.problem.broadcast, kernel.problem.vector, *kernel.problem.epilogue_arrays)
    )
    values = (x % 5 - (2 if kernel.problem.dtype == "bf16" else 0), w % 7 - 3, *(array % 3 - 1 for array in arrays))
    y = kernel(*stored(kernel.problem, values))
    numbers = from_bits(y, kernel.problem.output_dtype).astype(np.float64).ravel()
    compiler = [*find_compiler().command, "-O2", "-Wall", "-Werror"]
    command = [*compiler, f"{library.stem}_example.c", library, "-Wl,-rpath,$ORIGIN", "-o", "example"]
    subprocess.run(command, cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True).stdout
    assert f"checksum {np.sum(numbers * (np.arange(numbers.size) % 3 + 1)):.0f}\n" in printed
    assert np.array_equal(load_kernel(tmp_path)(*stored(kernel.problem, values)), y)
