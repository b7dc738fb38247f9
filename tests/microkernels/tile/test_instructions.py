"""Each instruction means what the CPU does: its meaning in loops against its text, compiled, on random bits.

Compared bit by bit: subnormal numbers, signed zeros, infinities, rounding, saturation, what masks leave alone, and
every number of a store. A sum that is no number is only compared as such: which NaN it is depends on the compiler's
order of operands. A NaN that is moved, or stored as a bf16, is compared by its bits.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace
from string import Formatter

import numpy as np
import pytest

from cpu.runtime.compiler.library import load
from microkernels.tile.instructions import Instructions, instructions_of
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import MultiplyAdd
from microkernels.tile.lanes import exchange_definitions, lanes_definition, own_definitions
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, constant
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Do, Immediate, Invoke, Load, Mask, Number, Store
from tiling.loops.meaning.memory import NUMPY
from tiling.loops.meaning.narrow import fma

ROWS = [
    pytest.param("portable"),
    *(pytest.param(name, marks=pytest.mark.isa(name)) for name in ("avx2", "avx512f", "avx512bf16", "avx512vnni")),
]
LARGEST_GROUP = {4: 4, 8: 8, 16: 8}  # channels in a group, by lanes
ALIGNED, ROOM, TRIALS = 64, 256, 60
# What a file defines for itself, and a fence, which has no result.
WITHOUT_RESULT = {"own", "zeros", "stream_fence"}
# Fields that hold several instructions, by the name of a function or by how many numbers a word gathers. The functions
# have a test beside their file.
SEVERAL = ("arithmetic", "functions", "narrow", "gathered")
OPERATIONS = ("add", "sub", "neg", "mul")
FACTOR = Number(-5.5)
C_TYPES = {np.uint16: "uint16_t", np.uint8: "uint8_t", np.int8: "int8_t"}


def forms(isa):
    """(name, instruction) of every instruction of a row that has a result, by the fields of `Instructions`."""
    row = instructions_of(isa)
    found = {name: getattr(row, name) for name in Instructions.__dataclass_fields__ if name not in SEVERAL}
    found |= row.arithmetic
    found |= {instruction.name: instruction for pair in row.gathered for instruction in pair}
    if isa.numbers is None:
        del found["alone"], found["alone_tail"]
    if row.store_lanes is None:
        del found["store_lanes"]
    for function, stores in row.narrow.items():
        found |= {f"{name}_{function}": getattr(stores, name) for name in ("store", "store_tail", "stream", "line")}
    return {name: each for name, each in found.items() if name not in WITHOUT_RESULT}


def operands_of(instruction):
    return list(dict.fromkeys(name for _, name, _, _ in Formatter().parse(instruction.text) if name not in ("s", None)))


def in_memory(operand):
    """Whether an operand is a pointer: p, or p_0, p_1 … of words that are gathered."""
    return operand.partition("_")[0] == "p"


def gives_value(name):
    return not name.startswith(("store", "stream", "line"))


def masks(name, lanes):
    """The numbers of lanes to try a masked instruction with, or 0 for one without a mask; the exchanges to try."""
    if name == "exchange":
        return range(1, LARGEST_GROUP[lanes])
    if name == "store_lanes":
        return range(1, lanes)  # all lanes are a whole store
    return range(1, lanes + 1) if "tail" in name else (0,)


def dtypes(name, isa):
    """NumPy's dtype of what lies at p, of vectors of floats, and of x and w. What is moved is moved by its bits."""
    memory = NUMPY[name.rpartition("_")[2]] if "_to_" in name else np.uint32
    if name.startswith(("alone", "gathered")):
        memory = {"uint16_t": np.uint16, "uint8_t": np.uint8}[isa.numbers.number]
    sums = np.int32 if isa.dtype == "int8" else np.float32
    if name in OPERATIONS:
        return memory, np.float32, None
    if name == "floats":
        return memory, sums, None
    if name == "exchange":
        return memory, None, NUMPY[instructions_of(isa).exchange.dtype]
    if name in ("fma", "fma_in_place"):
        return memory, sums, np.float32 if isa.dtype == "f32" else np.uint32
    return memory, np.float32 if "_to_" in name else np.uint32, None


