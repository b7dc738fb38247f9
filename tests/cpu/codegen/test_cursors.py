"""The C functions of cursors do what the interpreter does."""

from __future__ import annotations

import ctypes
from random import Random

import numpy as np

from cpu.codegen import cursors
from cpu.runtime.compiler.library import load
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address
from tiling.loops.machines import Advance, Aim, Cursors

FLOATS = 100  # more than six lines, and the last one in part
ADVANCES = 9
WALK = """
long walk(const float *X, long first, long elements, long *asked)
{{
    {begin}
    {aim}
    {taken}
    long count = 0;
    for (int i = 0; i < {advances}; ++i) {{
        const char *before = x_next;
        {advance}
        if (x_next != before) asked[count++] = before - (const char *)X;
    }}
    {left}
    return count;
}}
"""


def test_c_prefetches_the_same_lines():
    array = Buffer("X", (FLOATS,), ("i",))
    aims = Aim("x", Address("X", (ZERO,)), constant(1))
    text = cursors.definitions(Kernel((array,), (Cursors(), aims))) + WALK.format(
        begin=cursors.BEGIN,
        aim="\n".join(cursors.aimed("x", "X", "first", "elements")),
        taken=cursors.taken("x"),
        advance=cursors.advanced("x"),
        left=cursors.left("x"),
        advances=ADVANCES,
    )
    walk = load(text, (), ctypes.CDLL).walk
    walk.restype, walk.argtypes = ctypes.c_long, [ctypes.c_void_p, ctypes.c_long, ctypes.c_long, ctypes.c_void_p]
    x, found, random, some = np.zeros(FLOATS, np.float32), np.zeros(ADVANCES, np.int64), Random(1), 0
    for _ in range(100):
        first, elements = random.randint(-40, FLOATS + 20), random.randint(0, FLOATS)
        asked = []
        aim = Aim("x", Address("X", (constant(first),)), constant(elements))
        interpret(Kernel((array,), (Cursors(), aim, *[Advance("x")] * ADVANCES)), {"X": x}, prefetched=asked)
        count = walk(x.ctypes.data, first, elements, found.ctypes.data)
        assert [a.byte for a in asked] == found[:count].tolist(), (first, elements)
        some += count
    assert some > 100
