"""Programs as loops of a GPU: what the interpreter makes of each form, and the twin of the text."""

from __future__ import annotations

import numpy as np

from cpu.reference.programs import evaluate, rounded
from gpu.codegen.loops.emit import emit_program
from gpu.codegen.loops.launches import ProgramText
from gpu.passes.order import program_forms
from gpu.twin.launch import TwinError
from gpu.twin.program import ProgramTwin
from tests.support.programs.programs import numbers, stored
from tiling.loops.kernel import Kernel
from tiling.program.infer import Sized, sized
from tiling.program.read import read

EXACT_TO = {"f32": 2**23, "f16": 2**10, "bf16": 2**7}

# Programs of every kind that passes know: maps, windows, rows, short rows, columns, sums in two steps, gathers.
PROGRAMS = {
    "map": ("y[i,j] = 2 * x[i,j] + b[j]", {"x": (5, 70), "b": (70,)}),
    "narrow map": ("y: f16; y[i,j] = x[i,j] * b[j]; b: bf16; x: f16", {"x": (6, 44), "b": (44,)}),
    "narrow map, odd rows": ("y: f16; y[i,j] = x[i,j] * b[j]; b: bf16; x: f16", {"x": (3, 37), "b": (37,)}),
    "window": (
        "y[h,w,c] = max[r,s] (x[2*h+r-1,2*w+s-1,c] else -9); x: f32[9,9,5]",
        {"h": 5, "w": 5, "c": 5, "r": 3, "s": 3},
    ),
    "rows": ("m[i] = max[j] x[i,j]; y[i,j] = x[i,j] - m[i]", {"x": (7, 1100)}),
    "short rows": ("m[i] = max[j] x[i,j]; s[i] = sum[j] x[i,j] - m[i]; y[i,j] = x[i,j] * s[i]", {"x": (7, 45)}),
    "rows read backwards": (
        "e[i,j] = exp(0 * x[i,j]) + x[i,j]; s[i] = sum[j] e[i,j]; y[i,j] = e[i,299-j] * s[i]",
        {"x": (3, 300)},
    ),
    "kept rows": (
        "e[i,j] = exp(0 * x[i,j]) + x[i,j]; s[i] = sum[j] e[i,j]; y[i,j] = e[i,j] * s[i] + (x[i,j+1] else 7)",
        {"x": (3, 1100)},
    ),
    "kept rows of neighbours": (
        "x: f16; b: bf16; e[i,j] = exp(0 * x[i,j]) + x[i,j]; s[i] = sum[j] e[i,j] * b[j]; y[i,j] = e[i,j] - s[i]",
        {"x": (3, 1028), "b": (1028,)},
    ),
    "short kept rows": (
        "e[i,j] = exp(0 * x[i,j]) + x[i,j]; s[i] = sum[j] e[i,j]; y[i,j] = e[i,j] * s[i]",
        {"x": (6, 132)},
    ),
    "columns": ("y[j] = sum[i] x[i,j]", {"x": (90, 33)}),
    "one long sum": ("y[] = sum[i] x[i]", {"x": (1 << 18,)}),
    "transposition": ("y[j,i] = x[i,j]", {"x": (40, 70)}),
    "gather": ("y[i,j] = x[t[i],j]; t: s32", {"x": (3, 33), "t": (9,)}),
    "truths": ("y[i] = any[j] x[i,j] > 1; z[i] = all[j] x[i,j] < 2 or y[i]", {"x": (5, 150)}),
    "position": ("y[i] = argmax[j] x[i,j]", {"x": (9, 100)}),
    "product": ("y[i,j] = sum[k] x[i,k] * w[k,j]", {"x": (7, 21), "w": (21, 45)}),
}


def program_of(name: str) -> Sized:
    """One of PROGRAMS with sizes."""
    text, sizes = PROGRAMS[name]
    extents = {name: size for name, size in sizes.items() if isinstance(size, int)}
    return sized(read(text), extents, {name: size for name, size in sizes.items() if isinstance(size, tuple)})


def forms(program: Sized) -> dict[str, Kernel]:
    """The loops after each pass."""
    return dict(program_forms(program))


def expected(program: Sized, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray] | None:
    """The outputs by definition; None where a sum of whole numbers is too large for its dtype."""
    wanted = evaluate(program, arrays)
    known = (a for a in program.assigned if a.dtype in EXACT_TO)
    if any(np.max(np.abs(wanted[a.name]), initial=0) > EXACT_TO[a.dtype] for a in known):
        return None
    return {name: rounded(wanted[name], program.array(name).dtype) for name in program.outputs}


def on_twin(
    program: Sized, arrays: dict[str, np.ndarray], text: ProgramText | None = None, seed: int = 0
) -> dict[str, np.ndarray]:
    """The outputs by the twin. text: that of the program, or a changed one."""
    outputs = [array for array in program.assigned if array.name in program.outputs]
    given = [stored(arrays[a.name], a.dtype) for a in program.inputs]
    given += [stored(np.zeros(a.shape), a.dtype) for a in outputs]
    placed, outside = ProgramTwin(text or emit_program(program)).run(given, seed=seed)
    assert not outside
    return {a.name: numbers(y, a.dtype) for a, y in zip(outputs, placed[len(program.inputs) :])}


def survives(program: Sized, arrays: dict[str, np.ndarray], text: ProgramText, seeds: range = range(6)) -> bool:
    """Whether a text gives the right result in every order tried, and the twin finds nothing wrong."""
    wanted = expected(program, arrays)
    assert wanted is not None
    try:
        found = [on_twin(program, arrays, text, seed) for seed in seeds]
    except TwinError:
        return False
    return all(np.array_equal(each[name], wanted[name]) for each in found for name in wanted)
