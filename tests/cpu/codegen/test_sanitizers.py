"""The emitted C under AddressSanitizer and UBSan: a program around a kernel, compiled with both and run by itself.

Guard pages see every access that leaves a page; these see every access that leaves an array, and what C leaves
undefined.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import monotonic

import numpy as np
import pytest

from cpu.codegen.arrays import elements_of
from cpu.codegen.emit import Source, emit
from cpu.codegen.epilogue import pointers
from cpu.kernel.measure import exact_case
from cpu.reference.oracle import wrong
from cpu.runtime.machine.host import supports
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import EVERY_ISA, ISAS, isa_named
from tests.support.kernels import low_precision_cases
from tests.support.kernels.cases import ALL_CASES, PLANES
from tests.support.kernels.random_cases import Case, case
from tests.support.kernels.sanitizers import compile_sanitized, run_sanitized, without_sanitizers
from tests.support.kernels.winograd_cases import CASES, EPILOGUES, text_of
from tiling.problem import Problem
from tiling.text.notation import parse

# Operands come in and y goes out as raw numbers.
DRIVER = """
void {symbol}({parameters});
void {symbol}_pack(const {w} *W, {w} *packed);
int main(int count, char **arguments)
{{
    const long offset = atol(arguments[count - 1]);
    void *{inputs};
    void *packed = array({packed}, sizeof({w}), offset), *y = array({outputs}, sizeof({y}), offset);
    {symbol}_pack(w, packed);
    {symbol}({arguments});
    return fwrite(y, sizeof({y}), {outputs}, stdout) != {outputs};
}}
"""


@pytest.fixture(autouse=True)
def sanitizers():
    if without_sanitizers():
        pytest.skip(without_sanitizers())


def check_sanitized(case: Case, folder: Path, prefix: str = "") -> None:
    """Compiles and runs the case's program with aligned and with offset arrays; its output must be exact.

    `prefix` is put before the kernel's first statement. Fails with what the sanitizer said.
    """
    problem = case.scheme.problem
    source = emit(case.scheme, isa_named(case.isa), case.threads, case.stream)
    text = source.text.replace("restrict Y)\n{", "restrict Y)\n{" + prefix, 1)
    inputs, expected, bound = exact_case(case.scheme)
    compile_sanitized(folder, text, driver(problem, source), source.compiler_flags)
    for offset in (0, 1):
        printed = run_sanitized(folder, offset, b"".join(values.tobytes() for values in inputs), case.command)
        y = np.frombuffer(printed, ELEMENTS[problem.output_dtype].numpy).reshape(problem.original.output.shape)
        assert not wrong(problem, y, expected, bound).any(), case.command


def driver(problem: Problem, source: Source) -> str:
    """The C program that runs a kernel on arrays from its standard input: x, w, and those of the epilogue."""
    x, w, y = (ELEMENTS[name].c for name in elements_of(problem))
    arrays = {f"e{number}": ("float", tensor) for number, tensor in enumerate(problem.epilogue_arrays)}
    inputs = {"x": (x, problem.tensors[0]), "w": (w, problem.tensors[1]), **arrays}
    return DRIVER.format(
        symbol=source.symbol,
        parameters=", ".join((f"const {x} *X", f"const {w} *W", f"{y} *Y", *pointers(problem, "E"))),
        inputs=", *".join(f"{name} = given({t.elements}, sizeof({c}), offset)" for name, (c, t) in inputs.items()),
        **{"w": w, "y": y, "packed": source.packed, "outputs": problem.output.elements},
        arguments=", ".join(("x", "packed", "y", *arrays)),
    )


def named(name: str, isa: str, stream: bool = False) -> Case:
    problem, text = ALL_CASES[name]
    return Case(parse(problem, text.format(v=ISAS[isa].lanes)), isa, 1, stream)


SAMPLE = [
    ("stem", "avx512f", False),
    ("masked and accumulated", "avx512f", False),
    ("one window looped, one clipped", "avx512f", True),
    ("masked last vector", "avx2", False),
    ("composed rows in two dims", "avx2", True),
    ("strides, dilation, asymmetric padding, batch", "portable", False),
    ("padding wider than the image, clipped twice", "portable", False),
    ("matrix product, k unrolled", "portable", False),
    ("accumulated, then gelu", "avx2", False),
    ("strided, then a residual", "avx512f", True),
    ("product, then arrays of every shape", "portable", False),
    ("masked and accumulated, channels first", "avx512f", False),
    ("depthwise, then a residual, channels first", "avx2", False),
    ("rows of two lines, arrays in one of them, channels first", "avx2", False),
    ("pixels, accumulated", "portable", False),
    ("pixels, a panel of all", "avx2", False),
    ("pixels, panels of channels", "avx512f", True),
]

NARROW = [
    ("three channels, strided", "bf16", "bf16", "relu(y + b)", False),
    ("six channels, composed", "bf16", "bf16", None, True),
    ("product", "bf16", "f32", "y*t[m] + b", False),
    ("groups of odd channels", "int8", "u8", "y*0.001 + b", False),
    ("groups of whole words", "int8", "s32", None, True),
    ("whole words", "int8", "s8", "y*0.002*scale[k] + z", True),
]

TRANSFORMED = [
    (CASES["odd image, primes, batch"], "avx512f"),
    (CASES["padding wider than the image"], "avx2"),
    (CASES["asymmetric padding"], "portable"),
    (EPILOGUES["arrays of every shape"], "portable"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name, isa, stream", [pytest.param(*s, marks=pytest.mark.isa(s[1])) for s in SAMPLE])
def test_emitted_c_is_clean(name, isa, stream, tmp_path):
    check_sanitized(named(name, isa, stream), tmp_path)


def test_a_panel_inside_branches_is_large_enough(tmp_path):
    """The second branch begins at a sum, 40 pixels past the loop around both."""
    text = "T(w,1)@core R(n) L(w, 1x2 + 1x3) S(x) T(k,9) T(w,5) S(y) T(c,12) U(k,2) U(w,λ) V(w,4)"
    check_sanitized(Case(parse(PLANES, text), "portable", 1, False), tmp_path)


@pytest.mark.slow
def test_a_panel_that_is_too_small_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr("tiling.rewrite.copies.panels.panel_elements", lambda scheme: 12 * 100 - 16)
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check_sanitized(named("pixels, a panel of all", "portable"), tmp_path)


@pytest.mark.parametrize(
    "name, dtype, output, epilogue, stream",
    [pytest.param(*s, marks=pytest.mark.isa(low_precision_cases.ISA[s[1]])) for s in NARROW],
)
def test_kernels_of_narrow_numbers_are_clean(name, dtype, output, epilogue, stream, tmp_path):
    scheme = low_precision_cases.scheme_of(name, dtype, output, epilogue)
    check_sanitized(Case(scheme, low_precision_cases.ISA[dtype], 1, stream), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case, isa", [pytest.param(*t, marks=pytest.mark.isa(t[1])) for t in TRANSFORMED])
def test_winograds_algorithm_is_clean(case, isa, tmp_path):
    check_sanitized(Case(parse(case[0], text_of(*case, ISAS[isa].lanes)), isa, 1, stream=False), tmp_path)


def test_a_read_beside_an_array_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check_sanitized(named("single rows", "portable"), tmp_path, prefix=" X += 1;")


@pytest.mark.slow
def test_a_read_beside_an_array_of_the_epilogue_is_caught(tmp_path, monkeypatch):
    case = named("product, then arrays of every shape", "portable")
    right = driver(case.scheme.problem, emit(case.scheme, isa_named(case.isa)))
    short = case.scheme.problem.epilogue_arrays[-1].elements
    assert right.count(f"given({short}, sizeof(float), offset);") == 1
    text = right.replace(f"given({short}, sizeof(float), offset);", f"given({short - 1}, sizeof(float), offset);")
    monkeypatch.setattr("tests.cpu.codegen.test_sanitizers.driver", lambda *_: text)
    with pytest.raises(AssertionError, match="AddressSanitizer: heap-buffer-overflow"):
        check_sanitized(case, tmp_path)


def test_undefined_behaviour_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="misaligned"):
        check_sanitized(named("single rows", "portable"), tmp_path, prefix=" X = (const float *)((const char *)X + 1);")


@pytest.mark.soak
def test_soak_sanitizers(soak_seconds, soak_seed, tmp_path):
    """Every case of tests/cpu/codegen/test_kernels.py on every instruction set, streamed too, every one of narrow
    numbers; then random ones while there is time.

    Epilogues are among all of them.
    """
    deadline = monotonic() + soak_seconds
    runnable = tuple(isa.name for isa in EVERY_ISA.values() if supports(isa.cpu_flags))
    of_f32 = [isa for isa in runnable if isa in ISAS]
    cases = [named(name, isa, stream) for name in ALL_CASES for isa in of_f32 for stream in (False, True)]
    narrow = [(dtype, isa) for dtype, isa in low_precision_cases.ISA.items() if isa in runnable]
    cases += [
        Case(low_precision_cases.scheme_of(n, dtype), isa, 1, True)
        for n in low_precision_cases.CASES
        for dtype, isa in narrow
    ]
    for one in cases:
        check_sanitized(one, tmp_path)
    drawn = 0
    while monotonic() < deadline:
        check_sanitized(case(Random(f"{soak_seed}:{drawn}"), runnable, threads=(1,)), tmp_path)
        drawn += 1
    print(f"{len(cases)} cases and {drawn} random kernels under AddressSanitizer and UBSan, arrays aligned and offset")
