"""Kernels after each pass, those of a scheme or small random ones, and the weights as they read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from random import Random
from unittest.mock import patch

import numpy as np

from cpu.codegen.inside import facts_of
from cpu.passes.forms import packing_forms, product_forms
from cpu.passes.order import PACK_WEIGHTS
from microkernels.tile.isa import EVERY_ISA, ISAS, Isa
from tests.support.kernels import random_cases
from tests.support.loops.loops import Arrays, of_numbers, result, statements
from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import passes_gaps
from tiling.dtypes.products import LANE_BYTES, OUTPUT_BYTES, OUTPUT_DTYPES
from tiling.loops.buffer import Buffer
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Do, For, If, Inside, Invoke, Let, Load, Set, Store
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.meaning.memory import NUMPY
from tiling.loops.rewrite import instructions_in, parts_of, places
from tiling.loops.walk import inside, walk
from tiling.operators import LAYOUTS, conv2d, matmul
from tiling.problem import Problem
from tiling.rewrite.copies.laid_out import lower_points
from tiling.rewrite.copies.strips import strip_of
from tiling.rewrite.dot_groups import scheme_in_dot_groups, uses_matrix_instructions
from tiling.rewrite.grouped import beside_each_other
from tiling.rewrite.pointwise import along_pixels
from tiling.rewrite.weight_groups import packed_elements, weight_groups_of
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse

# Enough for every pass to have its say; more only takes the interpreter longer.
MOST_PRODUCTS = 400
PACKING = PACK_WEIGHTS


# ---- small random kernels


@dataclass(frozen=True)
class Small:
    """A kernel that the interpreter runs in a moment, and how it is built.

    given: the scheme as its caller sees it.
    """

    given: Scheme
    isa: Isa
    stream: bool

    @cached_property
    def scheme(self) -> Scheme:
        """The scheme in dot groups."""
        return scheme_in_dot_groups(self.given)

    @property
    def problem(self) -> Problem:
        """What the plain loops compute: for f32 the problem itself, for narrow numbers that of dot groups."""
        return self.given.problem if self.given.problem.dtype == "f32" else self.scheme.problem

    def forms(self, threads: int = 1) -> list[tuple[str, Kernel]]:
        """Its loops after each pass."""
        return list(product_forms(facts_of(self.given, self.isa, self.stream, threads)))

    def strips(self, seed: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Where strips are copied: x, and all of its points, which the plain loops read. None elsewhere."""
        dots = self.scheme.problem
        if not strip_of(self.given):
            return None
        loops = lower_points(self.given.problem, dots)
        x, points = loops.arrays
        numbers = np.random.default_rng(seed).integers(-4, 5, (*x.shape, 1))
        copied = {"X": of_numbers(numbers, x), points.name: np.zeros(points.shape, NUMPY[points.dtype])}
        interpret(loops, copied)
        return copied["X"], copied[points.name]

    def copied(self, x: np.ndarray) -> np.ndarray:
        """x as the loops read it: where they read a copy, its channels come last."""
        axis = access_of(self.problem).transposed_axis
        return x if axis is None else np.ascontiguousarray(np.moveaxis(x, axis, -1))


def same_meaning(kernel: Kernel, before: Kernel) -> bool:
    """Whether two forms are one to the interpreter: `==` leaves out what instructions mean."""
    return kernel is before or (kernel == before and _meanings(kernel) == _meanings(before))


def different(forms: Iterable[tuple[str, Kernel]]) -> Iterator[tuple[str, Kernel]]:
    """The forms but those of passes that changed nothing: the interpreter finds the same numbers again."""
    before = None
    for name, kernel in forms:
        if before is None or not same_meaning(kernel, before):
            yield name, kernel
        before = kernel


def _meanings(kernel: Kernel) -> list[tuple[Body, str]]:
    found = (invoke.instruction for statement in statements(kernel) for invoke in instructions_in(statement))
    return [(instruction.meaning, instruction.dtype) for instruction in found]