def file_of(isa):
    """A C file with a function for each instruction and mask. It takes pointers to operands, then the result's."""
    lines = [isa.prologue, "#include <stdint.h>", "#include <string.h>", *(narrow.definition for narrow in isa.narrow)]
    for used in range(1, isa.lanes + 1):
        lines.append(lanes_definition(isa, f"FIRST_{used}", used, "a vector"))
    lines += own_definitions(isa, False, 1) + exchange_definitions(isa, LARGEST_GROUP[isa.lanes])
    lines += [isa.fma_in_place, isa.store_lanes]
    for name, instruction in forms(isa).items():
        memory, _, _ = dtypes(name, isa)
        element = C_TYPES.get(memory, isa.word)
        for used in masks(name, isa.lanes):
            lanes = str(used) if name == "store_lanes" else f"FIRST_{used}"
            text = {"p": "p", "s": str(FACTOR.value), "lanes": lanes, "c": str(used)}
            if name == "alone_tail":
                lines += ["#undef TAIL", f"#define TAIL FIRST_{used}", f"#define words_at_tail words_at_tail_{used}"]
                lines += [line.replace("words_at(", f"words_at_{used}(") for line in own_definitions(isa, True, 1)]
            lines += [f"void do_{name}_{used}(void **given, void *out)", "{", "    (void)given; (void)out;"]
            for place, operand in enumerate(operands_of(instruction)):
                if in_memory(operand):
                    text[operand] = operand
                    lines.append(f"    {element} *{operand} = ({element} *)given[{place}];")
                elif operand not in ("lanes", "c"):
                    text[operand] = operand
                    lines += [
                        f"    {isa.vector_type} {operand};",
                        f"    memcpy(&{operand}, given[{place}], {4 * isa.lanes});",
                    ]
            done = instruction.text.format(**text)
            if gives_value(name):
                lines += [f"    {isa.vector_type} value = ({isa.vector_type})({done});"]
                lines += [f"    memcpy(out, &value, {4 * isa.lanes});"]
            else:
                lines.append(f"    {done};")
            lines.append("}")
            if name == "alone_tail":
                lines.append("#undef words_at_tail")
    return "\n".join(lines) + "\n"


def aligned(dtype, elements):
    """Room at an address that every instruction takes."""
    room = np.zeros(elements * np.dtype(dtype).itemsize + ALIGNED, np.uint8)
    start = -room.ctypes.data % ALIGNED
    return room[start : start + elements * np.dtype(dtype).itemsize].view(dtype)


SPECIAL = np.array([0, 1 << 31, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
                    0x7FC00000, 0x7F800001, 0x437F8000, 0x3F7FFFFF, 0x80800000], np.uint32)  # fmt: skip


def random_bits(rng, dtype, elements):
    """Bits of all kinds: any, those of special floats, of floats near 1, and of pairs of small and special bf16."""
    bits = rng.integers(0, 1 << 32, elements, dtype=np.uint32)
    near = (bits & 0x80FFFFFF) | 0x3F000000
    small = bits & 0x8FFF8FFF
    pairs = rng.choice(SPECIAL, elements) >> 16 | rng.choice(SPECIAL, elements) & 0xFFFF0000
    kinds = np.stack([bits, near, small, pairs, rng.choice(SPECIAL, elements)])
    chosen = kinds[rng.integers(0, len(kinds), elements), np.arange(elements)]
    found = aligned(dtype, elements)
    found[...] = chosen.view(dtype) if np.dtype(dtype).itemsize == 4 else chosen.astype(dtype)
    return found


