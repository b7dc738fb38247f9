"""The tables of formats and of dtypes, held against NumPy, ml_dtypes, ONNX and the tables that must agree with them."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from gpu.codegen.pipeline.instructions import INSTRUCTIONS
from microkernels.tile.isa import EVERY_ISA, ISAS_OF
from tiling.dtypes.formats import COMPUTED, FLOAT, FORMATS, TRUTH, WIDENED
from tiling.dtypes.products import CPU_DTYPES, DTYPES, GPU_DTYPES, LANE_BYTES, WORD
from tiling.loops.meaning.functions import FUNCTIONS, PRODUCTS, neutral

ml_dtypes = pytest.importorskip("ml_dtypes")
onnx = pytest.importorskip("onnx")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_what_the_libraries_say(name):
    form = FORMATS[name]
    kind = np.dtype(getattr(ml_dtypes, form.named) if form.named else form.numpy)
    assert np.dtype(form.numpy).itemsize == form.bytes and kind.name == form.elsewhere
    if form.whole:
        limits = ml_dtypes.iinfo(kind)
        assert (limits.min, limits.max, limits.bits) == (*form.ends, form.bits)
    elif form.kind == FLOAT and name != "tf32":  # which no library has
        limits = ml_dtypes.finfo(kind)
        assert limits.bits == form.bits and limits.nmant + 1 == form.digits
    if form.onnx:
        assert onnx.helper.tensor_dtype_to_np_dtype(form.onnx) == kind
    assert form.onnx or name == "tf32"


def test_every_dtype_of_products_is_stored_in_formats():
    for dtype in DTYPES.values():
        assert {dtype.x, dtype.w, dtype.sum, *dtype.outputs} <= set(FORMATS)
        assert FORMATS[dtype.x].bytes == FORMATS[dtype.w].bytes


def test_a_dtype_has_a_row_of_instructions_where_it_says_so():
    assert sorted(CPU_DTYPES.values()) == sorted(ISAS_OF)
    assert set(GPU_DTYPES) == {instruction.dtype for instruction in INSTRUCTIONS}


@pytest.mark.parametrize("row", [name for name, isa in EVERY_ISA.items() if isa.dtype != "f32"])
def test_a_row_of_narrow_numbers_has_what_kernels_of_all_operators_need(row):
    """Else convolutions would have kernels, and depthwise ones end in an error."""
    isa = EVERY_ISA[row]
    assert isa.word == WORD and isa.numbers, "the loads that give each number a lane of its own"
    assert f"dot_{isa.dtype}" in PRODUCTS, "the products of two words"
    narrow = {output for output in DTYPES[isa.dtype].outputs if FORMATS[output].bytes < LANE_BYTES}
    assert {each.dtype for each in isa.narrow} == narrow, "the stores of its outputs"


def test_the_loop_language_casts_every_format_that_programs_compute_with():
    assert {f"as_{name}" for name in COMPUTED} | set(WIDENED.values()) <= set(FUNCTIONS)
    for name, form in COMPUTED.items():
        assert COMPUTED[form.computed_in].computed_in == form.computed_in
        if form.whole or form.kind == TRUTH:
            assert (neutral("max", name), neutral("min", name)) == form.ends


@pytest.mark.parametrize("name", [*(name for name, each in FORMATS.items() if each.kind == FLOAT), "bf16x2"])
def test_maxima_of_every_float_begin_below_all_of_them(name):
    assert (neutral("max", name), neutral("min", name)) == (-inf, inf)
    assert (neutral("add", name), neutral("mul", name)) == (0, 1)
    if name in FORMATS:
        with pytest.raises(ValueError, match=r"a float of .* bits has no ends"):
            _ = FORMATS[name].ends


@pytest.mark.parametrize("output", sorted({output for each in DTYPES.values() for output in each.outputs}))
def test_the_loop_language_rounds_every_narrow_output(output):
    assert FORMATS[output].bytes == 4 or f"to_{output}" in FUNCTIONS
