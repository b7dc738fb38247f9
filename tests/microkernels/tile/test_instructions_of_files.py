"""What a file defines for its own instructions does what they mean: moves of lanes and memory, epilogues, bare forms.

Each text is compiled and run beside its meaning; moves of lanes, and masks of a number of lanes, beside NumPy.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import fields
from string import Formatter

import numpy as np
import pytest

from cpu.codegen.epilogue import compares_with_zero, epilogue_text
from cpu.codegen.inside import facts_of_scheme
from cpu.codegen.vector_functions import definitions
from cpu.passes.forms import product_forms
from cpu.passes.memory.copy_runs import copy_runs
from cpu.runtime.compiler.library import load
from microkernels.tile.instructions import instructions_of, transpose_instruction
from microkernels.tile.isa import EVERY_ISA, ISAS, isa_named
from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import exchange_definitions, own_definitions, shuffle_definition, tail_definition
from microkernels.tile.transpose import definitions as transpositions
from microkernels.tile.transpose import stages
from tests.support.loops.loops import statements
from tests.support.microkernels.instruction_texts import c_function, call, mean
from tiling.epilogue import fused
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Apply, For, Load, Mask, Number, Store
from tiling.loops.meaning.memory import NUMPY
from tiling.loops.rewrite import instructions_in
from tiling.operators import conv2d, matmul
from tiling.rewrite.grouped import grouped2d
from tiling.text.notation import parse

F32 = [pytest.param(name, marks=[pytest.mark.isa(name)] * (name != "portable")) for name in ISAS]
GROUPS = [
    pytest.param(name, channels, marks=pytest.mark.isa(name))
    for name, channels in (("avx512bf16", 4), ("avx512bf16", 8), ("avx512vnni", 8))
]
SPECIAL = np.array([0, -0.0, 1, -1, 3.5, -87.5, 1e-40, -1e-40, np.inf, -np.inf, np.nan, 3e38], np.float32)


def compiled(isa, *texts: str) -> ctypes.CDLL:
    heads = [isa.prologue, "#include <stdint.h>", "#include <string.h>", "#include <math.h>"]
    return load("\n".join([*heads, *texts]) + "\n", isa.compiler_flags, ctypes.CDLL)


def instructions(kernel: Kernel, *names: str):
    """The instructions of these names that a kernel has, each once."""
    found = (invoke.instruction for s in statements(kernel) for invoke in instructions_in(s))
    return list({each.name: each for each in found if each.name in names}.values())


@pytest.mark.parametrize("row", F32)
def test_transpositions_of_any_number_of_rows(row):
    isa, rng = isa_named(row), np.random.default_rng(1)
    sizes = list(range(1, isa.lanes + 1))
    texts = [*transpositions(isa, sizes)]
    for rows in sizes:
        names = {f"r{n}": isa.vector_type for n in range(rows)}
        # Vectors on the stack: the function stores to whole ones.
        text = transpose_instruction(rows, isa.lanes).text.format(t="t", **{name: name for name in names})
        text = f"{isa.vector_type} t[{isa.lanes}]; {text}; __builtin_memcpy(to, t, sizeof t)"
        texts.append(c_function(f"do_{rows}", text, names, {"to": "void"}))
    library = compiled(isa, *texts)
    for rows in sizes:
        vectors = {f"r{n}": rng.integers(0, 1 << 32, isa.lanes, dtype=np.uint32) for n in range(rows)}
        found, meant = (np.zeros(isa.lanes**2, np.uint32) for _ in range(2))
        call(library, f"do_{rows}", *vectors.values(), found)
        mean(transpose_instruction(rows, isa.lanes), vectors, {"t": meant})
        found, meant = (each.reshape(isa.lanes, -1)[:, :rows] for each in (found, meant))  # nobody uses other lanes
        np.testing.assert_array_equal(found, meant)
        assert meant.any()


@pytest.mark.parametrize("row, channels", GROUPS)
def test_words_of_groups(row, channels):
    """A vector has several groups: each lane gets a word of its own group, in the last vector only the first lanes."""
    isa, rng = isa_named(row), np.random.default_rng(2)
    numbers, number = {"bf16": (2, np.uint16), "int8": (4, np.uint8)}[isa.dtype]
    problem = conv2d(c=24, k=24, groups=24 // channels, h=2, w=3, r=1, s=1, dtype=isa.dtype)
    text = f"R(k) R(h) S(y) U(c,{channels // numbers}) U(w,3) D(c,{numbers}) V(k,16)"
    facts = facts_of_scheme(parse(grouped2d(problem), text), isa, False)
    found = instructions(dict(product_forms(facts))["vectorise"], "words", "words_tail")
    assert [each.name for each in found] == ["words", "words_tail"]
    size = facts.scheme.problem.extents["c"]
    texts = [tail_definition(isa, 24 % isa.lanes), *exchange_definitions(isa, size)]
    texts += own_definitions(isa, True, facts.scheme.problem.dot_group, size)
    for each in found:
        done = f"({isa.vector_type}){each.text.format(p='p', lanes='TAIL')}"
        texts.append(c_function(f"do_{each.name}", done, {}, {"p": isa.numbers.number}, isa.vector_type))
    library = compiled(isa, *texts)
    for each in found:
        p = rng.integers(0, 1 << 8 * number().itemsize, 256).astype(number)
        real, meant = (np.full(isa.lanes, 7, NUMPY[each.dtype]) for _ in range(2))
        call(library, f"do_{each.name}", p, real)
        mask = {"lanes": Mask(constant(24 % isa.lanes))} if each.name == "words_tail" else {}
        mean(each, {}, {"p": p}, meant, **mask)
        np.testing.assert_array_equal(real, meant)
        assert meant[:8].any() and meant[-8:].any() == (each.name == "words")


EXACT = ("relu(-y)", "min(max(y, b), 6) - z", "clamp(abs(y) + b, -1, 2)")
NEAR = ("tanh(y) + b", "gelu(y)", "exp(y) / z")


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", F32)
@pytest.mark.parametrize("text", EXACT + NEAR)
def test_epilogues(row, text):
    """Bit by bit where nothing is rounded differently, else to a few units in the last place."""
    isa, rng = isa_named(row), np.random.default_rng(3)
    problem = fused(matmul(m=2, n=32, k=2), text)
    facts = facts_of_scheme(parse(problem, f"R(n) R(m) S(c) R(k) V(n,{isa.lanes})"), isa, False)
    (instruction,) = instructions(dict(product_forms(facts))["vectorise"], "epilogue")
    given = ["y", *(name for name in ("e_b", "e_z") if f"{{{name}}}" in instruction.text)]
    given += ["zero"] * compares_with_zero(problem.epilogue)
    types = dict.fromkeys(given, isa.vector_type)
    done = instruction.text.format(**{name: name for name in given})
    library = compiled(isa, epilogue_text(problem.epilogue, isa), c_function("run", done, types, {}, isa.vector_type))
    for trial in range(40):
        vectors = {name: rng.normal(0, 2, isa.lanes).astype(np.float32) for name in given}
        if trial % 2 and text in EXACT:
            vectors = {name: rng.choice(SPECIAL, isa.lanes) for name in given}
        if "zero" in vectors:
            vectors["zero"] = np.zeros(isa.lanes, np.float32)
        real, meant = (np.full(isa.lanes, 7, np.float32) for _ in range(2))
        call(library, "run", *vectors.values(), real)
        with np.errstate(all="ignore"):
            mean(instruction, vectors, {}, meant)
        if text in EXACT:
            np.testing.assert_array_equal(real, meant)
        else:
            np.testing.assert_allclose(real, meant, rtol=2e-6, atol=1e-6)


def moves():
    """Loops that are one move of memory, by name: over neighbours, zeros, words of numbers, and a word of fewer."""
    at = variable("at")

    def word(*numbers):
        loads = [Load("given", (at * 4 + number,)) for number in numbers]
        return Apply("word", (*loads, *[Number(0, "s32")] * (4 - len(loads))))

    return {
        "copy_5": (5, Load("given", (at + 3,)), "u32", "u32"),
        "zeros_7": (7, Number(0), "u32", "u32"),
        "copy_3_words": (3, word(0, 1, 2, 3), "u8", "u32"),
        "copy_3_of_4": (1, word(0, 1, 2), "u8", "u32"),
    }


def test_moves_of_memory():
    isa, rng = ISAS["portable"], np.random.default_rng(4)
    c, widths, found = {"u8": "uint8_t", "u32": "uint32_t"}, {"u8": np.uint8, "u32": np.uint32}, {}
    for name, (count, value, given, to) in moves().items():
        loop = For("at", ZERO, constant(count), 1, (Store("to", (variable("at") + 2,), value),))
        (moved,) = copy_runs(Kernel((Buffer("given", (64,), ("at",)), Buffer("to", (64,), ("at",))), (loop,))).body
        instruction = moved.invoke.instruction
        assert instruction.name == name
        names = {operand: operand for operand, _ in moved.invoke.operands}
        text = c_function(
            f"do_{name}", instruction.text.format(**names), {}, {n: c[{"to": to, "given": given}[n]] for n in names}
        )
        found[name] = instruction, names, widths[given], widths[to], text
    library = compiled(isa, *(text for *_, text in found.values()))
    for name, (instruction, names, given, to, _) in found.items():
        arrays = {"to": rng.integers(1, 200, 64).astype(to), "given": rng.integers(1, 200, 64).astype(given)}
        real, meant = ({n: arrays[n].copy() for n in names} for _ in range(2))
        call(library, f"do_{name}", *real.values())
        mean(instruction, {}, meant)
        np.testing.assert_array_equal(real["to"], meant["to"])
        assert not np.array_equal(meant["to"], arrays["to"])


# ---- what a file's functions of vectors are written with

OF_FUNCTIONS = [
    pytest.param(row.values[0], name, marks=row.marks)
    for row in F32
    for name in instructions_of(ISAS[row.values[0]]).functions
]


def drawn(rng, operand, lanes):
    """A vector of an operand: `n` is a whole number of sixteenths or any bits, others have special numbers too."""
    if operand == "n":
        found = (rng.integers(-1600, 1600, lanes) / 16).astype(np.float32)
        return rng.choice([found, rng.integers(0, 2**32, lanes, np.uint32).view(np.float32)])
    found = rng.normal(-3, 2, lanes).astype(np.float32)
    return np.where(rng.random(lanes) < 0.4, rng.choice(SPECIAL, lanes), found)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row, name", OF_FUNCTIONS)
def test_what_functions_are_written_with(row, name):
    """Bit by bit, but for which NaN a result is."""
    isa, rng = isa_named(row), np.random.default_rng(5)
    instruction = instructions_of(isa).functions[name]
    operands = list(dict.fromkeys(field for _, field, _, _ in Formatter().parse(instruction.text) if field))
    types = {operand: "float" if operand == "s" else isa.vector_type for operand in operands}
    text = instruction.text.format(**{operand: operand for operand in operands})
    library = compiled(isa, definitions({"max_of"}, isa), c_function("run", text, types, {}, isa.vector_type))
    changed = 0
    for _ in range(200):
        vectors = {operand: drawn(rng, operand, 1 if operand == "s" else isa.lanes) for operand in operands}
        if name == "or_nan":  # its `a` is what `nan` gives: no bit, or all of them
            vectors["a"] = np.where(rng.random(isa.lanes) < 0.5, 0, 0xFFFFFFFF).astype(np.uint32).view(np.float32)
        real, meant = (np.full(isa.lanes, 7, np.float32) for _ in range(2))
        call(library, "run", *vectors.values(), real)
        with np.errstate(all="ignore"):
            mean(instruction, vectors, {}, meant)
        none = np.isnan(real) & np.isnan(meant)
        np.testing.assert_array_equal(np.where(none, 0, real.view(np.uint32)), np.where(none, 0, meant.view(np.uint32)))
        changed += any(not np.array_equal(real, vector, equal_nan=True) for vector in vectors.values())
    assert changed > 100


@pytest.mark.parametrize("row", EVERY_ISA)
def test_every_text_of_a_row_has_a_meaning(row):
    isa, given = EVERY_ISA[row], instructions_of(EVERY_ISA[row])
    names = {each.name for each in fields(Isa)} - {"prologue", "lanes_definition", "first_lanes", "shuffle"}
    forms = {name for name in names if re.search(r"{\w+}", str(getattr(isa, name))) and name != "fma"}
    assert forms >= {"load", "store_tail", "larger", "constant"}
    for name in forms - {"narrow", "numbers", "matrix"}:
        instruction = given.functions.get(name) or getattr(given, name)
        assert instruction.text == getattr(isa, name) and instruction.meaning, name


@pytest.mark.parametrize("row", F32)
def test_lanes_of_two_vectors(row):
    isa, rng = isa_named(row), np.random.default_rng(6)
    places = [order for orders in stages(isa.lanes) for order in orders]
    places += [tuple(rng.integers(0, 2 * isa.lanes, isa.lanes).tolist()) for _ in range(5)]
    texts = [isa.shuffle.format(a="a", b="b", places=", ".join(map(str, order))) for order in places]
    types = dict.fromkeys("ab", isa.vector_type)
    texts = [c_function(f"do_{n}", text, types, {}, isa.vector_type) for n, text in enumerate(texts)]
    library = compiled(isa, "\n".join(shuffle_definition(isa)), *texts)
    for number, order in enumerate(places):
        a, b = (rng.normal(size=isa.lanes).astype(np.float32) for _ in "ab")
        found = np.zeros(isa.lanes, np.float32)
        call(library, f"do_{number}", a, b, found)
        np.testing.assert_array_equal(found, np.concatenate([a, b])[list(order)])


@pytest.mark.parametrize("row", F32)
def test_the_first_lanes_of_a_number_that_a_call_knows(row):
    """As a mask of `load_tail` they are those of the definition that a number known before has."""
    isa = isa_named(row)
    loaded = isa.load_tail.format(p="p", lanes=isa.first_lanes.format(lanes="*lanes"))
    library = compiled(isa, c_function("run", loaded, {}, {"p": "float", "lanes": "int"}, isa.vector_type))
    p = np.arange(1, isa.lanes + 1, dtype=np.float32)
    for lanes in range(1, isa.lanes + 1):
        found = np.zeros(isa.lanes, np.float32)
        call(library, "run", p, np.array([lanes], np.int32), found)
        np.testing.assert_array_equal(found, np.where(np.arange(isa.lanes) < lanes, p, 0))
