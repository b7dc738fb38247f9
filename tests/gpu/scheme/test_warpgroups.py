"""Warpgroups with a warp that copies ahead: exact in the interpreter and on the twin, and nothing is one too many."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.passes.facts.workers import with_launches
from gpu.passes.order import scheme_forms
from gpu.passes.warpgroups.share_copies import share_copies
from tests.support.gpu.cases import integers, tma_scheme, wgmma_scheme
from tests.support.gpu.schemes import (
    WARPGROUPS,
    expected,
    interpreted,
    on_twin,
    scheme_of,
    survives,
    traits_of,
    unnoticed,
)
from tests.support.loops.passes import different
from tests.support.programs.programs import lines
from tiling.epilogue import fused
from tiling.loops.language import Barrier, Do, If
from tiling.loops.machines import Arrive, AwaitParity, Beside, CopyBox, Open, StoreBox, WaitStores
from tiling.loops.meaning.memory import Fault
from tiling.loops.meaning.workers import Race
from tiling.loops.walk import walk, with_blocks
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse

RING = "warpgroups"
CONV = conv2d(n=1, c=16, h=9, w=9, k=40, r=3, s=3, dtype="bf16", filters="krsc")


@pytest.mark.slow
@pytest.mark.exhaustive(name=traits_of)
@pytest.mark.parametrize("name", WARPGROUPS)
def test_every_form_computes_the_same(name):
    scheme = scheme_of(name)
    wanted = expected(scheme.problem, *integers(scheme.problem))
    # Forms before these are as those of other schemes. That of `add zeros` adds up all zeros beyond the edges.
    stages = ("cut tiles", "join steps", "copy boxes", "fill ahead", "gather rows", "swizzle", "multiply warpgroups")
    last = ("store boxes", "load residual", "place barriers", "share copies")
    named = {*stages, "bind clusters", "multiply beside", "specialise warps", "share sums", *last}
    for stage, kernel in different((stage, kernel) for stage, kernel in scheme_forms(scheme) if stage in named):
        np.testing.assert_array_equal(interpreted(scheme, kernel), wanted, err_msg=stage)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (matmul(m=200, n=104, k=304, dtype="f16", transpose_b=True), {}),
        (matmul(m=130, n=300, k=152, dtype="bf16", transpose_b=True), {"columns": 256, "groups": (1, 1), "depth": 3}),
        (matmul(m=150, n=104, k=200, dtype="bf16"), {"columns": 128, "groups": (1, 1), "rows": 2}),
        (matmul(m=70, n=64, k=128, dtype="f16", transpose_b=True, batch=2), {"groups": (1, 2), "depth": 5}),
        (matmul(m=72, n=304, k=150, dtype="bf16", transpose_a=True), {"columns": 256, "groups": (1, 1), "depth": 2}),
        (matmul(m=152, n=101, k=200, dtype="f16", transpose_a=True, transpose_b=True), {"rows": 2, "groups": (1, 2)}),
        (matmul(m=90, n=70, k=132, dtype="tf32", transpose_b=True), {"columns": 128, "groups": (2, 1), "depth": 3}),
        (matmul(m=60, n=72, k=40, dtype="f16"), {"groups": (1, 1)}),
        (fused(matmul(m=100, n=72, k=136, dtype="bf16"), "relu(y + bias[n]) + z[m,n]"), {"depth": 3}),
    ],
    ids=str,
)
def test_products_are_exact(problem, options):
    scheme = wgmma_scheme(problem, **options)
    assert on_twin(scheme, emit_scheme(scheme), seeds=(1, 2))


@pytest.mark.parametrize(
    ("sizes", "options"),
    [
        ({"padding": 1}, {}),
        ({"n": 3, "h": 11, "w": 8, "padding": ((1, 0), (2, 1)), "stride": (2, 1), "dilation": (1, 2)}, {"taps": "sr"}),
        ({"r": 5, "s": 2, "c": 136, "k": 200}, {"columns": 128, "groups": (1, 2), "rows": 2, "depth": 3}),
        ({"r": 1, "s": 1, "c": 40, "stride": 3}, {"groups": (1, 1), "depth": 2}),
        ({"r": 3, "s": 3, "h": 3, "w": 3, "n": 5}, {"groups": (1, 1)}),
        ({"padding": 1, "dtype": "tf32", "c": 36}, {}),
        ({"padding": 1, "dtype": "bf16", "c": 8, "epilogue": "relu(y + b[k]) + z[n,h,w,k]"}, {"columns": 128}),
    ],
    ids=str,
)
def test_convolutions_whose_pixels_come_by_the_copy_engine_are_exact(sizes, options):
    epilogue = sizes.get("epilogue", "")
    shape = dict(n=2, c=72, h=7, w=9, k=80, r=3, s=3, dtype="f16", filters="krsc") | sizes
    shape.pop("epilogue", None)
    problem = conv2d(**shape)
    scheme = wgmma_scheme(fused(problem, epilogue) if epilogue else problem, **{"taps": "rs"} | options)
    source = emit_scheme(scheme)
    assert source.maps[0].pixels and on_twin(scheme, source, seeds=(1, 2))


@pytest.mark.parametrize("steps", [1, 2])
def test_no_step_needs_a_stage_again_where_threads_fill_as_many_as_there_are_steps(steps):
    problem = conv2d(n=1, c=64 * steps, h=8, w=16, k=64, r=1, s=1, dtype="f16", filters="krsc")
    two, three = (
        parse(problem, f"T(nhw,2)@block S(y) T(rsc,{steps}) {stages} T(k,1)@warpgroup U(rsc,4) M(nhw64k64rsc16)")
        for stages in ("S(x, 2) S(w, 2)", "S(x, 3) S(w, 3)")
    )
    text, other = (emit_scheme(scheme).text.partition("KERNEL(")[2] for scheme in (two, three))
    assert text and text.partition("(")[2] == other.partition("(")[2] and on_twin(two, emit_scheme(two), seeds=(1, 2))


PIXELS = conv2d(n=2, c=72, h=7, w=9, k=136, r=3, s=3, padding=1, dtype="bf16", filters="krsc")
ROWS = matmul(m=300, n=208, k=304, dtype="f16", transpose_b=True)


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (ROWS, {}),
        (ROWS, {"columns": 256, "cluster": (2, 1)}),
        (matmul(m=70, n=136, k=200, dtype="f16", batch=2), {"columns": 128, "rows": 2}),
        (matmul(m=300, n=200, k=64, dtype="tf32", transpose_b=True), {"cluster": (1, 2)}),
        (fused(ROWS, "relu(y + b[n] + z[m,n])"), {"cluster": (1, 2)}),
        (fused(ROWS, "relu(y + b[n]) * z[m,n] + q[m,n]"), {"columns": 128, "groups": (2, 1)}),
        (fused(PIXELS, "relu(y + b[k] + z[n,h,w,k])"), {"cluster": (2, 1)}),
        (fused(matmul(m=70, n=72, k=128, dtype="bf16", batch=2), "y * 2 + z[l,m,n]"), {"rows": 2}),
    ],
    ids=str,
)
def test_outputs_and_residuals_in_boxes_are_exact(problem, options):
    scheme = tma_scheme(problem, **options)
    source = emit_scheme(scheme)
    assert on_twin(scheme, source, seeds=(1, 2))
    residual = {f"E_{array.name}" for array in problem.epilogue_arrays if array.name == "z"}
    assert {tensor.name for tensor in source.maps} == {"X", "W", "Y", *residual}


def test_outputs_of_odd_rows_are_stored_by_lanes():
    source = emit_scheme(tma_scheme(matmul(m=70, n=131, k=64, dtype="f16", transpose_b=True)))
    assert "store_box" not in source.text and "put_f16" in source.text


def test_one_warp_copies_and_the_others_multiply():
    text = lines(dict(scheme_forms(scheme_of(RING)))["specialise warps"])
    assert "the first 4 warps:" in text and "the others, beside them:" in text
    for line in (
        "wait for phase k / 64 of full + [k / 32 % 2]",
        "arrive at empty + [(k + 32) / 32 % 2]",
        "wait for phase k / 64 - 1 of empty + [k / 32 % 2]",
        "arrive at full + [k / 32 % 2], expect 16384 bytes",
    ):
        assert line in text


def test_blocks_beyond_the_edges_are_zeros_of_the_copy_engine():
    kernel = dict(scheme_forms(scheme_of(RING)))["copy boxes"]
    assert not any("else 0" in line for line in lines(kernel))
    assert "copy a box of 64 x 32, as_tf32, to X_tile[0, 0] from X[0, k], counted at arrived" in lines(kernel)


def _without(body, kind, number):
    """A block without its statement number `number` of a kind, and how many it has."""
    count = 0

    def left(block):
        nonlocal count
        found = []
        for statement in block:
            if isinstance(statement, kind):
                count += 1
                if count - 1 == number:
                    continue
            found.append(with_blocks(statement, left))
        return tuple(found)

    return left(body), count


def test_only_the_barrier_behind_the_opening_is_one_of_all_blocks():
    kernel = dict(scheme_forms(scheme_of("warpgroups of clusters")))["place barriers"]
    more = with_launches(kernel, lambda launch: replace(launch, body=(*launch.body, Barrier("thread"))))
    found = [s.kind for s in walk(share_copies(more).body) if isinstance(s, Barrier) and s.kind != "lane"]
    assert found == ["block", "thread"]


STORING = ("warpgroups in turns", "warpgroups of clusters", "warpgroups, a residual by boxes")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *product([Barrier, Open, Arrive, AwaitParity, CopyBox], [RING, *STORING]),
        *product([StoreBox, WaitStores], STORING),
    ],
)
def test_the_interpreter_misses_each_of_them(kind, name):
    scheme = scheme_of(name)
    kernel = list(scheme_forms(scheme))[-1][1]
    wanted = expected(scheme.problem, *integers(scheme.problem))
    _, count = _without(kernel.body, kind, -1)
    assert count >= 1 + (kind is WaitStores)
    for number in range(count):
        changed = replace(kernel, body=_without(kernel.body, kind, number)[0])
        with pytest.raises((Fault, Race, AssertionError)):
            np.testing.assert_array_equal(interpreted(scheme, changed), wanted)


COPIES = r"store_box_\dd|tma_\w+|copy_box_\dd\w*|copy_pixels\w*|copy_async_\d+|cp_async_\w+|gather_16|store_shared_16"
BARRIERS = r"__syncthreads|__syncwarp|cluster_\w+|fence_proxy_async|mbarrier_\w+"
CALLS = rf"{BARRIERS}|{COPIES}|wgmma_\w+|\w+_sums"  # compilers alone need `pin`


@pytest.mark.slow
@pytest.mark.exhaustive(name=traits_of)
@pytest.mark.parametrize("name", WARPGROUPS)
def test_nothing_is_one_too_many(name):
    found, needless = unnoticed(scheme_of(name), rf"(?<!\w)({CALLS})\(.*\);")
    assert found >= 8 and not needless


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wgmma_wait(1)", "wgmma_wait(2)"),
        ("wgmma_wait(0)", "wgmma_wait(1)"),
        ("(k / 64 + 1) % 2", "k / 64 % 2"),
        ("k / 64 % 2)", "(k / 64 + 1) % 2)"),
        (", 16384)", ", 8192)"),
        ("empty + ((k + 32) / 32) % 2", "empty + k / 32 % 2"),
        ("empty), 4)", "empty), 3)"),
    ],
)
def test_other_mistakes_are_found(old, new):
    scheme = scheme_of(RING)
    text = emit_scheme(scheme).text
    assert old in text
    assert not survives(scheme, text.replace(old, new))


def test_passes_change_the_kernel_in_their_order():
    stages = list(scheme_forms(scheme_of(RING)))
    changed = [name for (_, before), (name, after) in pairwise(stages) if before != after]
    wanted = ["stage matrices", "copy boxes", "swizzle", "add zeros", "multiply warpgroups", "specialise warps"]
    assert [name for name in changed if name in wanted] == wanted
    assert not {"copy asynchronously", "fill ahead", "multiply beside"} & set(changed)
    final = stages[-1][1]
    assert sum(isinstance(s, Beside) for s in walk(final.body)) == 1
    assert sum(isinstance(s, Barrier) for s in walk(final.body)) == 1
    assert any(isinstance(s, If) for s in walk(final.body)) and any(isinstance(s, Do) for s in walk(final.body))
