"""What the language says about GPUs: fused dims, edges, task maps with loops, dtypes, and schemes that are
no pipeline.
"""

import pytest

from cpu.codegen.emit import emit as emit_c
from gpu.codegen.pipeline.instructions import INSTRUCTIONS
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.schedules import schedules
from gpu.model.space import limits, scheme_of
from microkernels.tile.isa import isa_named
from tests.support.gpu.cases import check_on_twin, product_scheme
from tiling.loops.lowering.show import show
from tiling.operators import conv2d, matmul
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError
from tiling.scheme.taskmap import repeat, spatial
from tiling.text.notation import parse

PRODUCT = matmul(m=100, n=72, k=200, dtype="f16")
GOOD = "T(m,2)@block T(n,2)@block S(c) T(k,7) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,2) U(m,2) U(n,4) M(m16n8k16)"
STEM = conv2d(n=2, c=3, h=20, w=20, k=40, r=7, s=7, stride=2, padding=3, dtype="bf16", filters="krsc")


def test_a_map_with_loops_names_its_counters():
    copies = repeat(4, 2) @ spatial(8, 4)
    assert copies.loops == (4, 2)
    for worker in range(copies.workers):
        steps = [(i, j) for i in range(4) for j in range(2)]
        text = [copies.index(axis, "worker", ("i", "j")).replace("/", "//") for axis in (0, 1)]
        found = tuple(tuple(eval(t, {"worker": worker, "i": i, "j": j}) for t in text) for i, j in steps)
        assert found == copies.tasks(worker)
    with pytest.raises(ValueError, match="2 loops"):
        copies.index(0, "worker", ("i",))


def test_fused_dims_are_one_dim_of_the_scheme():
    scheme = product_scheme(STEM)
    assert scheme.extents == {"nhw": 200, "rsc": 147, "k": 40}
    assert parse(STEM, scheme.text) == scheme
    assert "register tile 32nhw" in show(scheme) and "3 stages of shared memory" in show(scheme)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T(nhw,200) T(k,40) T(rsc,147)", "only a scheme that ends with a matrix instruction"),
        ("T(nhc,2)@block M(nhw16k8rsc16)", "cannot be fused"),
        ("T(nhz,2)@block M(nhw16k8rsc16)", "has no dim 'nhz'"),
        ("T(n,2)@block M(nhw16k8rsc16)", "fuses dim n"),
        ("T(nhw,14)@block T(k,5)@block T(rsc,10) M(nhw16k8rsc16)", "cover 224 points of dim nhw, which has 200"),
        ("T(nhw,12)@block T(k,5)@block T(rsc,10) M(nhw16k8rsc16)", "cover 192 points of dim nhw, which has 200"),
    ],
)
def test_what_fused_dims_may_not_do(text, message):
    with pytest.raises(SchemeError, match=message):
        parse(STEM, text)


def test_only_the_last_iteration_of_the_outermost_loop_may_go_over_the_edge():
    parse(PRODUCT, GOOD)
    with pytest.raises(SchemeError, match="cover it exactly"):
        parse(PRODUCT, GOOD.replace("T(m,2)@block", "T(m,3)@block"))
    with pytest.raises(SchemeError, match="cover it exactly"):
        parse(matmul(m=16, n=8, k=20), "T(m,16) T(n,2) T(k,20) V(n,16)".replace("T(n,2)", "T(n,3)"))


WHOLE = "T(n,8)@block S(c) T(k,2) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,2) U(m,2) U(n,4) M(m16n8k16)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T(m,64) T(n,512) T(k,64)", "ends with a matrix instruction"),
        (WHOLE.replace("U(k,2)", "U(k,4)").replace("k16)", "k8)"), "matrix instruction for f16 is m16n8k16"),
        ("S(c) T(k,2) S(a, 3) S(b, 3) T(m,8)@warp T(n,8)@warp U(k,2) U(n,4) M(n16m8k16)", "names rows"),
        (WHOLE.replace("S(c) ", ""), r"S\(c\) is missing"),
        (WHOLE.replace("S(a, 3) ", ""), r"S\(a\) is missing: matrix instructions take both inputs"),
        (WHOLE.replace("S(b, 3)", "S(b, 2)"), "share a ring"),
        (WHOLE.replace(", 3)", ")"), "at least 2 stages"),
        (WHOLE.replace("T(k,2)", "T(k,1) T(k,2)"), "has one loop over k"),
        (WHOLE.replace("T(m,2)@warp", "T(m,2)@lane"), "T.m,2.@lane: the lanes of a warp share a matrix instruction"),
        (WHOLE.replace("T(n,2)@warp", "T(n,8)@warp").replace("U(n,4)", "U(n,1)"), "even factor"),
        (
            WHOLE.replace("T(n,8)@block ", "").replace("T(n,2)@warp", "T(n,32)@warp").replace("U(n,4)", "U(n,2)"),
            "a block has at most 32 warps",
        ),
    ],
)
def test_a_scheme_that_is_no_pipeline_is_refused_with_its_specifier(text, message):
    with pytest.raises(SchemeError, match=message):
        pipeline_of(parse(matmul(m=64, n=512, k=64, dtype="f16"), text))


