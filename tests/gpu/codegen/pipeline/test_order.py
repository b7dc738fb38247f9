"""In what order a step of warps that load fragments does its work: read off NVRTC's PTX.

Right after the barrier the tensor cores have nothing to do until the first fragments are there, so nothing may stand
before these loads; copies have time until the next barriers.
"""

import re

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.reading import pipeline_of
from gpu.limits.multiprocessor import REGISTERS, WARP
from gpu.runtime.compiler.compile import cuda_text
from tests.support.gpu.cases import product_scheme
from tests.support.gpu.compiling import needs_nvrtc, ptx_of
from tiling.operators import conv2d, matmul

EVENTS = {
    "barrier": r"bar(?:rier)?\.sync",
    "load": r"ldmatrix|ld\.shared",
    "copy": r"cp\.async\.c[ag]|st\.shared",
    "multiply": r"mma\.sync",
}
EVENT = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in EVENTS.items()))
PRODUCT = matmul(m=512, n=512, k=512, dtype="bf16")
CONV = conv2d(n=2, c=64, h=14, w=14, k=64, r=3, s=3, padding=1, dtype="f16", filters="krsc")
PRELOADING = [
    product_scheme(PRODUCT, warps=(4, 2), unrolled=(4, 8, 4)),
    product_scheme(PRODUCT, warps=(2, 2), unrolled=(4, 8, 2), depth=4),
    product_scheme(matmul(m=512, n=512, k=512, dtype="tf32"), unrolled=(4, 8, 4)),
    product_scheme(CONV, unrolled=(4, 4, 4)),
]
WAITING = [  # each part for its own fragments
    product_scheme(PRODUCT, unrolled=(2, 4, 1)),
    product_scheme(CONV, unrolled=(4, 8, 4)),
    product_scheme(matmul(m=512, n=512, k=511, dtype="f16"), unrolled=(2, 4, 4)),
]


def step_of(scheme) -> list[str]:
    """The events of a step, beginning with its barrier and ending before the next one; runs of one kind count once."""
    ptx = ptx_of(cuda_text(emit_scheme(scheme)))
    (loop,) = (body for body in loops(ptx) if "mma.sync" in body)
    events = [found.lastgroup for found in EVENT.finditer(loop)]
    assert events.count("barrier") == 1
    first = events.index("barrier")
    events = events[first:] + events[:first]
    return [event for event, before in zip(events, [None, *events]) if event != before]


def loops(ptx: str):
    """What stands between a label and a branch back to it, the innermost of loops within each other."""
    for branch in re.finditer(r"bra(?:\.uni)? \t?(\$\w+);", ptx):
        start = ptx.find(f"{branch[1]}:")
        if 0 <= start < branch.start():
            yield ptx[start : branch.start()]


@needs_nvrtc
@pytest.mark.parametrize("scheme", PRELOADING, ids=lambda scheme: scheme.text)
def test_fragments_are_loaded_a_part_ahead_and_across_the_barrier(scheme):
    pipeline = pipeline_of(scheme)
    parts = pipeline.unrolled[2]
    assert pipeline.preloads
    # The barrier, the next step's first loads, the last part; then the loads of each next part before each part. Copies
    # stand behind the first of these loads.
    rest = ["load", "multiply"] * (parts - 2)
    assert step_of(scheme) == ["barrier", "load", "multiply", "load", "copy", "multiply", *rest]


@needs_nvrtc
@pytest.mark.parametrize("scheme", WAITING, ids=lambda scheme: scheme.text)
def test_where_two_parts_fragments_do_not_fit_loads_still_come_first(scheme):
    pipeline = pipeline_of(scheme)
    assert not pipeline.preloads
    # All copies stand behind the first loads, also what threads gather.
    assert step_of(scheme) == [
        "barrier",
        "load",
        "copy",
        "multiply",
        *["load", "multiply"] * (pipeline.unrolled[2] - 1),
    ]


def test_two_parts_fragments_take_registers():
    preloading, waiting = (pipeline_of(product_scheme(PRODUCT, unrolled=(2, 4, parts))) for parts in (2, 1))
    assert preloading.registers - waiting.registers == 4 * 2 + 2 * 4
    assert preloading.blocks_at_once < waiting.blocks_at_once


def test_a_tile_too_large_for_two_parts_fragments_keeps_one():
    wide = pipeline_of(product_scheme(PRODUCT, warps=(1, 1), unrolled=(4, 10, 2)))
    assert not wide.preloads and wide.registers <= 255


def test_the_places_of_pixels_take_registers_beside_two_parts_fragments():
    few, many = (pipeline_of(product_scheme(CONV, unrolled=(4, 8, parts))) for parts in (2, 4))
    assert few.preloads and not many.preloads


def test_blocks_of_two_warps_are_dealt_out_to_four_schedulers():
    """Five such blocks have three warps on two of the schedulers, which have registers for two of 176."""
    pipeline = pipeline_of(product_scheme(CONV, warps=(1, 2), unrolled=(4, 4, 4)))
    warps = pipeline.blocks_at_once * pipeline.threads // WARP
    assert pipeline.registers == 176 and -(-warps // 4) * 4 * pipeline.registers * WARP <= REGISTERS
