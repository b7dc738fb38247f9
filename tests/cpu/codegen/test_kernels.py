"""Emitted kernels against the definition: exact on small integers, within K·eps on reals, on every instruction set."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from cpu.codegen.emit import emit
from cpu.kernel.measure import check_exact
from cpu.reference.oracle import WrongResult, integers, reference
from cpu.runtime.processes.worker import Worker
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import (
    ALL_CASES,
    CASES,
    FLATTENED,
    FOURS,
    GROUPED,
    ON_EVERY_ISA,
    SAME_3X3,
    kernel_of,
)
from tests.support.sampled import traits
from tiling.operators import conv2d
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

EIGHTS = grouped2d(conv2d(c=40, k=40, groups=5, h=7, w=7, r=3, s=3, padding=1))


# A compilation that takes longer than this on a loaded machine hangs.
SECONDS = 300


@pytest.fixture(scope="module")
def worker():
    with closing(Worker(packages=("tests",))) as worker:
        yield worker


@pytest.mark.exhaustive(case=lambda name: set(product([ALL_CASES[name][0]], traits(*ALL_CASES[name]))))
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("case", ALL_CASES)
def test_exact_on_integers_bounded_on_reals_and_beside_guard_pages(worker, case, isa):
    """In a worker: a kernel that touches a page is a finding, and not the end of the tests."""
    worker.call("tests.support.kernels.guard:check_case", timeout=SECONDS, name=case, isa=isa)


@pytest.mark.slow
@pytest.mark.parametrize("isa", [pytest.param(name, marks=pytest.mark.isa(name)) for name in ("avx512f", "avx2")])
@pytest.mark.parametrize("tile", ["U(w,7)", "U(h,7) U(w,1)", "U(w,7) U(k,2)"])
def test_groups_of_eight_side_by_side(tile, isa):
    loops = "T(h,7)" if "U(h" not in tile else "T(w,7)"
    blocks = "L(k, 1x1 + 1x2) " if "U(k" in tile and isa == "avx512f" else ""
    tile = tile.replace("U(k,2)", "U(k,λ)" if blocks else "")
    text = f"{blocks}{loops} {'' if blocks else 'R(k) '}S(y) T(r,3) U(c,8) U(s,3) {tile} V(k,{{v}})"
    check_exact(kernel_of(EIGHTS, text, isa))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_a_group_of_a_whole_vector_meets_in_its_lanes(isa):
    size = ISAS[isa].lanes
    problem = grouped2d(conv2d(c=2 * size, k=2 * size, groups=2, h=3, w=4, r=1, s=3, padding=(0, 1)))
    check_exact(kernel_of(problem, f"R(k) T(h,3) T(w,4) S(y) T(s,3) U(c,{size}) V(k,{{v}})", isa))


@pytest.mark.parametrize(
    "text, isa, named",
    [
        (
            "R(n) R(k) R(h) R(w) S(y) T(r,3) T(c,4) U(s,3) V(k,4)",
            "portable",
            "U(c,4) is missing: each c is another exchange",
        ),
        ("R(n) R(k) R(h) R(w) S(y) T(r,3) T(c,2) U(s,3) U(c,2) V(k,8)", "avx2", "U(c,4) is missing"),
    ],
)
def test_an_exchange_of_lanes_is_never_looped(text, isa, named):
    with pytest.raises(SchemeError) as raised:
        emit(parse(FOURS, text), ISAS[isa])
    assert named in str(raised.value)


def test_a_group_fits_the_lanes():
    with pytest.raises(SchemeError, match="a group of 8 channels does not fit 4 lanes"):
        emit(parse(EIGHTS, "R(k) R(h) R(w) S(y) T(r,3) U(c,8) U(s,3) V(k,4)"), ISAS["portable"])


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_composed_vectors(isa):
    vectors = -(-SAME_3X3.extents["k"] // ISAS[isa].lanes)
    text = f"L(k, 1x1 + {(vectors - 1) // 2}x2) T(h,12) T(w,6) S(y) T(r,3) T(s,3) T(c,8) U(w,2) U(k,λ) V(k,{{v}})"
    if vectors % 2 == 0:
        text = f"L(k, 2x1 + {(vectors - 2) // 2}x2) T(h,12) T(w,6) S(y) T(r,3) T(s,3) T(c,8) U(w,2) U(k,λ) V(k,{{v}})"
    check_exact(kernel_of(SAME_3X3, text, isa))


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_streaming_stores_and_unaligned_outputs(isa):
    text = CASES["one window looped, one clipped"][1]
    kernel = kernel_of(SAME_3X3, text, isa, stream=True)
    check_exact(kernel)  # aligned: streamed
    row = ISAS[isa]
    if row.stream != row.store:  # portable C has no streaming store
        assert row.stream.partition("{")[0] in kernel.source and f"{row.stream_fence};" in kernel.source
    x, w = integers(SAME_3X3)
    memory = np.empty(SAME_3X3.output.elements + 1, np.float32)
    out = memory[1:].reshape(SAME_3X3.output.shape)
    assert np.array_equal(kernel(x, w, out=out), reference(SAME_3X3, x, w))


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_channels_first_streams_blocks_of_as_many_rows_as_lanes(isa):
    row = ISAS[isa]
    problem = conv2d(n=2, c=3, h=4, w=3 * row.lanes, k=21, r=1, s=3, padding=(0, 1), layout="nchw")
    for tile, streamed in ((row.lanes, True), (row.lanes // 2, False)):
        text = f"R(n) R(k) T(h,4) T(w,{3 * row.lanes // tile}) S(y) T(c,3) T(s,3) U(w,{tile}) V(k,{{v}})"
        kernel = kernel_of(problem, text, isa, stream=True)
        check_exact(kernel)
        assert ("int stream" in kernel.source) == streamed
        x, w = integers(problem)
        memory = np.empty(problem.output.elements + 1, np.float32)
        out = memory[1:].reshape(problem.output.shape)
        assert np.array_equal(kernel(x, w, out=out), reference(problem, x, w))


def test_the_oracle_is_the_definition():
    """The reference itself, against seven nested loops."""
    problem = conv2d(n=2, c=2, h=5, w=4, k=3, r=3, s=2, stride=(2, 1), padding=((1, 0), (2, 1)), dilation=(1, 2))
    x, w = integers(problem)
    y = np.zeros(problem.output.shape)
    for n, oh, ow, k in np.ndindex(*y.shape):
        for c, r, s in np.ndindex(2, 3, 2):
            ih, iw = oh * 2 + r - 1, ow + s * 2 - 2
            if 0 <= ih < 5 and 0 <= iw < 4:
                y[n, oh, ow, k] += x[n, ih, iw, c] * w[k, c, r, s]
    assert np.array_equal(reference(problem, x, w), y)


def test_a_wrong_kernel_is_found(monkeypatch):
    text = CASES["single rows"][1].format(v=4)
    source = emit(parse(SAME_3X3, text), ISAS["portable"])
    inside = source.inside.replace("for (long c = 0; c < 8; ++c)", "for (long c = 0; c < 7; ++c)", 1)
    assert inside != source.inside
    import cpu.kernel.callable

    monkeypatch.setattr(cpu.kernel.callable, "emit", lambda *_: replace(source, inside=inside))
    with pytest.raises(WrongResult, match=r"of .* outputs differ"):
        check_exact(cpu.kernel.callable.build(parse(SAME_3X3, text), ISAS["portable"]))


@pytest.mark.parametrize(
    "text, message",
    [
        ("R(k) R(h) R(w) T(r,3) T(s,3) T(c,8) V(k,4)", r"S\(y\) is missing"),
        ("R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,16)", r"V\(k,16\): portable has vectors of 4 lanes"),
        ("R(k) R(h) R(w) S(x) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", r"S\(x\): on a CPU only the output"),
        ("T(h,2)@warp R(k) R(w) T(h,6) S(y) T(r,3) T(s,3) T(c,8) V(k,4)", r"T\(h,2\)@warp: a CPU has cores"),
        ("R(k) R(h) R(w) S(y) T(r,3) T(s,3) L(c, 1x3 + 1x5) U(c,λ) V(k,4)", r"L\(c, 1x3 \+ 1x5\): c is summed over"),
        ("R(k) R(h) S(y) T(r,3) T(s,3) T(c,8) U(k,2) U(w,12) V(k,4)", "needs 24 accumulators, portable has 16"),
    ],
)
def test_schemes_that_the_emitter_refuses(text, message):
    with pytest.raises(SchemeError, match=message):
        emit(parse(SAME_3X3, text), ISAS["portable"])


@pytest.mark.parametrize(
    "text, message",
    [
        ("R(n) R(w) T(k,3) S(x, 2) S(y) T(c,12) U(k,6) V(w,4)", r"S\(x, 2\): memory with several stages is a GPU's"),
        ("R(n) R(w) S(w) T(k,3) S(y) T(c,12) U(k,6) V(w,4)", r"S\(w\): on a CPU only the output"),
        ("R(n) R(w) T(k,3) S(y) S(x) T(c,12) U(k,6) V(w,4)", r"S\(x\): tiles share a panel of x, so it stands outside"),
        ("R(n) R(w) T(k,3) S(x) S(y) T(c,12) U(k,6) V(w,4)", r"S\(x\): no loop over k stands between it and S\(y\)"),
        ("R(n) R(w) S(x) T(k,3) S(y, 2) T(c,12) U(k,6) V(w,4)", r"S\(y, 2\): memory with several stages is a GPU's"),
    ],
)
def test_panels_that_the_emitter_refuses(text, message):
    with pytest.raises(SchemeError, match=message):
        emit(parse(FLATTENED, text), ISAS["portable"])


def test_a_panel_is_no_larger_than_a_cache():
    large = pointwise2d(conv2d(c=1024, h=64, w=64, k=8, r=1, s=1, layout="nchw"))
    with pytest.raises(SchemeError, match=r"S\(x\): a panel of 16777216 bytes, more than 4194304: .* a loop over w"):
        emit(parse(large, "S(x) T(k,4) R(w) S(y) T(c,1024) U(k,2) V(w,4)"), ISAS["portable"])


@pytest.mark.parametrize("loop, unrolled", [("T(g,1)", "U(g,3)"), ("L(g, 1x1 + 1x2)", "U(g,λ)")])
def test_groups_are_never_unrolled(loop, unrolled):
    scheme = parse(GROUPED, f"{loop} R(n) R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,4) {unrolled} V(k,4)")
    with pytest.raises(SchemeError, match="every g has vectors of its own, so a register tile holds one"):
        emit(scheme, ISAS["portable"])
