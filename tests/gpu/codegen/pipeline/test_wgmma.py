"""Hopper's wgmma on tiles that threads copy: exact on the twin, nothing that orders it can be left out, NVRTC keeps it
asynchronous.
"""

import re
from dataclasses import replace

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.instructions import INSTRUCTIONS
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.model.devices import DEVICES
from gpu.model.space import candidates, limits
from tests.support.gpu.cases import check_on_twin, left_out, survives, wgmma_scheme
from tests.support.gpu.compiling import check_compiles, needs_nvrtc
from tests.support.sampled import in_turns
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse

H200 = DEVICES["H200"]
PRODUCT = matmul(m=200, n=100, k=300, dtype="f16", transpose_b=True)
TF32, TF32_ROWS = (matmul(m=200, n=100, k=k, dtype="tf32", transpose_b=True) for k in (300, 301))
BOXES = matmul(m=200, n=104, k=304, dtype="f16", transpose_b=True)
CONV = conv2d(n=2, c=16, h=9, w=9, k=40, r=3, s=3, padding=1, dtype="bf16", filters="krsc")


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (PRODUCT, {}),
        (matmul(m=130, n=300, k=150, dtype="bf16", transpose_b=True), {"columns": 256, "groups": (1, 1), "depth": 3}),
        (matmul(m=150, n=101, k=201, dtype="bf16", transpose_b=True), {"columns": 128, "groups": (1, 1), "rows": 2}),
        (matmul(m=70, n=65, k=128, dtype="f16", transpose_b=True, batch=2), {"groups": (1, 2), "depth": 5}),
        (matmul(m=200, n=104, k=300, dtype="f16"), {}),
        (matmul(m=72, n=300, k=150, dtype="bf16", transpose_a=True), {"columns": 256, "groups": (1, 1), "depth": 3}),
        (matmul(m=150, n=101, k=201, dtype="f16", transpose_a=True, transpose_b=True), {"rows": 2, "groups": (1, 2)}),
        (matmul(m=70, n=130, k=128, dtype="bf16", batch=2), {"columns": 128, "groups": (1, 1), "rows": 2, "depth": 5}),
        (matmul(m=250, n=210, k=100, dtype="f16"), {"columns": 192, "groups": (3, 1)}),
        (CONV, {}),
        (conv2d(c=3, h=17, w=17, k=20, r=5, s=5, stride=2, padding=2, dtype="f16", filters="krsc"), {"groups": (1, 1)}),
    ],
    ids=str,
)
def test_products_and_convolutions_are_exact(problem, options):
    check_on_twin(wgmma_scheme(problem, **options), seeds=(1, 2))


SYNCHRONISATION = re.compile(
    r"(?<!\w)(?:cp_async_wait\([^)]*\)|cp_async_commit\(\)|__syncthreads\(\)|fence_proxy_async\(\)|wgmma_fence\(\)|"
    r"wgmma_commit\(\)|wgmma_wait\(\d\));"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "along", "k", "statements"), [(3, True, 604, 9), (5, True, 604, 9), (4, False, 604, 9), (4, True, 601, 7)]
)
def test_no_barrier_fence_commit_or_wait_can_be_left_out(depth, along, k, statements):
    """Rows of 601 elements are gathered, both inputs': then nothing but products is waited for."""
    problem = matmul(m=100, n=64, k=k, dtype="f16", transpose_a=not along, transpose_b=along)
    found, needless = left_out(emit_scheme(wgmma_scheme(problem, depth=depth)), SYNCHRONISATION, range(4))
    assert len(found) == statements and not needless


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wgmma_wait(1)", "wgmma_wait(2)"),
        ("wgmma_wait(0)", "wgmma_wait(1)"),
        ("cp_async_wait(1)", "cp_async_wait(2)"),
        ("(k + 128) / 64) % 4", "(k + 192) / 64) % 4"),
        (", 2 * (k_u)", ", 1 * (k_u)"),
        ("(element / 64 % 8)", "(element / 64 % 4)"),
        ("1024 * (warp % 4)", "512 * (warp % 4)"),
    ],
)
def test_other_mistakes_are_found(old, new):
    source = emit_scheme(wgmma_scheme(matmul(m=100, n=64, k=604, dtype="f16", transpose_b=True)))
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (", 1, 1);", ", 0, 1);"),
        (", 1, 1);", ", 1, 0);"),
        (", 128 * (k_u)", ", 64 * (k_u)"),
        (", 8192, 128", ", 4096, 128"),
        ("4096 * ((m + m_u - m_1) / 64)", "2048 * ((m + m_u - m_1) / 64)"),
        ("(element / 128 % 8)", "(element / 128 % 4)"),
        ("4096 * (element % 128 / 64)", "2048 * (element % 128 / 64)"),
    ],
)
def test_mistakes_across_the_depth_are_found(old, new):
    problem = matmul(m=124, n=128, k=150, dtype="f16", transpose_a=True)
    source = emit_scheme(wgmma_scheme(problem, columns=128))
    assert old in source.text
    assert not survives(replace(source, text=source.text.replace(old, new)), seeds=range(1))


