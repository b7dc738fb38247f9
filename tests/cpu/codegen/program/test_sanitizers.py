"""Emitted programs under AddressSanitizer and UBSan: no access leaves an array, and nothing is undefined."""

from __future__ import annotations

import pytest

from tests.support.kernels.cases import ON_EVERY_ISA
from tests.support.kernels.sanitizers import without_sanitizers
from tests.support.programs.programs import MASKED_ATTENTION, PRODUCTS
from tests.support.programs.sanitized import check
from tiling.program.infer import Sized, sized
from tiling.program.read import read

ROWS = "x: f32[5,37]; "
CASES = {
    "softmax": ROWS + "m[i] = max[j] x[i,j]; e[i,j] = x[i,j] - m[i]; d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] * 2 + d[i]",
    "windows": ROWS + "y[i,j] = max[r,s] x[i+r-1,j+2*s-2] else -9",
    "columns": ROWS + "y[j,i] = x[i,j] * 2; z[j] = sum[i] x[i,j] + y[j,i]",
    "positions": ROWS + "y[i] = argmax[j] x[i,36-j]; z[j] = sum[i] where(i <= j, x[i,j], 0)",
    "lookup": ROWS + "t: s32[9]; y[a,j] = x[t[a],j] * 3 + (x[t[a],j-1] else 1)",
    "long columns": "x: f32[5,5,1005]; y[j] = sum[h,w] x[h,w,j]; z[j] = max[h,w] x[h,w,j] * 2",
    "narrow": "x: bf16[5,37]; b: s8[37]; y: f16; y[i,j] = x[i,j] + b[j]; z: u8; z[i] = max[j] x[i,j] * x[i,j]",
}
EXTENTS = {"windows": {"i": 5, "j": 37, "r": 3, "s": 3}, "positions": {"i": 5, "j": 37}}


def case(name: str) -> Sized:
    text = read(CASES[name])
    return sized(text, EXTENTS.get(name, {}), outputs=tuple({"y": 0, text.statements[-1].array: 0}))


@pytest.fixture(autouse=True)
def sanitizers():
    if without_sanitizers():
        pytest.skip(without_sanitizers())


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("name", CASES)
def test_emitted_programs_are_clean(name, isa, tmp_path):
    check(case(name), isa, tmp_path)


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_products_and_masks_are_clean(isa, tmp_path):
    text, shapes = PRODUCTS["convolution"]
    check(sized(read(text), {"h": 5, "w": 9}, shapes), isa, tmp_path)
    masked = MASKED_ATTENTION.replace("exp(t[i,j] - m[i])", "where({mask}, s[i,j] - m[i], 0)")
    masked = masked.replace("a[i,c] / d[i]", "a[i,c] + d[i]").format(mask="j <= i")
    check(sized(read(masked), {}, dict.fromkeys("qkv", (70, 5))), isa, tmp_path)
    # In blocks. The scores are far apart, so that exponentials are 0 or 1, and d is 1 or little more.
    blocks = MASKED_ATTENTION.replace("s[i,j] = sum[c]", "s[i,j] = sum[c] 256 *")
    blocks = blocks.replace("a[i,c] / d[i]", "a[i,c] + d[i]").format(mask="j <= i")
    check(sized(read(blocks), {}, dict.fromkeys("qkv", (300, 5))), isa, tmp_path)


@pytest.mark.slow
@pytest.mark.exhaustive(isa=None)
@pytest.mark.parametrize("isa", ON_EVERY_ISA)
def test_runtime_extents_are_clean(isa, tmp_path):
    runtime = {"i": "<=9", "j": "<=70"}
    texts = (CASES["softmax"].removeprefix(ROWS), CASES["columns"].removeprefix(ROWS))
    for text in texts:
        program = read(text)
        outputs = tuple({"y": 0, program.statements[-1].array: 0})
        for values in ({"i": 1, "j": 1}, {"i": 9, "j": 70}, {"i": 5, "j": 37}):
            check(sized(program, runtime, outputs=outputs), isa, tmp_path, values=values)
    masked = MASKED_ATTENTION.replace("exp(t[i,j] - m[i])", "where({mask}, s[i,j] - m[i], 0)")
    masked = masked.replace("a[i,c] / d[i]", "a[i,c] + d[i]").format(mask="j <= i")
    for rows in (1, 33, 70):
        check(sized(read(masked), {"i": "<=70", "j": "<=70", "c": 5}), isa, tmp_path, values={"i": rows, "j": rows})


def test_a_read_beside_an_array_is_caught(tmp_path):
    spoil = "    void *const moved[] = { (float *)arrays[0] + 1, arrays[1] }; arrays = moved;"
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check(case("softmax"), "portable", tmp_path, spoil=spoil)