def small(random: Random) -> Small:
    """A random problem and scheme that passes write."""
    draw = random.random()  # the simplest kernel, to which hypothesis goes back, is that of the lowest draws
    if draw >= 0.9:  # the interpreter takes long for their many numbers
        return small_blocks(random)
    if draw >= 0.78:  # what other random kernels are too seldom
        return random.choice((small_lines, small_dilated, small_rows))(random)
    operator = random.choice(("matmul", "conv2d", "conv2d", "pointwise2d", "depthwise2d", "grouped2d"))
    # A word of weights beside those of other groups has no place of its own before it is packed.
    of_words = operator not in ("pointwise2d", "grouped2d") and random.random() >= 0.75
    rows = [EVERY_ISA["avx512bf16"], EVERY_ISA["avx512vnni"]] if of_words else list(ISAS.values())
    for _ in count():
        isa = random.choice(rows)
        grouped = operator == "grouped2d"
        problem = small_groups(random, isa) if grouped else random_cases.problem(random, isa, 2 * MOST_PRODUCTS)
        problem = random_cases.followed(random, problem)
        problem = along_pixels(problem, isa.lanes) if operator == "pointwise2d" else problem
        if problem.op != operator or products_of(problem, isa) > (1 + of_words) * MOST_PRODUCTS:
            continue
        return Small(random_cases.scheme(random, problem, isa), isa, random.random() < 0.3)
    raise AssertionError


def small_lines(random: Random) -> Small:
    """A random product of dot groups whose tiles are vectors side by side, so that narrow outputs fill cache lines."""
    isa = EVERY_ISA[random.choice(("avx512bf16", "avx512vnni"))]
    vectors, rows, dot = random.randint(2, 5), random.randint(1, 3), 2 if isa.dtype == "bf16" else 4
    problem = matmul(m=rows, n=16 * vectors - random.choice((0, 0, 3)), k=random.randint(1, 2 * dot), dtype=isa.dtype)
    narrow = [dtype for dtype in OUTPUT_DTYPES[isa.dtype] if OUTPUT_BYTES[dtype] < LANE_BYTES]
    problem = replace(problem, output_dtype=random.choice(narrow))
    text = f"S(c) R(k) U(m,{rows}) U(n,{vectors}) D(k,{dot}) V(n,16)"
    return Small(parse(random_cases.followed(random, problem), text), isa, random.random() < 0.3)


def small_dilated(random: Random) -> Small:
    """A random convolution with padding, whose taps lie apart. Tiles of one row have them in a loop, so the first tap
    is a quotient.
    """
    isa, taps, apart = random.choice(list(ISAS.values())), random.randint(2, 3), random.randint(2, 3)
    sizes = {"c": random.randint(1, 2), "h": random.randint(4, 6), "w": random.randint(1, 2)}
    padding = (random.randint(1, 2), apart * (taps - 1) + random.randint(0, 1)), 0
    problem = conv2d(**sizes, k=random.randint(1, isa.lanes), r=taps, s=1, dilation=(apart, 1), padding=padding)
    sizes |= {dim: problem.extents[dim] for dim in "hw"}
    text = f"T(h,{sizes['h']}) T(w,{sizes['w']}) S(y) T(r,{taps}) T(c,{sizes['c']}) V(k,{isa.lanes})"
    return Small(parse(random_cases.followed(random, problem), text), isa, random.random() < 0.3)


def small_rows(random: Random) -> Small:
    """A random product whose tiles have all columns, so that each is the first to read its rows."""
    isa, rows, vectors, tiles = random.choice(list(ISAS.values())), *(random.randint(1, 3) for _ in range(3))
    k = random.randint(rows, rows + 2)
    problem = matmul(m=rows * tiles, n=isa.lanes * vectors - random.choice((0, 0, 1)), k=k)
    text = f"T(m,{tiles}) S(c) T(k,{k}) U(m,{rows}) U(n,{vectors}) V(n,{isa.lanes})"
    return Small(parse(random_cases.followed(random, problem), text), isa, random.random() < 0.3)


