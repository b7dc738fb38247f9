"""The assembly of a kernel, and what in it is a spill."""

from __future__ import annotations

import re

from cpu.runtime.compiler.library import compiled
from tiling.operators import conv2d


def nearly_full(rows, vectors, taps):
    """A problem and scheme with one register tile of avx512f, whose steps hold `taps` taps of s."""
    problem = conv2d(c=16, h=3, w=rows, k=16 * vectors, r=3, s=3, padding=1)
    loops = f"T(h,3) S(y) T(r,3) T(s,{3 // taps}) T(c,16)"
    return problem, f"{loops} U(s,{taps}) U(w,{rows}) U(k,{vectors}) V(k,16)"


def assembly_of(source):
    """What the compiler makes of a source, from the cache where another test has asked."""
    return compiled(source.text, (*source.compiler_flags, "-S"), source.openmp).decode()


def spills_of(assembly):
    """The instructions that move a vector to or from the stack, or add a product with one that lies there."""
    # Without a frame pointer rbp is a register like any other, and may well point at the weights.
    base = "r[sb]p" if re.search(r"movq\s+%rsp, %rbp", assembly) else "rsp"
    slot = rf"-?\d*\(%{base}\)"
    moved = rf"vmov\w+\s+(?:%[yz]mm\d+, {slot}|{slot}, %[yz]mm\d+)"
    multiplied = rf"vfmadd\w+\s+{slot}, %[yz]mm\d+, %[yz]mm\d+"
    return re.findall(rf"^\s*(?:{moved}|{multiplied})", assembly, re.M)
