"""Emitted programs under AddressSanitizer and UBSan: no access leaves an array, and nothing is undefined."""

from __future__ import annotations

from math import prod
from pathlib import Path
from random import Random
from time import monotonic

import numpy as np
import pytest

from cpu.codegen.program.emit import emit
from cpu.reference.programs import evaluate, rounded
from cpu.runtime.machine.host import supports
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import AVX2, AVX512F, PORTABLE, isa_named
from tests.support.kernels.sanitizers import compile_sanitized, run_sanitized, without_sanitizers
from tests.support.programs.programs import MASKED_ATTENTION, PRODUCTS, inputs_of, numbers, random_program, stored
from tiling.program.infer import Sized, sized
from tiling.program.read import read

ISAS = [pytest.param(isa.name, marks=pytest.mark.isa(isa.name)) for isa in (PORTABLE, AVX2, AVX512F)]
DRIVER = """
int {symbol}_at(void *const *arrays);
int main(int count, char **arguments)
{{
    const long offset = atol(arguments[count - 1]);
    void *arrays[] = {{ {arrays} }};
    const long bytes[] = {{ {bytes} }};
    if ({symbol}_at(arrays)) return 4;
    for (int y = 0; y < {count}; ++y)
        if (fwrite(arrays[{first} + y], 1, bytes[y], stdout) != bytes[y]) return 5;
    return 0;
}}
"""
ROWS = "x: f32[5,37]; "
CASES = {
    "softmax": ROWS + "m[i] = max[j] x[i,j]; e[i,j] = x[i,j] - m[i]; d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] * 2 + d[i]",
    "windows": ROWS + "y[i,j] = max[r,s] x[i+r-1,j+2*s-2] else -9",
    "columns": ROWS + "y[j,i] = x[i,j] * 2; z[j] = sum[i] x[i,j] + y[j,i]",
    "positions": ROWS + "y[i] = argmax[j] x[i,36-j]; z[j] = sum[i] where(i <= j, x[i,j], 0)",
    "lookup": ROWS + "t: s32[9]; y[a,j] = x[t[a],j] * 3 + (x[t[a],j-1] else 1)",
    "narrow": "x: bf16[5,37]; b: s8[37]; y: f16; y[i,j] = x[i,j] + b[j]; z: u8; z[i] = max[j] x[i,j] * x[i,j]",
}
EXTENTS = {"windows": {"i": 5, "j": 37, "r": 3, "s": 3}, "positions": {"i": 5, "j": 37}}


def check(
    program: Sized, isa: str, folder: Path, seed: int = 0, spoil: str = "", values: dict[str, int] | None = None
) -> None:
    """Compiles and runs a program with aligned and with offset arrays; what it writes must be exact.

    spoil: put before the statements of the entry point. values: of runtime extents.
    """
    source = emit(program, isa_named(isa), 1)
    extents = [(values or {})[dim] for dim in program.runtime]
    program = program.at(values or {})
    arrays = inputs_of(program, Random(seed))
    wanted = evaluate(program, arrays)
    outputs = [array for array in program.assigned if array.name in program.outputs]
    text = source.text
    if spoil:
        head, entry, body = text.partition(f"int {source.symbol}_at(void *const *arrays)\n{{\n")
        assert entry
        text = f"{head}{entry}{spoil}\n{body}"
    sizes = {a.name: (prod(a.shape), ELEMENTS[a.dtype].numpy.itemsize) for a in (*program.inputs, *outputs)}
    driver = DRIVER.format(
        symbol=source.symbol,
        arrays=", ".join(
            f"{'given' if array in program.inputs else 'array'}({sizes[array.name][0]}, {sizes[array.name][1]}, offset)"
            for array in (*program.inputs, *outputs)
        )
        + "".join(f", &(long){{{value}}}" for value in extents),
        bytes=", ".join(str(prod(sizes[array.name])) for array in outputs),
        **{"count": len(outputs), "first": len(program.inputs)},
    )
    compile_sanitized(folder, text, driver, source.compiler_flags)
    given = b"".join(stored(arrays[a.name], a.dtype).tobytes() for a in program.inputs)
    for offset in (0, 1):
        printed = run_sanitized(folder, offset, given, f"{program.program}, {isa}, seed {seed}")
        for array in outputs:
            found, printed = printed[: prod(sizes[array.name])], printed[prod(sizes[array.name]) :]
            y = np.frombuffer(found, ELEMENTS[array.dtype].numpy).reshape(array.shape)
            expected = rounded(wanted[array.name], array.dtype)
            np.testing.assert_array_equal(numbers(y, array.dtype), expected, err_msg=str(program.program))


def case(name: str) -> Sized:
    text = read(CASES[name])
    return sized(text, EXTENTS.get(name, {}), outputs=tuple({"y": 0, text.statements[-1].array: 0}))


@pytest.fixture(autouse=True)
def sanitizers():
    if without_sanitizers():
        pytest.skip(without_sanitizers())


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("name", CASES)
def test_emitted_programs_are_clean(name, isa, tmp_path):
    check(case(name), isa, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("isa", ISAS)
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
@pytest.mark.parametrize("isa", ISAS)
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


@pytest.mark.soak
def test_soak_programs_under_sanitizers(soak_seconds, soak_seed, tmp_path):
    """Random programs while there is time."""
    deadline, random, done = monotonic() + soak_seconds, Random(soak_seed), 0
    runnable = [isa.name for isa in (PORTABLE, AVX2, AVX512F) if supports(isa.cpu_flags)]
    while monotonic() < deadline or not done:
        seed = random.randrange(2**32)
        check(random_program(Random(seed)), random.choice(runnable), tmp_path, seed)
        done += 1
    print(f"{done} random programs under AddressSanitizer and UBSan")
