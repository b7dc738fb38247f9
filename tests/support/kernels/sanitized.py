"""A C program around an emitted kernel, under AddressSanitizer and UBSan."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cpu.codegen.arrays import elements_of
from cpu.codegen.emit import Source, emit
from cpu.codegen.epilogue import pointers
from cpu.kernel.measure import exact_case
from cpu.reference.oracle import wrong
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa import ISAS, isa_named
from tests.support.kernels.cases import ALL_CASES
from tests.support.kernels.random_cases import Case
from tests.support.kernels.sanitizers import CONTRACTED, compile_sanitized, run_sanitized
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


def check_sanitized(case: Case, folder: Path, prefix: str = "") -> None:
    """Compiles and runs the case's program with aligned and with offset arrays; its output must be exact.

    `prefix` is put before the kernel's first statement. Fails with what the sanitizer said.
    """
    problem = case.scheme.problem
    source = emit(case.scheme, isa_named(case.isa), case.threads, case.stream)
    text = source.text.replace("restrict Y)\n{", "restrict Y)\n{" + prefix, 1)
    inputs, expected, bound = exact_case(case.scheme)
    flags = (*source.compiler_flags, *(CONTRACTED if np.any(bound) else ()))
    compile_sanitized(folder, text, driver(problem, source), flags)
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
