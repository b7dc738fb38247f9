"""Instructions of tile registers mean what the CPU does, or its twin in C: loads, stores and products, bit by bit."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from cpu.runtime.compiler.library import load
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import MultiplyAdd
from microkernels.tile.matrix import shapes_definition
from microkernels.tile.matrix_instructions import matrix_instructions_of
from tests.cpu.codegen.conftest import row  # noqa: F401  the fixture of rows with tile registers
from tests.support.kernels.matrix_cases import ISA
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Do, Invoke
from tiling.loops.machines import Shape, Tiles
from tiling.loops.meaning.memory import NUMPY

ROWS, WORDS, LANES, APART = 5, 3, 16, 7
PROGRAM = """
{prologue}
#include <stdio.h>
#include <stdlib.h>
{definition}
{shapes}
void product(void *x, void *w, void *sums)
{{
    (void)tiles_given();
    shaped(&SHAPES, 0);
    tile_zero(tmm0);
    tile_load(tmm0, sums, 64);
    tile_load(tmm1, x, {apart});
    tile_load(tmm2, w, 64);
    tile_dot(tmm0, tmm1, tmm2);
    tile_store(tmm0, sums, 64);
    tiles_end();
}}
"""


def meant(dtype, x, w, sums):
    """What the meanings of the same instructions make of `sums`."""
    isa = isa_named(ISA[dtype])
    forms, word = matrix_instructions_of(isa), {"bf16": "bf16x2", "int8": "int8x4"}[dtype]
    registers = (
        Buffer("tmm0", (ROWS, LANES), ("row", "at"), forms.sums, "tile"),
        Buffer("tmm1", (ROWS, WORDS), ("row", "at"), word, "tile"),
        Buffer("tmm2", (WORDS, LANES), ("row", "at"), word, "tile"),
    )
    of_sums, of_x, of_w = (Address(register.name, (ZERO, ZERO)) for register in registers)

    def do(instruction, **operands):
        return Do(Invoke(instruction, tuple(operands.items())))

    body = (
        Tiles(),
        Shape("SHAPES", registers),
        *map(Alloc, registers),
        do(forms.zero(ROWS), t=of_sums),
        do(forms.load((ROWS, LANES), LANES), t=of_sums, p=Address("sums", (ZERO,))),
        do(forms.load((ROWS, WORDS), APART), t=of_x, p=Address("x", (ZERO,))),
        do(forms.load((WORDS, LANES), LANES), t=of_w, p=Address("w", (ZERO,))),
        do(forms.multiply(ROWS, WORDS), acc=of_sums, x=of_x, w=of_w),
        do(forms.store((ROWS, LANES), LANES), t=of_sums, p=Address("sums", (ZERO,))),
        do(forms.release),
    )
    arrays = {"x": x, "w": w, "sums": sums}
    dtypes = {"x": word, "w": word, "sums": forms.sums}
    interpret(Kernel(tuple(Buffer(n, a.shape, ("at",), dtypes[n]) for n, a in arrays.items()), body), arrays)


def words(rng, dtype, count):
    """Random bytes; of bf16 whole numbers, which every order of additions sums exactly."""
    if dtype == "int8":
        return rng.integers(0, 1 << 32, count, dtype=np.uint32)
    values = rng.integers(-8, 9, 2 * count).astype(np.float32)
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint32)


@pytest.mark.parametrize("dtype", ISA)
def test_they_mean_what_they_do(dtype, row):  # noqa: F811
    isa = row(dtype)
    shapes = shapes_definition("SHAPES", ((ROWS, 64), (ROWS, 4 * WORDS), (WORDS, 64)))
    definition = isa.matrix.definition
    text = PROGRAM.format(prologue=isa.prologue, definition=definition, shapes=shapes, apart=4 * APART)
    library, rng = load(text, isa.compiler_flags, ctypes.CDLL), np.random.default_rng(3)
    for _ in range(5):
        x, w = words(rng, dtype, ROWS * APART), words(rng, dtype, WORDS * LANES)
        sums = rng.integers(-99, 99, ROWS * LANES).astype(NUMPY[{"bf16": "f32", "int8": "s32"}[dtype]])
        wanted, got = sums.copy(), sums.copy()
        meant(dtype, x, w, wanted)
        library.product(*(ctypes.c_void_p(array.ctypes.data) for array in (x, w, got)))
        assert np.array_equal(got, wanted) and not np.array_equal(got, sums)


def test_both_numbers_of_a_word_are_summed_apart():
    """The manual's order: the first numbers of all words, the second ones, then both, then what was there before."""
    huge, one = np.float32(2.0**60), np.float32(1)

    def pair(first, second):
        low, high = (np.float32(value).view(np.uint32) >> np.uint32(16) for value in (first, second))
        return low | high << np.uint32(16)

    x, w = np.zeros(ROWS * APART, np.uint32), np.zeros(WORDS * LANES, np.uint32)
    x[:WORDS] = [pair(huge, one), pair(one, one), pair(-huge, one)]
    w[0::LANES] = pair(one, one)
    sums = np.zeros(ROWS * LANES, np.float32)
    meant("bf16", x, w, sums)
    assert sums[0] == 3  # in turn, each one would be lost beside the huge number


def test_numbers_of_fewer_bits_count_as_zero():
    x, w = np.full(ROWS * APART, 1, np.uint32), np.full(WORDS * LANES, 0x3F803F80, np.uint32)
    sums = np.zeros(ROWS * LANES, np.float32)
    meant("bf16", x, w, sums)
    assert not sums.any()


def test_a_row_brings_the_text_and_the_meaning_of_its_product():
    isa, other = isa_named("amxint8"), MultiplyAdd("other({acc}, {x}, {w})", ("first_bf16_add",))
    made_up = replace(isa, dtype="bf16", matrix=replace(isa.matrix, multiply=other))
    product = matrix_instructions_of(made_up).multiply(1, 1)
    assert product.text == other.text
    x, w, acc = np.array([0x41004040], np.uint32), np.full(LANES, 0x40003F00, np.uint32), np.zeros(LANES, np.float32)
    operands = {"x": x, "w": w, "acc": acc}  # 3 and 8 times 0.5 and 2
    dtypes = ("bf16x2", "bf16x2", "f32")
    buffers = tuple(Buffer(name, array.shape, ("at",), d) for d, (name, array) in zip(dtypes, operands.items()))
    invoke = Invoke(product, tuple((name, Address(name, (ZERO,))) for name in operands))
    interpret(Kernel(buffers, (Do(invoke),)), operands)
    assert acc.tolist() == [1.5] * LANES
