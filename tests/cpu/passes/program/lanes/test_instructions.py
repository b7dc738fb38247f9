"""The vector instructions of programs do what they mean: the text that a file defines, compiled, beside the meaning."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cpu.codegen import vector_functions
from cpu.codegen.program.definitions import Definitions
from cpu.codegen.program.functions import ELEMENT
from cpu.passes.program.lanes.instructions import (
    across,
    braided,
    first_lanes,
    memory_of,
    positions,
    spread,
    transposed,
    transposed_to,
)
from cpu.runtime.compiler.library import load
from microkernels.tile.isa import ISAS, isa_named
from tests.support.microkernels.instruction_texts import c_function, call, mean
from tiling.loops.index import constant
from tiling.loops.language import Immediate, Mask, Number
from tiling.loops.meaning.memory import NUMPY

ROWS = [pytest.param(name, marks=[pytest.mark.isa(name)] * (name != "portable")) for name in ISAS]
DTYPES = ("f64", "s64", "s32", "s8", "u8", "bf16", "f16")  # those of f32 are the instruction set's own forms
USED = 3  # lanes of a tail


def compiled(definitions: Definitions, *texts: str) -> ctypes.CDLL:
    isa = definitions.isa
    heads = [isa.prologue, "#include <stdint.h>", "#include <math.h>"]
    heads += [vector_functions.definitions(definitions.shared | vector_functions.BASE, isa), *definitions.lines]
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
@pytest.mark.parametrize("spread_out", [0, 5])
def test_columns(row, spread_out):
    isa, rng = isa_named(row), np.random.default_rng(3)
    definitions, apart, to_apart = Definitions(isa), isa.lanes + 3, isa.lanes + spread_out
    if spread_out:
        definitions.transposed_to()
    else:
        definitions.transposed()
    instruction = (transposed_to if spread_out else transposed)(isa.lanes)
    done = instruction.text.format(to="to", to_apart=to_apart, p="p", apart=apart)
    library = compiled(definitions, c_function("columns", done, {}, {"to": "float", "p": "float"}))
    p = rng.normal(size=apart * isa.lanes).astype(np.float32)
    real, meant = (np.zeros(to_apart * isa.lanes, np.float32) for _ in range(2))
    call(library, "columns", real, p)
    strides = {"apart": Immediate(constant(apart)), "to_apart": Immediate(constant(to_apart))}
    mean(instruction, {}, {"to": meant, "p": p}, **strides)
    np.testing.assert_array_equal(real, meant)
    assert np.array_equal(meant.reshape(isa.lanes, -1)[:, : isa.lanes], p.reshape(isa.lanes, -1)[:, : isa.lanes].T)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("rows", [2, 3, 4, 5])
def test_rows_side_by_side(row, rows):
    isa, rng = isa_named(row), np.random.default_rng(4)
    definitions, instruction, apart = Definitions(isa), braided(rows, isa.lanes), isa.lanes + 3
    definitions.braided(rows)
    done = instruction.text.format(to="to", p="p", apart=apart)
    library = compiled(definitions, c_function("braid", done, {}, {"to": "float", "p": "float"}))
    p = rng.normal(size=(rows, apart)).astype(np.float32)
    real, meant = (np.zeros(rows * isa.lanes, np.float32) for _ in range(2))
    call(library, "braid", real, p)
    mean(instruction, {}, {"to": meant, "p": p.reshape(-1)}, apart=Immediate(constant(apart)))
    np.testing.assert_array_equal(real, meant)
    assert np.array_equal(meant.reshape(isa.lanes, rows), p[:, : isa.lanes].T)


@pytest.mark.parametrize("row", ROWS)
def test_whether_all_lanes_hold_or_any(row):
    isa = isa_named(row)
    definitions, vector = Definitions(isa), Definitions(isa).vector("bool")
    names = {function: definitions.across(function, "bool") for function in ("and", "or")}
    texts = [c_function(f"do_{name}", f"{name}(v)", {"v": vector}, {}, vector) for name in names.values()]
    library = compiled(definitions, *texts)
    one = np.eye(isa.lanes, dtype=bool)
    for function, name in names.items():
        for v in (*one, *~one, one.any(axis=0), one.all(axis=0)):
            given, meant = -v.astype(np.int32), np.zeros_like(v)  # in C all bits of a lane are its truth
            real = np.zeros_like(given)
            call(library, f"do_{name}", given, real)
            mean(across(function, "bool", isa.lanes), {"v": v}, {}, meant)
            np.testing.assert_array_equal(real, -meant.astype(np.int32), err_msg=f"{function} of {v}")
            assert {*meant} == {v.all() if function == "and" else v.any()}


@pytest.mark.parametrize("row", ROWS)
def test_lanes_of_numbers_of_positions_and_of_first_ones(row):
    isa = isa_named(row)
    definitions, first = Definitions(isa), 7
    cases = {}
    for dtype in ("f32", "f64", "s64", "s32", "s8", "f16", "u8"):
        number = 3 if dtype == "u8" else -3
        cases[f"all_{dtype}"] = spread(dtype, isa.lanes), {"value": (number, Number(number, dtype))}, dtype
    for step in (0, 1, 5):
        cases[f"by_{step}"] = positions(step, isa.lanes), {"first": (first, Immediate(constant(first)))}, "s64"
    for lanes in range(1, isa.lanes + 1):
        cases[f"first_{lanes}"] = first_lanes(isa.lanes), {"lanes": (lanes, Mask(constant(lanes)))}, "bool"
    texts = []
    for name, (instruction, given, dtype) in cases.items():
        definitions.called(*instruction.calls)
        text = instruction.text.format(**{operand: number for operand, (number, _) in given.items()})
        texts.append(c_function(name, text, {}, {}, definitions.vector(dtype)))
    library = compiled(definitions, *texts)
    for name, (instruction, given, dtype) in cases.items():
        real, meant = (
            np.zeros(isa.lanes, np.int32 if dtype == "bool" else NUMPY[dtype]),
            np.zeros(isa.lanes, NUMPY[dtype]),
        )
        call(library, name, real)
        mean(instruction, {}, {}, meant, **{operand: value for operand, (_, value) in given.items()})
        np.testing.assert_array_equal(real, -meant.astype(np.int32) if dtype == "bool" else meant, err_msg=name)
        assert meant.any()