def interpreted(name, instruction, used, given, out):
    """What the meaning makes of these arrays: it writes to `out`, or to p."""
    arrays = {**given, "out": out} if gives_value(name) else given
    fixed = {o: Address(o, (ZERO,)) for o in operands_of(instruction) if in_memory(o)}
    fixed |= {"lanes": Mask(constant(used)), "c": Immediate(constant(used))}
    operands = tuple(
        (o, fixed.get(o, Load(o, (LANE,))))
        for o in dict.fromkeys((*operands_of(instruction), *(["lanes"] * (used > 0 and "tail" in name))))
    )
    invoke = Invoke(instruction, (*operands, ("s", FACTOR)) if name == "mul" else operands)
    statement = Store("out", (LANE,), invoke) if gives_value(name) else Do(invoke)
    buffers = tuple(Buffer(array, values.shape, ("at",)) for array, values in arrays.items())
    interpret(Kernel(buffers, (statement,)), arrays)


def same(got, expected):
    """Bit by bit; of floats one NaN is like another."""
    equal = got.view(np.uint8).reshape(len(got), -1) == expected.view(np.uint8).reshape(len(expected), -1)
    both = np.isnan(got) & np.isnan(expected) if got.dtype == np.float32 else np.zeros(len(got), bool)
    return np.all(equal, axis=1) | both


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_each_instruction_means_what_the_cpu_does(row):
    isa, rng = isa_named(row), np.random.default_rng(1)
    library = load(file_of(isa), isa.compiler_flags, ctypes.CDLL)
    for name, instruction in forms(isa).items():
        memory, vectors, factors = dtypes(name, isa)
        for used in masks(name, isa.lanes):
            for _ in range(-(-TRIALS // len(masks(name, isa.lanes)))):
                given = {}
                for operand in operands_of(instruction):
                    dtype = memory if in_memory(operand) else factors if operand in ("x", "w") else vectors
                    if operand not in ("lanes", "c"):
                        given[operand] = random_bits(rng, dtype, ROOM if in_memory(operand) else isa.lanes)
                if "p" in given or used:
                    given.setdefault("p", aligned(memory, ROOM))
                out = aligned(NUMPY[instruction.dtype] if instruction.dtype else memory, isa.lanes)
                meant, real = ({key: value.copy() for key, value in given.items()} for _ in range(2))
                real["p"] = aligned(memory, ROOM)
                real["p"][...] = given.get("p", 0)
                expected = out.copy()
                with np.errstate(over="ignore", invalid="ignore"):
                    interpreted(name, instruction, used, meant, expected)
                pointers = [real[o].ctypes.data if o in real else None for o in operands_of(instruction)]
                pointers = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
                getattr(library, f"do_{name}_{used}")(pointers, ctypes.c_void_p(out.ctypes.data))
                if gives_value(name):
                    right = same(out, expected)
                    if row == "portable" and name in (
                        "fma",
                        "fma_in_place",
                    ):  # the compiler may make one instruction of both
                        right |= same(out, fma(meant["x"], meant["w"], meant["acc"]))
                    assert right.all(), (name, used, out, expected)
                else:
                    assert np.array_equal(real["p"].view(np.uint8), meant["p"].view(np.uint8)), (name, used, given)


def test_a_row_brings_the_text_and_the_meaning_of_its_product():
    made_up = MultiplyAdd("multiplied({x}, {w}, {acc})", ("dot_int8_add",))
    row = replace(isa_named("portable"), name="made_up", dtype="int8", fma=made_up)
    instruction = instructions_of(row).fma
    assert (instruction.text, instruction.dtype) == ("multiplied({x}, {w}, {acc})", "s32")
    x, w = np.full(4, 0x01FF0203, np.uint32), np.full(4, 0xFF010105, np.uint32)  # 3·5 + 2·1 + 255·1 - 1·1
    out = np.zeros(4, np.int32)
    interpreted("fma", instruction, 0, {"x": x, "w": w, "acc": np.full(4, 7, np.int32)}, out)
    assert out.tolist() == [7 + 271] * 4