def test_a_matrix_instruction_need_not_name_dims_of_one_point():
    pointwise = conv2d(c=32, h=1, w=64, k=16, r=1, s=1, dtype="f16", filters="krsc")
    scheme = parse(pointwise, "T(w,2)@block S(y) T(c,2) S(x, 2) S(w, 2) T(w,2)@warp U(k,2) M(w16k8c16)")
    assert not limits(scheme, DEVICES["H200"])
    check_on_twin(scheme)


@pytest.mark.parametrize(
    "k, groups, text",
    [
        (32, 32, "T(c,2)@block T(nhw,2)@block S(y) T(rs,1) S(x, 2) S(w, 2) T(nhw,2)@warp U(c,2) M(nhw16c8rs16)"),
        (16, 2, "T(g,2)@block T(nhw,2)@block S(y) T(rsc,16) S(x, 2) S(w, 2) T(nhw,2)@warp M(nhw16k8rsc16)"),
    ],
)
def test_groups_are_no_matrix_product(k, groups, text):
    sizes = dict(c=32, w=64, k=k, s=16, padding="same", groups=groups)
    problem = conv2d(**sizes, dtype="f16", filters="krsc")
    with pytest.raises(SchemeError, match="groups make no single matrix product"):
        scheme_of(problem, schedules("f16")[0])
    with pytest.raises(SchemeError, match="groups make no single matrix product"):
        pipeline_of(parse(problem, text))


def test_the_pipeline_follows_from_the_scheme():
    pipeline = pipeline_of(parse(PRODUCT, GOOD))
    assert (pipeline.grid, pipeline.threads, pipeline.shared_bytes, pipeline.accumulators) == (4, 128, 24576, 32)
    assert pipeline.block_tile == (64, 64, 32) and pipeline.warp_tile == (32, 32, 32)
    assert pipeline.covered("m") > PRODUCT.extents["m"] and pipeline.covered("k") == 224


def test_groups_of_blocks_walk_down_before_they_go_across():
    """A locality-preserving order is nothing but a scheme with two block loops over one dim."""
    problem = matmul(m=64 * 8, n=64 * 3, k=32, dtype="f16")
    pipeline = pipeline_of(product_scheme(problem, unrolled=(2, 4, 2), group=4))
    tiles = [pipeline.block_map.tasks(block)[0] for block in range(pipeline.grid)]
    assert tiles[:5] == [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)] and sorted(tiles) == sorted(set(tiles))
    assert len(tiles) == 24


@pytest.mark.parametrize("instruction", [i for i in INSTRUCTIONS if i.worker == "warp"], ids=lambda i: i.call)
def test_fragments_are_those_of_the_ptx_isa(instruction):
    """Written out from the document: groupID = lane / 4, threadID_in_group = lane % 4."""
    for lane in range(32):
        group, member = lane // 4, lane % 4
        if instruction.depth == 16:
            a = [(group + (8 if i in (2, 3, 6, 7) else 0), member * 2 + i % 2 + (8 if i >= 4 else 0)) for i in range(8)]
            b = [(group, member * 2 + i % 2 + (8 if i >= 2 else 0)) for i in range(4)]
        else:
            a = [(group + (8 if i in (1, 3) else 0), member + (4 if i >= 2 else 0)) for i in range(4)]
            b = [(group, member + 4 * i) for i in range(2)]
        c = [(group + (8 if i >= 2 else 0), member * 2 + i % 2) for i in range(4)]
        assert list(instruction.a.tasks(lane)) == a
        assert list(instruction.b.tasks(lane)) == b
        assert list(instruction.c.tasks(lane)) == c


def test_dtypes_and_what_they_give():
    assert matmul(m=1, n=1, k=1, dtype="bf16").output_dtype == "bf16"
    assert matmul(m=1, n=1, k=1, dtype="tf32").output_dtype == "f32"
    assert matmul(m=1, n=1, k=1, dtype="f16", output_dtype="f32").output_dtype == "f32"
    with pytest.raises(ProblemError, match="f16 gives an output of f16 or f32, not 'bf16'"):
        matmul(m=1, n=1, k=1, dtype="f16", output_dtype="bf16")
    with pytest.raises(ProblemError, match="filters='rsck'"):
        conv2d(c=1, h=1, w=1, k=1, r=1, s=1, filters="rsck")


def test_a_cpu_refuses_what_only_a_gpu_computes():
    isa = isa_named("avx2")
    scheme = "T(m,16) T(n,2) S(c) T(k,20) V(n,8)"
    with pytest.raises(SchemeError, match="f16 runs on a GPU only"):
        emit_c(parse(matmul(m=16, n=16, k=20, dtype="f16"), scheme), isa)
