"""The vector instructions of programs do what they mean: the text that a file defines, compiled, beside the meaning."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cpu.codegen import vector_functions
from cpu.codegen.program.functions import ELEMENT, Definitions
from cpu.passes.program.lanes.instructions import across, memory_of, transposed
from cpu.runtime.compiler.library import load
from microkernels.tile.isa import ISAS, isa_named
from tests.support.microkernels.instruction_texts import c_function, call, mean
from tiling.loops.index import constant
from tiling.loops.language import Immediate, Mask
from tiling.loops.meaning.memory import NUMPY

ROWS = [pytest.param(name, marks=[pytest.mark.isa(name)] * (name != "portable")) for name in ISAS]
DTYPES = ("f64", "s64", "s32", "s8", "u8", "bf16", "f16")  # those of f32 are the instruction set's own forms
USED = 3  # lanes of a tail


def compiled(definitions: Definitions, *texts: str) -> ctypes.CDLL:
    isa = definitions.isa
    heads = [isa.prologue, "#include <stdint.h>", "#include <math.h>"]
    heads += [vector_functions.definitions(definitions.shared, isa), *definitions.lines]
    return load("\n".join([*heads, *texts]) + "\n", (*isa.compiler_flags, "-Wno-psabi"), ctypes.CDLL)


def numbers(rng, dtype: str, count: int) -> np.ndarray:
    return rng.integers(1, 100, count).astype(NUMPY[dtype])


@pytest.mark.parametrize("row", ROWS)
def test_accesses_to_arrays_of_every_dtype(row):
    isa, rng = isa_named(row), np.random.default_rng(1)
    definitions, texts, cases = Definitions(isa), [], []
    for dtype in DTYPES:
        vector = definitions.vector(dtype)
        for name in ("load", "load_tail", "broadcast", "store", "store_tail", "store_first"):
            definitions.access(name, dtype)
            instruction, stores = getattr(memory_of(isa, dtype), name), name.startswith("store")
            done = instruction.text.format(p="p", v="v", lanes=USED)
            given = {"v": vector} if stores else {}
            texts.append(c_function(f"{name}_of_{dtype}", done, given, {"p": ELEMENT[dtype]}, "" if stores else vector))
            cases.append((f"{name}_of_{dtype}", instruction, dtype))
    library = compiled(definitions, *texts)
    for name, instruction, dtype in cases:
        p, v = (numbers(rng, dtype, isa.lanes) for _ in "pv")
        mask = {"lanes": Mask(constant(USED))} if "tail" in name else {}
        real, meant = p.copy(), p.copy()
        if name.startswith("store"):
            call(library, name, v, real)
            mean(instruction, {"v": v}, {"p": meant}, **mask)
        else:
            real, meant = np.zeros_like(p), np.ones_like(p)
            call(library, name, p, real)
            mean(instruction, {}, {"p": p}, meant, **mask)
        np.testing.assert_array_equal(real, meant, err_msg=name)


@pytest.mark.parametrize("row", ROWS)
def test_what_goes_across_lanes(row):
    isa, rng = isa_named(row), np.random.default_rng(2)
    definitions, texts, cases = Definitions(isa), [], []
    for dtype in ("f32", "f64", "s32", "s64"):
        for function in ("add", "mul", "max", "min"):
            name, vector = definitions.across(function, dtype), definitions.vector(dtype)
            instruction = across(function, dtype, isa.lanes)
            texts.append(c_function(f"do_{name}", instruction.text.format(v="v"), {"v": vector}, {}, vector))
            cases.append((f"do_{name}", instruction, dtype))
    library = compiled(definitions, *texts)
    for name, instruction, dtype in cases:
        v = numbers(rng, dtype, isa.lanes) % 3 + NUMPY[dtype](1)
        real, meant = (np.zeros_like(v) for _ in range(2))
        call(library, name, v, real)
        mean(instruction, {"v": v}, {}, meant)
        np.testing.assert_array_equal(real, meant, err_msg=name)


@pytest.mark.parametrize("row", ROWS)
def test_columns(row):
    isa, rng = isa_named(row), np.random.default_rng(3)
    definitions, apart = Definitions(isa), isa.lanes + 3
    definitions.transposed()
    instruction = transposed(isa.lanes)
    done = instruction.text.format(to="to", p="p", apart=apart)
    library = compiled(definitions, c_function("columns", done, {}, {"to": "float", "p": "float"}))
    p = rng.normal(size=apart * isa.lanes).astype(np.float32)
    real, meant = (np.zeros(isa.lanes**2, np.float32) for _ in range(2))
    call(library, "columns", real, p)
    mean(instruction, {}, {"to": meant, "p": p}, apart=Immediate(constant(apart)))
    np.testing.assert_array_equal(real, meant)
    assert meant.any()