@pytest.mark.parametrize(
    ("problem", "old", "new", "message"),
    [
        (PRODUCT, "S(a, 4) S(b, 4)", "S(a, 2) S(b, 2)", "use 3$"),
        (BOXES, "S(a, 4) S(b, 4)", "S(a, 2) S(b, 2)", "has 3 stages or more"),
        (PRODUCT, "T(k,5)", "T(k,10)", "use U.k,4."),
        (PRODUCT, "@warpgroup", "@warp", "T@warpgroup is missing"),
        (TF32, "@block", "@block", "of 16-bit numbers"),
        (TF32_ROWS, "@block", "@block", r"M.m64n64k8.: wgmma cuts tf32 off .* TMA copies round it, .*M.m16n8k8."),
    ],
)
def test_schemes_that_wgmma_cannot_run(problem, old, new, message):
    text = wgmma_scheme(problem).text.replace(old, new)
    if "T(k,10)" in new:
        text = text.replace("U(k,4)", "U(k,2)")
    with pytest.raises(SchemeError, match=message):
        pipeline_of(parse(problem, text))


def test_only_hopper_has_wgmma():
    scheme = wgmma_scheme(PRODUCT)
    assert not limits(scheme, H200)
    assert limits(scheme, DEVICES["A100"]) == "M(m64n64k16): A100 has no wgmma"
    assert any("@warpgroup" in s.text for s in candidates(PRODUCT, H200))
    assert not any("@warpgroup" in s.text for s in candidates(PRODUCT, DEVICES["A100"]))


@pytest.mark.parametrize("instruction", [i for i in INSTRUCTIONS if i.worker == "warpgroup"], ids=lambda i: i.call)
def test_sums_lie_as_the_ptx_isa_says(instruction):
    """Written out from the document: warp w of the four holds rows 16w to 16w + 15, each as mma's (16, 8) tiles."""
    for lane in range(128):
        warp, group, member = lane // 32, lane % 32 // 4, lane % 4
        wanted = [
            (16 * warp + group + 8 * (i // 2 % 2), i // 4 * 8 + member * 2 + i % 2)
            for i in range(instruction.columns // 2)
        ]
        assert list(instruction.c.tasks(lane)) == wanted


@pytest.mark.slow
@in_turns(4)
@needs_nvrtc
@pytest.mark.parametrize(
    "problem",
    [
        PRODUCT,
        matmul(m=4096, n=4096, k=4096, dtype="bf16"),
        matmul(m=512, n=96, k=999, dtype="f16", transpose_a=True),
        CONV,
    ],
    ids=str,
)
def test_wgmma_schedules_compile_without_spills_and_stay_asynchronous(problem, turn):
    for scheme in [s for s in candidates(problem, H200) if "@warpgroup" in s.text][5 * turn :: 4 * 5]:
        check_compiles(scheme, "H200")
