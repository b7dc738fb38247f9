"""Small random kernels of every kind that passes know, which the interpreter runs in a moment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import prod
from random import Random

import numpy as np

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from microkernels.tile.isa import EVERY_ISA, ISAS, Isa
from tests.support.kernels import random_cases
from tests.support.loops.loops import of_numbers
from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import passes_gaps
from tiling.dtypes.products import LANE_BYTES, OUTPUT_BYTES, OUTPUT_DTYPES
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.meaning.memory import NUMPY
from tiling.operators import LAYOUTS, conv2d, matmul
from tiling.problem import Problem
from tiling.rewrite.copies.laid_out import lower_points
from tiling.rewrite.copies.strips import strip_of
from tiling.rewrite.dot_groups import scheme_in_dot_groups, uses_matrix_instructions
from tiling.rewrite.grouped import beside_each_other
from tiling.rewrite.pointwise import along_pixels
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse

# Enough for every pass to have its say; more only takes the interpreter longer.
MOST_PRODUCTS = 400


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
        return list(product_forms(facts_of_scheme(self.given, self.isa, self.stream, threads)))

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
