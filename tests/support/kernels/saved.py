"""Saved kernels: their example program, a C program that calls one, and an instruction set that no CPU has."""

from __future__ import annotations

import subprocess
from dataclasses import replace

from cpu.codegen.emit import emit
from cpu.runtime.compiler.toolchain import find_compiler
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import CASES

PROBLEM, TEXT = CASES["masked last vector"]
# What an instruction set looks like on a CPU that lacks it.
LACKED = replace(ISAS["portable"], cpu_flags=("avx9",), supported="0")
CALL = """
void {symbol}_pack(const float *W, float *packed);
void {symbol}(const float *X, const float *W, float *Y);
static float x[{x}], w[{w}], packed[{packed}], y[{y}];
int main(void) {{ {symbol}_pack(w, packed); {symbol}(x, packed, y); return 0; }}
"""


def calling_program(scheme, isa, folder, before=""):
    """A C program that packs and calls a kernel, C text put before it, without asking whether the CPU runs it; its
    path.
    """
    source, problem = emit(scheme, isa), scheme.problem
    (folder / "kernel.c").write_text(before + source.text)
    sizes = {"x": problem.broadcast.elements, "w": problem.vector.elements, "y": problem.output.elements}
    (folder / "call.c").write_text(CALL.format(symbol=source.symbol, packed=source.packed, **sizes))
    compiler = find_compiler()
    flags = [flag for flag in (*compiler.flags, *isa.compiler_flags) if flag != "-shared"]
    subprocess.run([*compiler.command, *flags, "kernel.c", "call.c", "-o", "call"], cwd=folder, check=True)
    return folder / "call"


def example(folder, library):
    """Compiles the example program that `save` wrote; its path."""
    command = [*find_compiler().command, "-O1", f"{library.stem}_example.c", library.name, "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, "-o", "example"], cwd=folder, check=True)
    return folder / "example"
