"""Schemes that passes make, of every kind that passes know: small ones that the interpreter runs too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from cpu.reference.oracle import reference
from cpu.runtime.numbers import from_bits, to_bits
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.program import CudaSource
from gpu.passes.facts.workers import cluster_of
from gpu.passes.warpgroups.kinds import copied
from gpu.twin.launch import TwinError, run_on_twin
from tests.support.gpu.cases import integers
from tests.support.sampled import traits
from tiling.epilogue import fused
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.meaning.memory import NUMPY
from tiling.operators import conv2d, in_layout, matmul
from tiling.problem import Problem
from tiling.rewrite.copied import Copied
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse

_PRODUCT = "T(m,2)@block T(n,2)@block S(c) T(k,3) S(a) S(b) T(m,2)@warp T(m,4)@lane T(n,8)@lane U(k,4) U(m,1) U(n,2)"
_PIXELS = "T(h,3)@block S(y) T(c,2) T(r,3) S(x) S(w) T(w,8)@lane T(k,4)@lane U(s,3) U(c,2) U(h,2) U(k,2)"
_IMAGE = dict(c=4, h=6, w=8, k=8, r=3, s=3, padding=1)

_MATRICES = "T(n,1)@block S(c) T(k,2) S(a) S(b)"

# A problem and the text of a scheme.
_CASES = {
    "product": (matmul(m=16, n=32, k=12), _PRODUCT),
    "product in a ring": (
        matmul(m=16, n=64, k=12),
        "T(m,2)@block S(c) T(k,3) S(a, 2) S(b, 2) T(m,2)@lane T(n,8)@lane T(m,2)@lane U(k,4) U(m,2) U(n,8)",
    ),
    "odd product in a ring": (
        matmul(m=13, n=29, k=19, transpose_b=True),
        "T(m,2)@block S(c) T(k,5) S(a, 4) S(b, 4) T(n,8)@lane T(m,4)@lane U(k,4) U(m,2) U(n,4)",
    ),
    "convolution in a ring": (
        conv2d(n=1, c=4, h=3, w=8, k=16, r=3, s=3, padding=1),
        "T(h,3)@block S(y) T(c,2) S(x, 2) S(w, 2) T(r,3) T(s,3) T(w,4)@lane T(k,8)@lane U(c,2) U(w,2) U(k,2)",
    ),
    "one input staged": (matmul(m=16, n=32, k=12), _PRODUCT.replace("S(b) ", "")),
    "nothing staged": (matmul(m=16, n=32, k=12), _PRODUCT.replace("S(a) S(b) ", "")),
    "staged outside the sums": (
        matmul(m=16, n=32, k=12),
        "T(m,2)@block S(a) T(n,2) S(c) T(k,3) S(b) T(m,8)@lane T(n,4)@lane U(k,4) U(n,4)",
    ),
    "workers around the sums": (
        matmul(m=16, n=16, k=8),
        "S(a) T(m,2)@warp S(c) T(m,8)@lane T(k,2) T(n,4)@lane U(k,4) U(n,4)",
    ),
    "transposed batch": (
        matmul(m=8, n=16, k=8, batch=3, transpose_a=True, transpose_b=True),
        "T(l,3)@block S(c) T(k,2) S(a) S(b) T(m,4)@lane T(n,8)@lane U(k,4) U(m,2) U(n,2)",
    ),
    "composed rows": (
        matmul(m=40, n=16, k=6),
        "T(n,2)@block L(m, 1x2 + 1x3) S(c) T(k,2) S(a) S(b) T(m,8)@lane T(n,4)@lane U(k,3) U(m,λ) U(n,2)",
    ),
    "epilogue": (fused(matmul(m=16, n=32, k=12), "relu(y + bias[n]) + z[m,n]"), _PRODUCT),
    "f16": (matmul(m=16, n=32, k=12, dtype="f16"), _PRODUCT),
    "bf16, epilogue": (fused(matmul(m=16, n=32, k=12, dtype="bf16"), "relu(y + bias[n]) + z[m,n]"), _PRODUCT),
    "convolution": (conv2d(**_IMAGE, n=1), _PIXELS),
    "wide convolution": (
        conv2d(n=1, c=8, h=4, w=8, k=8, r=3, s=3, padding=1),
        "T(h,4)@block S(y) T(c,2) T(r,3) S(x) S(w) T(w,8)@lane T(k,4)@lane U(s,3) U(c,4) U(k,2)",
    ),
    "strided convolution": (
        conv2d(n=2, c=3, h=5, w=5, k=64, r=3, s=3, padding=1, stride=2),
        "T(n,2)@block T(h,3)@block S(y) T(c,3) S(x) S(w) T(k,2)@warp T(k,32)@lane U(r,3) U(s,3) U(w,3)",
    ),
    "channels first": (
        in_layout(conv2d(n=1, c=4, h=6, w=8, k=8, r=3, s=3, padding=1), "nchw"),
        "T(k,2)@block S(y) T(c,2) S(x) S(w) T(h,3)@warp T(k,4)@lane T(w,8)@lane U(c,2) U(r,3) U(s,3) U(h,2)",
    ),
    "groups": (
        conv2d(n=1, c=8, h=4, w=8, k=16, r=3, s=3, padding=1, groups=2),
        "T(g,2)@block S(y) T(c,2) S(x) S(w) T(h,4)@warp T(w,8)@lane T(k,4)@lane U(r,3) U(s,3) U(c,2) U(k,2)",
    ),
    "depthwise": (
        conv2d(n=1, c=32, h=6, w=5, k=32, r=3, s=3, padding=1, groups=32),
        "T(h,3)@block S(y) S(x) S(w) T(h,2)@warp T(c,32)@lane U(r,3) U(s,3) U(w,5)",
    ),
    "depthwise, weights in place": (
        conv2d(n=1, c=32, h=6, w=5, k=32, r=3, s=3, padding=1, groups=32),
        "T(h,6)@block S(y) T(r,3) S(x) T(c,32)@lane U(s,3) U(w,5)",
    ),
    "depthwise, channels first, bf16": (
        in_layout(conv2d(n=1, c=3, h=8, w=8, k=3, r=3, s=3, padding=1, groups=3, dtype="bf16"), "nchw"),
        "T(c,3)@block S(y) S(x) S(w) T(h,4)@lane T(w,8)@lane U(r,3) U(s,3) U(h,2)",
    ),
    "matrices": (matmul(m=13, n=12, k=20, dtype="f16"), f"{_MATRICES} T(m,1)@warp U(n,2) M(m16n8k16)"),
    "matrices, transposed, bf16, epilogue": (
        fused(matmul(m=20, n=9, k=8, dtype="bf16", transpose_a=True, transpose_b=True), "relu(y + bias[n]) + z[m,n]"),
        "S(c) S(a) S(b) T(m,2)@warp U(n,2) M(m16n8k16)",
    ),
    "matrices, tf32": (
        matmul(m=10, n=11, k=12, dtype="tf32"),
        f"{_MATRICES} T(m,1)@warp T(n,2)@warp U(n,2) M(m16n8k8)",
    ),
    "matrices in a ring": (
        matmul(m=13, n=12, k=72, dtype="f16", transpose_b=True),
        "S(c) T(k,5) S(a, 3) S(b, 3) T(m,1)@warp U(n,2) M(m16n8k16)",
    ),
    "matrices in a ring, threads gather": (
        matmul(m=16, n=15, k=35, dtype="bf16"),
        "S(c) T(k,3) S(a, 2) S(b, 2) T(m,1)@warp U(n,2) M(m16n8k16)",
    ),
    "matrices of pixels that threads gather": (
        conv2d(n=1, c=3, h=5, w=4, k=8, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
        "S(y) T(rsc,2) S(x) S(w) T(nhw,2)@warp U(k,2) M(nhw16k8rsc16)",
    ),
    "matrices loaded ahead": (
        matmul(m=9, n=16, k=88, dtype="f16"),
        "S(c) T(k,3) S(a, 2) S(b, 2) T(m,1)@warp U(k,2) U(n,2) M(m16n8k16)",
    ),
    "matrices loaded ahead, fewer steps than stages": (
        matmul(m=9, n=16, k=57, dtype="f16", transpose_b=True),
        "S(c) T(k,2) S(a, 4) S(b, 4) T(m,1)@warp U(k,2) U(n,2) M(m16n8k16)",
    ),
    "matrices loaded ahead in one step": (
        matmul(m=9, n=16, k=42, dtype="f16"),
        "S(c) T(k,1) S(a, 2) S(b, 2) T(m,1)@warp U(k,3) U(n,2) M(m16n8k16)",
    ),
    "matrices, a sum that blocks share": (
        fused(matmul(m=17, n=16, k=62, dtype="f16"), "relu(y + bias[n])"),
        "T(k,2)@block T(m,2)@block S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warp U(n,2) M(m16n8k16)",
    ),
    "matrices, a block beyond the edge": (
        matmul(m=40, n=16, k=16, dtype="bf16", transpose_b=True),
        "T(m,2)@block T(n,1)@block T(m,2)@block S(c) T(k,1) S(a) S(b) T(m,1)@warp U(n,2) M(m16n8k16)",
    ),
    "matrices of a convolution": (
        conv2d(n=1, c=4, h=5, w=3, k=9, r=3, s=1, padding=((1, 1), (0, 0)), dtype="f16", filters="krsc"),
        "S(y) T(rsc,1) S(x) S(w) T(nhw,1)@warp U(k,2) M(nhw16k8rsc16)",
    ),
}


# The same of warpgroups. A tile has 64 rows and columns at least, so the extents are small instead.
_WARPGROUPS = {
    "warpgroups": (
        matmul(m=9, n=12, k=76, dtype="tf32", transpose_b=True),
        "S(c) T(k,3) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n64k8)",
    ),
    "warpgroups, across": (
        fused(matmul(m=8, n=16, k=180, dtype="f16", transpose_a=True), "relu(y + bias[n])"),
        "S(c) T(k,3) S(a, 2) S(b, 2) T(n,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
    "warpgroups of 192 columns": (
        matmul(m=8, n=152, k=24, dtype="bf16"),
        "S(c) T(k,1) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n192k16)",
    ),
    "three warpgroups": (
        matmul(m=136, n=8, k=12, dtype="tf32", transpose_b=True),
        "S(c) T(k,1) S(a, 2) S(b, 2) T(m,3)@warpgroup U(k,4) M(m64n64k8)",
    ),
    "warpgroups, one step": (
        matmul(m=5, n=16, k=24, dtype="bf16", batch=2),
        "T(l,2)@block S(c) T(k,1) S(a, 2) S(b, 2) T(n,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
    "warpgroups in turns": (
        matmul(m=9, n=136, k=80, dtype="f16", transpose_b=True),
        "T(m,1)@cluster T(n,3)@cluster S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
    "warpgroups of clusters": (
        matmul(m=66, n=136, k=80, dtype="bf16", transpose_b=True),
        "T(m,1)@cluster T(n,3)@cluster T(m,2)@block S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
    "warpgroups, a residual by boxes": (
        fused(matmul(m=9, n=112, k=36, dtype="tf32", transpose_b=True), "relu(y + bias[n]) - z[m,n]"),
        "T(m,1)@cluster T(n,2)@cluster S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) U(m,2) M(m64n64k8)",
    ),
    "warpgroups of clusters, a sum that they share": (
        fused(matmul(m=9, n=104, k=196, dtype="f16", transpose_b=True), "relu(y + bias[n]) - z[m,n]"),
        "T(k,2)@cluster T(m,1)@cluster T(n,2)@cluster S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
    "warpgroups that take turns": (
        fused(matmul(m=190, n=8, k=40, dtype="tf32", transpose_b=True), "y * 2 + z[m,n]"),
        "T(m,2)@cluster T(n,1)@cluster T(m,2)@warpgroup S(c) T(k,2) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) "
        "M(m64n64k8)",
    ),
    "warpgroups, copies of inputs": (
        matmul(m=9, n=70, k=66, dtype="tf32"),
        "T(m,1)@cluster T(n,2)@cluster S(c) T(k,3) S(a, 2) S(b, 2) T(m,1)@warpgroup U(k,4) M(m64n64k8)",
    ),
    "warpgroups of pixels": (
        conv2d(n=1, c=8, h=4, w=3, k=12, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
        "S(y) T(rsc,2) S(x, 3) S(w, 3) T(k,1)@warpgroup U(rsc,4) M(nhw64k64rsc16)",
    ),
    "warpgroups, pixels by boxes": (
        conv2d(n=2, c=8, h=5, w=4, k=12, r=2, s=2, padding=1, stride=2, dtype="f16", filters="krsc"),
        "S(y) T(r,2) T(s,2) T(c,1) S(x, 2) S(w, 2) T(k,1)@warpgroup U(c,4) M(nhw64k64c16)",
    ),
    "warpgroups, blocks of pixels": (
        conv2d(n=1, c=3, h=6, w=7, k=136, r=5, s=5, padding=2, stride=2, dtype="f16", filters="krsc"),
        "P(2x6) T(nhw,1)@cluster T(k,3)@cluster S(y) T(r,3) T(s,1) T(c,1) S(x, 2) S(w, 2) T(k,1)@warpgroup U(c,4) "
        "M(nhw64k64c16)",
    ),
    "warpgroups, threads gather across": (
        matmul(m=9, n=13, k=190, dtype="bf16", transpose_a=True),
        "S(c) T(k,3) S(a, 3) S(b, 3) T(m,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
    "warpgroups, a sum that blocks share": (
        fused(matmul(m=9, n=8, k=120, dtype="f16", transpose_b=True), "relu(y + bias[n])"),
        "T(k,2)@block S(c) T(k,1) S(a, 3) S(b, 3) T(m,1)@warpgroup U(k,4) M(m64n64k16)",
    ),
}


# The same of tiles that need registers of the warps that copy. The interpreter would take a minute for them.
_MOVING = {
    "warpgroups that take registers": (
        fused(matmul(m=300, n=136, k=136, dtype="f16", transpose_b=True), "relu(y + b[n]) + z[m,n] * q[m,n]"),
        "T(m,1)@cluster T(n,2)@cluster T(m,2)@block S(c) T(k,3) S(a, 3) S(b, 3) T(m,2)@warpgroup U(k,4) U(m,2) "
        "M(m64n128k16)",
    ),
    "warpgroups that take turns and registers": (
        fused(matmul(m=600, n=264, k=136, dtype="bf16", transpose_b=True), "y + z[m,n] * q[m,n]"),
        "T(m,5)@cluster T(n,2)@cluster T(m,2)@warpgroup S(c) T(k,3) S(a, 3) S(b, 3) T(m,1)@warpgroup U(k,4) "
        "M(m64n256k16)",
    ),
    "three warpgroups that take registers": (
        fused(matmul(m=230, n=400, k=72, dtype="f16", transpose_b=True), "relu(y + b[n] + z[m,n])"),
        "T(m,1)@cluster T(n,3)@cluster T(m,2)@block S(c) T(k,2) S(a, 3) S(b, 3) T(m,3)@warpgroup U(k,4) M(m64n192k16)",
    ),
}


def scheme_of(name: str) -> Scheme:
    """One of SCHEMES, WARPGROUPS or MOVING."""
    problem, text = (_CASES | _WARPGROUPS | _MOVING)[name]
    return parse(problem, text)


SCHEMES, WARPGROUPS, MOVING = tuple(_CASES), tuple(_WARPGROUPS), tuple(_MOVING)


def traits_of(name: str) -> set[str]:
    """What tells its kind of kernels from others."""
    return traits(*(_CASES | _WARPGROUPS | _MOVING)[name])


def expected(problem: Problem, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    """The exact result, rounded once to the output's dtype. w lies as the problem says; the oracle takes (K,C,R,S)."""
    axes = [index.terms[0][0] for index in problem.vector.indices if index.terms]
    if set(axes) == set("kcrs"):
        w = w.transpose([axes.index(dim) for dim in "kcrs"])
    exact = reference(problem, x, w, *arrays).astype(np.float32)
    return from_bits(to_bits(exact, problem.output_dtype), problem.output_dtype)


