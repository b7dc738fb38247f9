"""Kernels after each pass: of a scheme, or small random ones, and the weights as they read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import prod
from random import Random
from unittest.mock import patch

import numpy as np

from cpu.codegen.inside import facts_of, on_loops
from cpu.codegen.pack import pack_loops
from cpu.passes.order import stages
from microkernels.tile.isa import ISAS, Isa
from tests.support import random_cases
from tests.support.loops import Arrays, result, statements
from tiling.loops.functions import FUNCTIONS
from tiling.loops.interpret import interpret
from tiling.loops.language import Body, Do, For, If, Inside, Invoke, Kernel, Let, Load, Set, Store, inside
from tiling.loops.rewrite import parts_of
from tiling.operators import conv2d
from tiling.problem import Problem
from tiling.rewrite.words import packed_elements
from tiling.scheme import Scheme
from tiling.text.notation import parse

# Enough for every pass to have its say; more only takes the interpreter longer.
MOST_PRODUCTS = 600
PACKING = "pack weights"  # the pass after which W is packed


# ---- small random kernels


@dataclass(frozen=True)
class Small:
    """A kernel that the interpreter runs in a moment, and how it is built."""

    scheme: Scheme
    isa: Isa
    stream: bool

    def stages(self) -> list[tuple[str, Kernel]]:
        """Its loops after each pass."""
        return list(stages(facts_of(self.scheme, self.isa, self.stream)))


def small(random: Random) -> Small:
    """A random problem and scheme that passes write."""
    operator = random.choice(("matmul", "conv2d", "conv2d", "depthwise2d"))
    for _ in count():
        isa = random.choice([isa for isa in ISAS.values() if isa.dtype == "f32"])
        problem = random_cases.followed(random, random_cases.problem(random, isa, 2 * MOST_PRODUCTS))
        vectors = -(-problem.extents[problem.vector_dim] // isa.lanes)
        points = prod(problem.extents.values()) // problem.extents[problem.vector_dim]
        if problem.op != operator or points * vectors * isa.lanes > MOST_PRODUCTS:
            continue
        scheme = random_cases.scheme(random, problem, isa)
        # Where tiles read a copy of x, the loops see the copy: not what the definition takes.
        if problem.transposed_axis is None and on_loops(scheme, isa):
            return Small(scheme, isa, random.random() < 0.3)
    raise AssertionError


def stages_by_name(problem: Problem, text: str, isa: str = "portable", stream: bool = False) -> dict[str, Kernel]:
    """The loops of a scheme by pass. {v} in the text: the lanes."""
    row = ISAS[isa]
    return dict(stages(facts_of(parse(problem, text.format(v=row.lanes)), row, stream)))


# ---- weights in packed order


def packed(lowered: Kernel, packing: Kernel, w: np.ndarray) -> np.ndarray:
    """The weights as the kernel after "pack weights" reads them.

    Both kernels have the same products: where the lowered one reads W[i], the other reads packed[j]. A place has one
    number; what no product reads is NaN, and what only lanes beyond the last column read is 0.
    """
    (buffer,) = [b for b in packing.arrays if b.name == "W"]
    found = np.full(buffer.shape, np.nan, np.float32)
    for edges, source, target, numbers in _pairs(lowered.body, packing.body, {}, ()):
        exists = all(edge.index.at(numbers) < edge.high for edge in edges)
        value = w[tuple(i.at(numbers) for i in source.at)] if exists else np.float32(0)
        (place,) = (i.at(numbers) for i in target.at)
        assert np.isnan(found[place]) or found[place] == value, f"W[{place}] is two numbers"
        found[place] = value
    return found


def by_loops(scheme: Scheme, w: np.ndarray) -> np.ndarray:
    """The weights as the kernel's own packing leaves them. Numbers that it left out would be -1."""
    found = {"W": w, "packed": np.full(packed_elements(scheme), -1).astype(w.dtype)}
    interpret(pack_loops(scheme), found)
    return found["packed"]


def _pairs(one: Body, other: Body, numbers: dict[str, int], edges: tuple[Inside, ...]) -> Iterator:
    """Every product: its conditions on edges, its weight in the one and in the other, and the variables' values."""
    for a, b in zip(one, other, strict=True):
        if isinstance(a, For):
            for value in range(a.start.at(numbers), a.stop.at(numbers), a.step):
                yield from _pairs(a.body, b.body, {**numbers, a.name: value}, edges)
        elif isinstance(a, Store):
            loads = [[p for p in parts_of(s.value) if isinstance(p, Load) and p.buffer == "W"] for s in (a, b)]
            yield from ((edges, *pair, numbers) for pair in zip(*loads, strict=True))
        elif isinstance(a, If):
            # A tap on padding reads no x; its weight is there all the same.
            here = tuple(c for c in a.conditions if isinstance(c, Inside) and c.low is None)
            yield from _pairs(a.body, b.body, numbers, (*edges, *here))
            yield from _pairs(a.otherwise, b.otherwise, numbers, edges)
        else:
            for inner, its in zip(inside(a), inside(b), strict=True):
                yield from _pairs(inner, its, numbers, edges)


# ---- the same small kernel before and after one pass


SAME = conv2d(c=2, h=4, w=6, k=8, r=3, s=3, padding=1)
TILES = "R(k) T(h,4) T(w,2) S(y) T(r,3) T(c,2) U(s,3) U(w,3) V(k,{v})"  # padding at both ends of w, taps r bounded


def around(name: str, problem: Problem = SAME, text: str = TILES, **options) -> tuple[Kernel, Kernel]:
    """The kernel before a pass and after it."""
    found = list(stages_by_name(problem, text, **options).items())
    place = next(place for place, (stage, _) in enumerate(found) if stage == name)
    return found[place - 1][1], found[place][1]


def products(kernel: Kernel, arrays: Arrays) -> int:
    """How many multiplications the interpreter makes of x and w; those of an epilogue count too."""
    made = 0

    def counted(function):
        def multiply(*values):
            nonlocal made
            made += 1
            return function(*values)

        return multiply

    with patch.dict(FUNCTIONS, {name: counted(FUNCTIONS[name]) for name in ("mul", "fma", "mul_add")}):
        result(kernel, arrays)
    return made


def instructions(kernel: Kernel, name: str = "") -> list[Invoke]:
    """Every use of an instruction, of this name where one is given, those inside operands included."""
    found: list[Invoke] = []

    def note(operand) -> None:
        found.extend(part for part in parts_of(operand) if isinstance(part, Invoke))

    for statement in statements(kernel):
        if isinstance(statement, Do):
            note(statement.invoke)
        elif isinstance(statement, (Store, Let, Set)) and statement.value is not None:
            note(statement.value)
    return [invoke for invoke in found if name in ("", invoke.instruction.name)]