def small_blocks(random: Random) -> Small:
    """A random problem and scheme for matrix instructions, in dot groups.

    Two of three have flattened pixels, and half of these are copied strip by strip.
    """
    pixels, isa = random.choice(("rows", "points", "strips")), EVERY_ISA[random.choice(("amxbf16", "amxint8"))]
    operator = random.choice(("matmul", "conv2d", "conv2d"))
    for _ in count():
        if pixels == "rows":
            problem = random_cases.problem(random, isa, 40 * MOST_PRODUCTS)
            if problem.op != operator or products_of(problem, isa) > 12 * MOST_PRODUCTS:
                continue
        else:
            problem = small_image(random, isa)
        problem = random_cases.followed(random, problem)
        scheme = random_cases.scheme(random, problem, isa)
        dots = scheme_in_dot_groups(scheme)
        words = access_of(dots.problem).element_bytes // 4
        if pixels == "points" and not passes_gaps(dots.problem):
            continue
        if pixels == "strips" and not strip_of(scheme):
            continue
        if uses_matrix_instructions(scheme) and products_of(dots.problem, isa) * words <= 4 * MOST_PRODUCTS:
            return Small(scheme, isa, random.random() < 0.3)
    raise AssertionError


def small_groups(random: Random, isa: Isa) -> Problem:
    """A convolution of few pixels, whose groups stand side by side in a vector where they fit there.

    Few of all random convolutions are such: to wait for one takes more draws than hypothesis has.
    """
    channels, groups = random.choice((2, 4, 8)), random.choice((2, 3, 5, 8, 11))
    sizes = {dim: random.choice((1, 2, 3)) for dim in "hw"}
    taps = {dim: random.choice((1, 1, 2, 3)) for dim in "rs"}
    padding = [(random.randrange(taps[tap]), taps[tap] - 1) for tap in "rs"]
    whole = channels * groups
    found = conv2d(**sizes, **taps, c=whole, k=whole, groups=groups, padding=padding, layout=random.choice(LAYOUTS))
    return beside_each_other(found, isa.lanes)


def small_image(random: Random, isa: Isa) -> Problem:
    """A convolution of few pixels, whose rows may be flattened."""
    sizes = {dim: random.choice(found) for dim, found in dict(n=(1, 1, 2), c=(5, 8), h=(1, 2, 3), w=(1, 2, 3)).items()}
    taps = {dim: random.choice((1, 2, 3)) for dim in "rs"}
    padding = [(random.randrange(taps[tap]), taps[tap] - 1) for tap in "rs"]
    output = random.choice(OUTPUT_DTYPES[isa.dtype])
    return conv2d(**sizes, **taps, k=random.choice((5, 16, 17)), padding=padding, dtype=isa.dtype, output_dtype=output)


