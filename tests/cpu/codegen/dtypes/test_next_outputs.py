"""The outputs of the next tile that a tile of matrix instructions prefetches (`next_outputs`)."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest

from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from microkernels.tile.isa import isa_named
from tests.exactness import FAR
from tests.support.kernels.guard import PLACES, check_guarded
from tests.support.kernels.matrix_cases import ISA
from tiling.epilogue import fused
from tiling.loops.lowering.prefetch.plan import plan_prefetches, prefetched
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.text.notation import parse

Y0 = dict(c=3, h=544, w=544, k=32, r=3, s=3, padding=1, dtype="int8")
BODY = "S(y) T(r,3) U(h,2) U(w,16) U(k,2) D(sc,12) V(k,16)"
ASKS = ("for (long line = 0; line < {lines}; ++line) {{", "y_next += {in_line} * Y_k;")


@pytest.mark.parametrize(
    "more, epilogue, text, asks",
    [
        ({}, None, f"T(h,272) T(w,34) {BODY}", "11 16"),  # 32 lines of each row in 3 steps
        ({}, None, f"T(h,2)@core T(w,2) T(h,136) T(w,17) {BODY}", "11 16"),
        (dict(output_dtype="f32"), "y*0.5", f"T(h,272) T(w,34) {BODY}", "11 16"),
        ({}, None, f"T(w,34) T(h,272) {BODY}", None),  # the next tile is below
        ({}, None, f"T(h,544) T(w,34) {BODY.replace('U(h,2) ', '')}", None),  # one row
        (dict(k=64), None, f"T(h,272) T(w,34) T(k,2) {BODY}", None),  # half the channels of a pixel
        (dict(k=64), None, f"T(k,2) T(h,272) T(w,34) {BODY}", None),
        (dict(h=64, w=64), None, f"T(h,32) T(w,4) {BODY}", None),  # y is near
        ({}, None, f"T(h,272)@core T(w,34)@core {BODY}", None),  # the next tile is another core's
        (dict(output_dtype="u8"), "y*0.5", f"T(h,272) T(w,34) {BODY}", None),  # pixels of no whole lines
    ],
)
def test_where_the_next_tile_goes_on_in_several_rows(more, epilogue, text, asks):
    scheme = parse(fused(conv2d(**Y0 | more), epilogue), text)
    text = emit(scheme, isa_named("amxint8")).text
    lines = {line.strip() for line in text.splitlines() if "y_next +=" in line or "long line" in line}
    named = dict(zip(("lines", "in_line"), asks.split())) if asks else {}
    assert lines == ({line.format(**named) for line in ASKS} if asks else set())
    assert ("y" in prefetched(plan_prefetches(scheme_in_dot_groups(scheme)))) == bool(asks)


def test_outputs_that_pass_the_caches_are_not_prefetched():
    scheme = parse(conv2d(**Y0), f"T(h,272) T(w,34) {BODY}")
    assert "y_next" not in emit(scheme, isa_named("amxint8"), 1, True).text


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ISA)
def test_exact_on_integers_beside_guard_pages(dtype, threads, row):
    """Also where the last tile's next one would lie beyond y."""
    problem = conv2d(**Y0 | dict(h=12, w=64, dtype=dtype, output_dtype={"bf16": "f32", "int8": "s32"}[dtype]))
    text = "T(h,2)@core T(h,3) T(w,4)" if threads == 2 else "T(h,6) T(w,4)"
    with patch.multiple("tiling.loops.lowering.prefetch.limits", **FAR):
        kernel = build(parse(problem, f"{text} {BODY}"), row(dtype), threads)
    calls = [line.strip() for line in kernel.source.splitlines() if re.match(r" *tile\d+_", line)]
    assert calls and all(", Y + h * Y_h + (w + 16) * Y_w" in line for line in calls)
    for place in PLACES:
        check_guarded(kernel, place)
