"""Rings of stages that passes make: exact on the twin, and nothing left where something is removed."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.loops import predict_loops
from gpu.model.space import candidates
from gpu.passes.order import scheme_forms
from gpu.runtime.compiler.compile import compile_cubin
from tests.support.gpu.cases import product_scheme
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.schemes import interpreted, on_twin, scheme_of, survives, unnoticed
from tests.support.sampled import in_turns
from tiling.epilogue import fused
from tiling.loops.language import Barrier, Do, Store
from tiling.loops.machines import Commit, Wait
from tiling.loops.meaning.memory import Fault
from tiling.loops.meaning.workers import Race
from tiling.loops.walk import walk, with_blocks
from tiling.operators import conv2d, in_layout, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

RINGS = ["matrices in a ring", "matrices in a ring, threads gather", "matrices loaded ahead"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("depth, unrolled", [(2, (2, 2, 1)), (3, (1, 2, 2)), (5, (2, 2, 4))], ids=str)
@pytest.mark.parametrize("k", [15, 36, 200])
def test_products_of_any_depth_are_exact(depth, unrolled, k):
    problem = matmul(m=35, n=21, k=k, dtype="f16", transpose_b=True)
    assert on_twin(product_scheme(problem, warps=(1, 2), unrolled=unrolled, depth=depth), seeds=(0,))


def test_parts_whose_words_do_not_fit_twice_are_loaded_one_by_one():
    scheme = product_scheme(matmul(m=35, n=21, k=90, dtype="f16"), warps=(1, 1), unrolled=(4, 16, 2), depth=2)
    stages = dict(scheme_forms(scheme))
    assert stages["load ahead"] == stages["load matrices"] != stages["load first"]
    assert on_twin(scheme, seeds=(0,))


@pytest.mark.parametrize(
    "problem, text",
    [
        (  # the ring begins anew for each tap
            conv2d(n=1, c=48, h=5, w=6, k=16, r=3, s=1, padding=((1, 1), (0, 0)), dtype="f16", filters="krsc"),
            "T(nhw,2)@block S(y) T(r,3) T(s,1) T(c,3) S(x, 2) S(w, 2) T(nhw,1)@warp U(k,2) M(nhw16k8c16)",
        ),
        (  # channels first, which no pipeline takes
            in_layout(conv2d(n=2, c=48, h=3, w=9, k=16, r=1, s=1, dtype="f16"), "nchw"),
            "T(n,2)@block T(h,3)@block S(y) T(c,3) T(r,1) T(s,1) S(x, 2) S(w, 2) T(w,1)@warp U(k,2) M(w16k8c16)",
        ),
        (  # a is staged for several tiles of columns, b in a ring
            matmul(m=32, n=64, k=64, dtype="bf16"),
            "S(a) T(n,2) S(c) T(k,2) S(b, 2) T(m,2)@warp T(n,2)@warp U(k,2) U(n,2) M(m16n8k16)",
        ),
        (  # steps in two loops: the inner ones make a ring
            matmul(m=32, n=16, k=200, dtype="tf32"),
            "S(c) T(k,2) T(k,7) S(a, 3) S(b, 3) T(m,2)@warp U(k,2) U(n,2) M(m16n8k8)",
        ),
    ],
    ids=["taps", "channels first", "staged outside", "two loops"],
)
def test_loops_outside_are_free(problem, text):
    scheme = parse(problem, text)
    assert on_twin(scheme, emit_scheme(scheme))


def test_inputs_of_a_ring_have_as_many_stages():
    problem = matmul(m=64, n=64, k=64, dtype="f16")
    scheme = parse(problem, product_scheme(problem, depth=3).text.replace("S(a, 3)", "S(a, 2)"))
    with pytest.raises(SchemeError, match="inputs share a ring"):
        emit_scheme(scheme)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RINGS, "matrices, a sum that blocks share"])
def test_nothing_is_one_too_many(name):
    copies = r"copy_async_\d+|gather_16|store_shared_16"
    calls = rf"__syncthreads|cp_async_commit|cp_async_wait|{copies}|mma_\w+|store_sums|add_sums"
    found, needless = unnoticed(scheme_of(name), rf"({calls})\(.*\);")
    assert found and not needless


@pytest.mark.parametrize("name", ["matrices in a ring", "matrices loaded ahead"])
def test_no_wait_may_leave_a_group_more(name):
    text = emit_scheme(scheme_of(name)).text
    for place in re.finditer(r"cp_async_wait\((\d)\)", text):
        more = f"{text[: place.start()]}cp_async_wait({int(place[1]) + 1}){text[place.end() :]}"
        assert not survives(scheme_of(name), more)


def test_a_ring_of_one_stage_fewer_is_found():
    """Who fills a stage that others still read: the tiles have two stages, the copies go on as with three."""
    scheme = scheme_of("matrices in a ring")
    text = emit_scheme(scheme).text
    assert not survives(scheme, text.replace("% 3)", "% 2)"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["matrices in a ring", "matrices loaded ahead", "matrices, a sum that blocks share"])
@pytest.mark.parametrize("kind", [Barrier, Wait, Commit])
def test_the_interpreter_misses_each_of_them(name, kind):
    """Without it a thread reads what nothing has brought there, or what others may not have."""
    scheme = scheme_of(name)
    kernel = list(scheme_forms(scheme))[-1][1]
    places = [s for s in walk(kernel.body) if isinstance(s, kind)]
    assert places
    for number in range(len(places)):
        count = 0

        def without(body, number=number):
            nonlocal count
            found = []
            for statement in body:
                if isinstance(statement, kind):
                    count += 1
                    if count - 1 == number:
                        continue
                found.append(with_blocks(statement, without))
            return tuple(found)

        changed = replace(kernel, body=without(kernel.body))
        try:
            same = (interpreted(scheme, changed) == interpreted(scheme, kernel)).all()
        except (Fault, Race):
            continue
        assert not same, f"{kind.__name__} {number}"


@pytest.mark.parametrize("name", ["matrices in a ring, threads gather", "matrices of pixels that threads gather"])
def test_the_interpreter_misses_what_threads_gather(name):
    """Without a gather, a store of a chunk or the zeros before: one of each kind, in the innermost loop."""
    scheme = scheme_of(name)
    forms = dict(scheme_forms(scheme))
    kernel, wanted = forms["gather rows"], interpreted(scheme, forms["gather rows"])
    assert sum(is_of_chunk(s) for s in walk(kernel.body)) >= 6
    for number in range(sum(is_of_chunk(s) for s in walk(kernel.body))):
        left = iter(range(100))

        def without(body, number=number, left=left):
            kept = (s for s in body if not (is_of_chunk(s) and next(left) == number))
            return tuple(with_blocks(s, without) for s in kept)

        try:
            same = (interpreted(scheme, replace(kernel, body=without(kernel.body))) == wanted).all()
        except Fault:
            continue
        assert not same, number


def is_of_chunk(statement):
    """Whether a statement gathers, stores or clears a chunk."""
    if isinstance(statement, Do):
        return statement.invoke.instruction.name in ("gather", "put_chunk")
    return isinstance(statement, Store) and statement.buffer.endswith("_chunk")


def test_a_step_has_one_barrier():
    for name in RINGS:
        kernel = list(scheme_forms(scheme_of(name)))[-1][1]
        (loop,) = (s for s in walk(kernel.body) if getattr(s, "name", "") == "k" and hasattr(s, "body"))
        assert sum(isinstance(s, Barrier) for s in walk(loop.body)) == 1


@pytest.mark.slow
@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("warps, unrolled", [((2, 2), (4, 8, 2)), ((4, 2), (2, 4, 4))], ids=str)
def test_large_tiles_compile_without_spills(architecture, transposed, warps, unrolled):
    problem = matmul(m=4096, n=4096, k=4096, dtype="f16", transpose_b=transposed)
    scheme = product_scheme(problem, warps=warps, unrolled=unrolled, depth=3)
    assert compile_cubin(emit_scheme(scheme), architecture).spilled == 0


@pytest.mark.parametrize("dtype", ["f16", "tf32"])
@pytest.mark.parametrize("unrolled", [(4, 8, 2), (2, 4, 4), (4, 4, 1), (2, 4, 1)], ids=str)
def test_ptxas_is_asked_for_as_many_blocks_as_of_a_pipeline(dtype, unrolled):
    problem = matmul(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=True)
    scheme = product_scheme(problem, unrolled=unrolled, depth=3)
    asked = re.search(r"KERNEL\((\d+), (\d+)\)", emit_scheme(scheme).text)
    pipeline = pipeline_of(scheme)
    assert (int(asked[1]), int(asked[2])) == (pipeline.threads, pipeline.blocks_at_once)


@pytest.mark.slow
@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("dtype, k, depth", [("f16", 4093, 3), ("f16", 4088, 3), ("tf32", 4093, 2), ("bf16", 4090, 1)])
@pytest.mark.parametrize("unrolled", [(2, 2, 1), (2, 4, 4), (4, 8, 2)], ids=str)
def test_odd_sizes_compile_without_spills_in_the_registers_that_blocks_leave(dtype, k, depth, unrolled):
    problem = fused(matmul(m=2045, n=1022, k=k, dtype=dtype), "relu(y + bias[n]) + z[m,n]")
    text = product_scheme(problem, unrolled=unrolled, depth=depth).text
    source = emit_scheme(parse(problem, text))
    blocks = int(re.search(r"KERNEL\(\d+, (\d+)\)", source.text)[1])
    cubin = compile_cubin(source, "sm_80")
    assert cubin.spilled == 0 and blocks * source.threads * cubin.registers <= 65536


SHORT = [
    (matmul(m=65, n=33, k=17, dtype="tf32"), "A100"),
    (matmul(m=4096, n=4096, k=64, dtype="f16"), "A100"),
    (matmul(m=300, n=64, k=96, batch=4, dtype="bf16"), "H200"),
    (conv2d(n=8, c=20, h=14, w=14, k=30, r=3, s=3, padding=1, stride=2, dtype="bf16", filters="krsc"), "A100"),
]


@pytest.mark.slow
@in_turns(4)
@pytest.mark.parametrize("problem, device", SHORT, ids=str)
def test_words_are_loaded_ahead_where_the_pipeline_says_so_however_few_steps_there_are(problem, device, turn):
    """With fewer steps than stages all tiles are filled before the first step. A step alone is no loop."""
    of_warps = by_passes(problem, device)
    assert any(pipeline_of(s).steps < pipeline_of(s).depth for s in of_warps)
    assert_ahead_where_the_pipeline_says_so(of_warps[turn::4])


@pytest.mark.slow
def test_blocks_that_share_a_sum_load_ahead_too():
    """Their threads tell each other a number through shared memory, which is no tile."""
    sharing = [s for s in by_passes(matmul(m=128, n=96, k=4096, dtype="f16"), "A100") if pipeline_of(s).split_k > 1]
    assert any(pipeline_of(s).preloads for s in sharing)
    assert_ahead_where_the_pipeline_says_so(sharing)


def by_passes(problem, device):
    """The candidates of warps that passes make."""
    found = candidates(problem, DEVICES[device])
    return [s for s in found if "@warpgroup" not in s.text]


def assert_ahead_where_the_pipeline_says_so(schemes):
    for scheme in schemes:
        every = pairwise(scheme_forms(scheme))  # no pass behind that one is run
        before, after = next((before, after) for (_, before), (name, after) in every if name == "load ahead")
        assert pipeline_of(scheme).preloads == (after != before), scheme.text


@pytest.mark.slow
@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("dtype", ["f16", "tf32"])
@pytest.mark.parametrize("k", [17, 64, 96])
@pytest.mark.parametrize("unrolled", [(2, 4, 4), (4, 4, 2), (4, 8, 4)], ids=str)
def test_rings_of_more_stages_than_steps_compile_without_spills(dtype, k, unrolled):
    problem = matmul(m=65, n=33, k=k, dtype=dtype)
    sources = [emit_scheme(product_scheme(problem, unrolled=unrolled, depth=depth)) for depth in (3, 6)]
    for source in {_below_comment(source.text): source for source in sources}.values():
        assert compile_cubin(source, "sm_80").spilled == 0, source.scheme.text


def _below_comment(text):
    """All that decides the code of a text. Three stages and six are one text where there are fewer steps."""
    return text[text.index("KERNEL(") :]


def test_the_model_knows_that_copies_are_ahead():
    """The same tiles: a ring waits less, and reads as much."""
    problem = in_layout(conv2d(n=2, c=256, h=32, w=64, k=64, r=1, s=1, dtype="f16"), "nchw")
    text = "T(n,2)@block T(h,32)@block S(y) T(c,16) T(r,1) T(s,1) S(x{0}) S(w{0}) T(w,2)@warp U(w,2) U(k,8) M(w16k8c16)"
    once, ahead = (parse(problem, text.format(depth)) for depth in ("", ", 3"))
    one, other = (predict_loops(emit_scheme(s), DEVICES["A100"]) for s in (once, ahead))
    assert dict(other.parts)["turns"] < dict(one.parts)["turns"] and other.seconds < one.seconds
    assert dict(other.parts) | {"turns": 0.0} == dict(one.parts) | {"turns": 0.0}


def test_the_model_counts_the_tiles_of_the_kernel():
    """Three steps have at most three stages, however many the scheme names. What is staged outside a ring has one."""
    problem = in_layout(conv2d(n=2, c=96, h=32, w=64, k=64, r=1, s=1, dtype="f16"), "nchw")
    text = "T(n,2)@block T(h,32)@block S(y) {1} T(c,3) T(r,1) T(s,1) {0} T(w,2)@warp U(c,2) U(w,2) U(k,8) M(w16k8c16)"
    two, nine = (parse(problem, text.format(f"S(x, {depth}) S(w, {depth})", "")) for depth in (2, 9))
    source, deep = map(emit_scheme, (two, nine))
    assert (source.shared_bytes, deep.shared_bytes) == (2 * source.step_bytes, 3 * source.step_bytes)
    parts, of_deep = (dict(predict_loops(each, DEVICES["A100"]).parts) for each in (source, deep))
    assert parts["l2"] == of_deep["l2"]
    outside = emit_scheme(parse(problem, text.format("S(w, 2)", "S(x)")))
    image, weights = 96 * 64 * 2, 32 * 64 * 2
    assert (outside.shared_bytes, outside.step_bytes) == (image + 2 * weights, image + weights)