def products_of(problem: Problem, isa: Isa) -> int:
    """How many products the loops of a problem make."""
    vectors = -(-problem.extents[problem.vector_dim] // isa.lanes)
    return prod(problem.extents.values()) // problem.extents[problem.vector_dim] * vectors * isa.lanes


def forms_by_name(problem: Problem, text: str, isa: str = "portable", stream: bool = False) -> dict[str, Kernel]:
    """The loops of a scheme by pass. {v} in the text: the lanes."""
    row = ISAS[isa]
    return dict(product_forms(facts_of(parse(problem, text.format(v=row.lanes)), row, stream)))


# ---- weights in packed order


def packed(plain: Kernel, packing: Kernel, w: np.ndarray) -> np.ndarray:
    """The weights as the kernel after "pack weights" reads them.

    Both kernels have the same products: where the plain one reads W[i], the other reads packed[j]. A place has one
    number; what no product reads is NaN, and what only lanes beyond the last column read is 0.
    """
    (buffer,) = [b for b in packing.arrays if b.name == "W"]
    found, known = unread(buffer, w.dtype), np.zeros(buffer.shape, bool)
    bodies = plain.body, packing.body
    reads = [place.at for body in bodies for place in places(body) if place.buffer == buffer.name]
    ends = [(s.start, s.stop) for body in bodies for s in walk(body) if isinstance(s, For)]
    moving = {name for indices in (*reads, *ends) for index in indices for name in index.names()}
    for edges, source, target, numbers in _pairs(*bodies, {}, (), moving):
        # Only an edge that the weight moves along says whether it exists: there is another one of pixels in lanes.
        along = {name for index in source.at for name in index.names()}
        exists = all(e.index.at(numbers) < e.high for e in edges if along.issuperset(e.index.names()))
        value = w[tuple(i.at(numbers) for i in source.at)] if exists else w.dtype.type(0)
        (place,) = (i.at(numbers) for i in target.at)
        assert not known[place] or found[place] == value, f"W[{place}] is two numbers"
        found[place], known[place] = value, True
    return found


def unread(buffer: Buffer, dtype: np.dtype) -> np.ndarray:
    """What packed weights hold where nobody has written, and nobody may read."""
    number = 0x7FC07FC0 if dtype.itemsize == 4 else 0x5A
    return np.full(buffer.shape, np.nan if dtype == np.float32 else number, dtype)


def packed_forms(forms: Mapping[str, Kernel]) -> tuple[Kernel, Kernel]:
    """The kernel before W is packed, and after that. forms: all forms."""
    names = list(forms)
    return forms[names[names.index(PACKING) - 1]], forms[PACKING]


def forms_that_pack(scheme: Scheme) -> list[tuple[str, Kernel]]:
    """The loops that pack the weights of a scheme, after each pass."""
    rows = (isa for isa in EVERY_ISA.values() if (isa.dtype, isa.lanes) == (scheme.problem.dtype, scheme.lanes))
    isa = next(isa for isa in rows if bool(isa.matrix) == uses_matrix_instructions(scheme))
    return list(packing_forms(facts_of(scheme, isa, False), weight_groups_of(scheme)))


def pack_loops(scheme: Scheme) -> Kernel:
    """The same before any pass."""
    return forms_that_pack(scheme)[0][1]


def by_loops(scheme: Scheme, w: np.ndarray) -> np.ndarray:
    """The weights as the kernel's own packing leaves them, in any form. Numbers that it left out would be -1."""
    packed = []
    for _, kernel in forms_that_pack(scheme):
        found = {"W": w, "packed": np.full(packed_elements(scheme), -1).astype(w.dtype)}
        interpret(kernel, found)
        packed.append(found["packed"])
    for found in packed[1:]:
        np.testing.assert_array_equal(found, packed[0])
    return packed[0]


def _pairs(one: Body, other: Body, numbers: dict[str, int], edges: tuple[Inside, ...], moving: set[str]) -> Iterator:
    """Every product: its conditions on edges, its weight in the one and in the other, and the variables' values.

    moving: the variables with which weights move; a loop over another one is followed once.
    """
    for a, b in zip(one, other, strict=True):
        if isinstance(a, For):
            values = range(a.start.at(numbers), a.stop.at(numbers), a.step)
            for value in values if a.name in moving else values[:1]:
                yield from _pairs(a.body, b.body, {**numbers, a.name: value}, edges, moving)
        elif isinstance(a, Store):
            loads = [[p for p in parts_of(s.value) if isinstance(p, Load) and p.buffer == "W"] for s in (a, b)]
            yield from ((edges, *pair, numbers) for pair in zip(*loads, strict=True))
        elif isinstance(a, If):
            # A tap on padding reads no x; its weight is there all the same.
            here = tuple(c for c in a.conditions if isinstance(c, Inside) and c.low is None)
            yield from _pairs(a.body, b.body, numbers, (*edges, *here), moving)
            yield from _pairs(a.otherwise, b.otherwise, numbers, edges, moving)
        else:
            for inner, its in zip(inside(a), inside(b), strict=True):
                yield from _pairs(inner, its, numbers, edges, moving)


# ---- the same small kernel before and after one pass


SAME = conv2d(c=2, h=4, w=6, k=8, r=3, s=3, padding=1)
TILES = "R(k) T(h,4) T(w,2) S(y) T(r,3) T(c,2) U(s,3) U(w,3) V(k,{v})"  # padding at both ends of w, taps r bounded


def around(name: str, problem: Problem = SAME, text: str = TILES, **options) -> tuple[Kernel, Kernel]:
    """The kernel before a pass and after it."""
    found = list(forms_by_name(problem, text, **options).items())
    place = next(place for place, (stage, _) in enumerate(found) if stage == name)
    return found[place - 1][1], found[place][1]


def products(kernel: Kernel, arrays: Arrays) -> int:
    """How many multiplications the interpreter makes of x and w; those of an epilogue count too."""
    made = 0

    def counted(function):
        def multiply(*values):
            nonlocal made
            product = function(*values)
            made += np.size(product)  # lanes side by side make one each
            return product

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
