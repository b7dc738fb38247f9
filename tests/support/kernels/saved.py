"""Saved kernels: their example program, a C program that calls one, an instruction set that no CPU has, and libraries
that no system loads.
"""

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


# What a library lacks that `lacking` gives, as the messages of users name it.
LACKS = {
    "a library": "libneeded_elsewhere.so: cannot open shared object file: No such file or directory",
    "a symbol": "undefined symbol: needed_elsewhere",
}


def lacking(what, folder):
    """The bytes of a library that lacks a library or a symbol."""
    (folder / "needed.c").write_text("void needed_elsewhere(void) {}\n")
    (folder / "needs.c").write_text("void needed_elsewhere(void); void needs(void) { needed_elsewhere(); }\n")
    library, shared = folder / "libneeded_elsewhere.so", [*find_compiler().command, "-shared", "-fPIC"]
    subprocess.run([*shared, "needed.c", "-o", library], cwd=folder, check=True)
    beside = ["-L.", "-lneeded_elsewhere"] * (what == "a library")
    subprocess.run([*shared, "needs.c", *beside, "-o", "needs.so"], cwd=folder, check=True)
    library.unlink()
    return (folder / "needs.so").read_bytes()