def on_twin(scheme: Scheme, source: CudaSource | None = None, seeds: Iterable[int] = (0, 1)) -> bool:
    """Whether a scheme's text is exact on the twin. source: its text, or a changed one. Raises TwinError."""
    given, source = integers(scheme.problem), source or emit_scheme(scheme)
    source = replace(source, persistent=min(1, source.persistent))  # so that few blocks take several tiles
    wanted = expected(scheme.problem, *given)
    return all(np.array_equal(run_on_twin(source, *given, seed=seed).output, wanted) for seed in seeds)


def survives(scheme: Scheme, text: str, seeds: Iterable[int] = range(6)) -> bool:
    """Whether a changed text still gives the right result in every order tried, and the twin finds nothing wrong."""
    source = emit_scheme(scheme)
    assert text != source.text, "nothing was changed"
    return _is_right(scheme, replace(source, text=text), seeds)


def _is_right(scheme: Scheme, source: CudaSource, seeds: Iterable[int]) -> bool:
    try:
        return on_twin(scheme, source, seeds)
    except TwinError:
        return False


def unnoticed(scheme: Scheme, statements: str) -> tuple[int, list[str]]:
    """How many such statements a scheme's text has, and those that can be left out, one alone, with a right result.

    One program serves for all of them: it asks the environment which statement it is to leave out.
    """
    source, numbers = emit_scheme(scheme), count()
    found = [place[0] for place in re.finditer(statements, source.text)]
    asks = re.sub(statements, lambda s: f'if (atoi(getenv("LEFT_OUT")) != {next(numbers)}) {{ {s[0]} }}', source.text)
    asking = replace(source, text=asks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEFT_OUT", "-1")
        assert on_twin(scheme, asking), "nothing is left out"
        survivors = []
        for number, statement in enumerate(found):
            patch.setenv("LEFT_OUT", str(number))
            survivors += [statement] if _is_right(scheme, asking, range(6)) else []
    return len(found), survivors


def made_of(copy: Copied, given: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A copy of an input as a kernel reads it, an array of this shape."""
    names = dict(zip((name for name, _ in copy.axes), np.indices(copy.shape)))
    inside = np.ones(copy.shape, bool)
    for test in copy.within:
        at = test.index.at(names)
        inside &= (at >= (0 if test.low is None else test.low)) & (at < (1 << 62 if test.high is None else test.high))
    found = given.reshape([extent for _, extent in copy.given])
    at = tuple(np.where(inside, index.at(names), 0) for index in copy.at)
    made = np.where(inside, found[at], found.dtype.type(0))
    if not copy.overlapping:
        return made.reshape(shape)
    steps = tuple(step * made.itemsize for step in copy.overlapping)
    assert sum((extent - 1) * step for extent, step in zip(shape, copy.overlapping)) == made.size - 1
    return as_strided(made, shape, steps).copy()


def interpreted(scheme: Scheme, kernel: Kernel) -> np.ndarray:
    """What the interpreter makes of one form of a scheme's loops, with one cluster."""
    problem, given = scheme.problem, integers(scheme.problem)
    dtypes = [problem.dtype] * 2 + [problem.output_dtype] * len(problem.epilogue_arrays)
    names = ["X", "W", *(f"E_{array.name}" for array in problem.epilogue_arrays)]
    kept = {buffer.name: buffer for buffer in kernel.arrays}
    arrays = {name: to_bits(x, dtype).astype(NUMPY[kept[name].dtype]) for name, x, dtype in zip(names, given, dtypes)}
    for copy in copied(scheme):
        name = "XW"[copy.array]
        arrays[name] = made_of(copy, arrays[name], kept[name].shape)
    y = np.zeros(problem.output.shape, NUMPY[problem.output_dtype])
    more = {b.name: np.zeros(b.shape, NUMPY[b.dtype]) for b in kernel.arrays if b.name not in (*arrays, "Y")}
    interpret(kernel, arrays | more | {"Y": y}, {name: cluster_of(kernel) for name, _ in kernel.numbers})
    return from_bits(y, problem.output_dtype)
