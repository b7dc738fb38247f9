"""Random valid schemes of random problems, wilder than any that the search proposes.

Drawn through a `random.Random`: a seeded one in the long run (`tests.exactness`), hypothesis's own in the quick tests,
which then shrinks what fails.
"""

from __future__ import annotations

import shlex
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from random import Random

from microkernels.tile.isa import Isa, isa_named
from microkernels.tile.matrix import registers_of, runs_of
from tests.support.kernels.random_problems import followed, problem, transformable, volume
from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import FOUR_TILES, flat_pixels_of, unsupported_reason
from tiling.loops.lowering.nest import Loop, Node, RegisterTile, nest_of
from tiling.problem import Problem
from tiling.rewrite.copies.strips import copies_flat_pixels
from tiling.rewrite.copies.strips import unsupported_reason as refused_strip
from tiling.rewrite.dot_groups import (
    in_dot_groups,
    is_narrow,
    matrix_dot_group,
    numbers_per_lane,
    scheme_from_dot_groups,
)
from tiling.rewrite.parts import unshared_reason
from tiling.rewrite.pointwise import along_pixels
from tiling.rewrite.winograd.algorithm import SIZES, Winograd, product_problem, tile_grid
from tiling.scheme.compose import divisors
from tiling.scheme.counts import dot_groups_of_window
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import (
    DotGroup,
    Lambda,
    Rest,
    Specifier,
    Stage,
    Tile,
    Unroll,
    Vector,
)
from tiling.text.shapes import canonical

# FMAs written into one step of a tile function: more only takes the compiler longer.
MOST_UNROLLED = 160


@dataclass(frozen=True)
class Case:
    """A scheme and how its kernel is built; far: as if all arrays were large, so that tiles prefetch."""

    scheme: Scheme | Winograd
    isa: str
    threads: int
    stream: bool
    far: bool = False

    @property
    def command(self) -> str:
        """The line that builds this kernel again and checks it at every place beside guard pages."""
        problem = self.scheme.problem
        words = ["--op", problem.op, "--shape", canonical(problem), "--scheme", self.scheme.text]
        words += ["--isa", self.isa, "--threads", str(self.threads), *(["--stream"] if self.stream else [])]
        words += ["--far"] if self.far else []
        return shlex.join(["python", "-m", "tests.exactness", *words])


def case(random: Random, isas: tuple[str, ...], threads: tuple[int, ...] = (1, 1, 2, 3), volumes: bool = False) -> Case:
    """A random problem, scheme, instruction set and number of threads; of f32 one in eight is of Winograd's algorithm,
    and with `volumes` one in ten of volumes.
    """
    isa = isa_named(random.choice(isas))
    if isa.dtype == "f32" and random.random() < 0.125:
        found = winograd(random, followed(random, transformable(random)), isa)
    elif volumes and isa.dtype == "f32" and random.random() < 0.1:
        found = scheme(random, along_pixels(followed(random, volume(random)), isa.lanes), isa)
    else:
        found = scheme(random, along_pixels(followed(random, problem(random, isa)), isa.lanes), isa)
    return Case(found, isa.name, random.choice(threads), random.random() < 0.3, random.random() < 0.5)


# ---- schemes


def scheme(random: Random, problem: Problem, isa: Isa) -> Scheme:
    """A random scheme that the CPU emitter takes.

    Loops over a dim are split at will and stand in any order on either side of S(output), reductions too; output dims
    may be composed of two or three branches, with loops over the same dim outside and inside the composition; the
    outermost loops may be handed to cores, also parts of a sum. A scheme of narrow numbers is one for their dot groups,
    along either of the dims that dot groups may run along. With blocks the pixels of an image are often one dim, and x
    is copied strip by strip.
    """
    dot = _dot(random, problem, isa)
    narrow, problem = problem, in_dot_groups(problem, dot, _points(random, problem, dot))
    units = dict(problem.extents)
    units[problem.vector_dim] = -(-units[problem.vector_dim] // isa.lanes)
    cores: list[Specifier] = []
    chains: list[list[Specifier]] = []
    unrolled: list[Specifier] = []
    room = random.choice((8, isa.registers, 96)) if access_of(problem).by_matrix else isa.registers
    outputs = [problem.vector_dim, *(dim for dim in problem.row_dims if not (problem.flat_pixels and dim == "h"))]
    random.shuffle(outputs)
    for dim in outputs:
        exact = problem.flat_pixels is None or dim != "w" or units[dim] == problem.flat_pixels.points
        core, chain, body, largest = _output(random, dim, units[dim], room, exact)
        cores += core
        chains.append(chain)
        unrolled += body
        room //= largest
    for dim in problem.looped_dims:
        core = random.choice(divisors(units[dim])) if random.random() < 0.25 else 1
        cores += [Tile(dim, core, "core")] if core > 1 else []
        chains.append(_tiles(random, dim, units[dim] // core))
    shared = _shared_sum(random, problem)
    cores += shared
    random.shuffle(cores)
    left = {loop.dim: problem.extents[loop.dim] // loop.trips for loop in shared}
    outside, inside, steps = _reductions(random, problem, left, MOST_UNROLLED * room // isa.registers)
    loops = _interleaved(random, [*chains, *([loop] for loop in outside)])
    random.shuffle(inside)
    unrolled += steps
    random.shuffle(unrolled)
    stage = Stage(problem.output.name)
    if access_of(problem).weights_broadcast and random.random() < 0.5:
        loops = _staged(random, problem, loops)
    found = Scheme(problem, (*cores, *loops, stage, *inside, *unrolled, Vector(problem.vector_dim, isa.lanes)))
    if access_of(problem).by_matrix and not all(_fits(tile, problem, isa) for tile in found.tiles):
        return scheme(random, narrow, isa)
    found = scheme_from_dot_groups(narrow, found, dot)
    return _in_strips(random, found) if copies_flat_pixels(found) and random.random() < 0.5 else found


def _in_strips(random: Random, found: Scheme) -> Scheme:
    """The scheme with S(x) at one of the places where it may stand, if there is one."""
    stage, specifiers = Stage(found.problem.broadcast.name), found.specifiers
    cores = sum(getattr(s, "worker", None) == "core" for s in specifiers)
    places = range(cores, found.accumulators_at + 1)
    staged = [Scheme(found.problem, (*specifiers[:place], stage, *specifiers[place:])) for place in places]
    return random.choice([s for s in staged if refused_strip(s) is None] or [found])


def _staged(random: Random, problem: Problem, loops: list[Specifier]) -> list[Specifier]:
    """The loops with x staged around one over rows at least, where there is such a loop."""
    rows = [place for place, loop in enumerate(loops) if loop.dim in problem.row_dims]
    place = random.randint(0, rows[-1]) if rows else len(loops)
    return [*loops[:place], Stage(problem.vector.name), *loops[place:]] if rows else loops


def _dot(random: Random, problem: Problem, isa: Isa) -> DotGroup | None:
    """A D along either of the dims that dot groups may lie along; for matrix instructions often a long one."""
    access = access_of(problem)
    dims = random.choice([found for found in (access.dot_dim, access.window_dims) if found] or [""])
    if not dims or not is_narrow(problem):
        return None
    numbers = numbers_per_lane(problem)
    if isa.matrix and matrix_dot_group(problem) and random.random() < 0.9:
        sizes = [2, 3, 11, 15, 16, 16, 16]
        if dims == access.window_dims:
            sizes = [size for size in range(2, 17) if dot_groups_of_window(problem) % size == 0]
        return random.choice(
            (matrix_dot_group(problem), *(DotGroup(dims, numbers * random.choice(sizes)) for _ in sizes[:1]))
        )
    return DotGroup(dims, numbers)


def _points(random: Random, problem: Problem, dot: DotGroup | None) -> int:
    """How many flattened pixels are computed where the pixels of an image are one dim, a few too many now and then;
    0 where they are not.
    """
    blocked = dot is not None and dot.dim == access_of(problem).dot_dim and dot.points > numbers_per_lane(problem)
    if not blocked or unsupported_reason(problem) or random.random() < 0.3:
        return 0
    flat = flat_pixels_of(problem)
    return flat.points + (random.choice((0, random.randrange(FOUR_TILES))) if flat.padded else 0)


def _fits(tile: dict[str, int], problem: Problem, isa: Isa) -> bool:
    runs = tuple(run.count for run in runs_of(problem, tile, isa.matrix.rows))
    return registers_of(isa.matrix, runs, tile[problem.vector_dim]) is not None


def winograd(random: Random, problem: Problem, isa: Isa) -> Winograd:
    """Winograd's algorithm in random blocks, their products by a random scheme; blocks, not products, go
    to the cores.
    """
    m = random.choice(SIZES)
    block = random.randint(1, min(24, problem.extents["n"] * prod(tile_grid(problem, m))))
    channels = random.randint(1, -(-problem.extents["k"] // isa.lanes)) * isa.lanes
    found = scheme(random, product_problem(problem, block, channels), isa)
    loops = (replace(s, worker=None) if isinstance(s, Tile) else s for s in found.specifiers)
    return Winograd(problem, m, block, channels, Scheme(found.problem, tuple(loops)))


def _output(random: Random, dim: str, units: int, room: int, exact: bool):
    """The loops of an output dim: core loops, loops in this order, unrolled loops, and the most units unrolled.

    exact: whether `units` covers the dim exactly, so that an R loop has some left.
    """
    core = random.choice(divisors(units)) if random.random() < 0.25 else 1
    left = units // core
    repeat = random.choice(divisors(left))
    branches = _branches(random, left // repeat, room) if left > repeat and random.random() < 0.4 else ()
    if branches:
        # A loop inside the composition runs over the tiles of each of its branches.
        inner, branches = _inner(random, branches)
        chain = [*_tiles(random, dim, repeat), Lambda(dim, branches), *_tiles(random, dim, inner)]
        body, largest = [Unroll(dim, None)], max(size for _, size in branches)
    else:
        size = random.choice([d for d in divisors(left) if d <= room])
        chain = _tiles(random, dim, left // size)
        parts = _split(random, size)
        body, largest = [Unroll(dim, part) for part in parts if part > 1], size
    if chain and core == 1 and exact and isinstance(chain[0], Tile) and random.random() < 0.4:
        chain[0] = Rest(dim)
    return ([Tile(dim, core, "core")] if core > 1 else []), chain, body, largest


def _branches(random: Random, units: int, room: int) -> tuple[tuple[int, int], ...]:
    """(count, size) of one to three branches that cover the units, sizes within the room."""
    parts = []
    for _ in range(random.choice((0, 1, 1, 2))):
        if units > 1:
            parts.append(random.randint(1, units - 1))
            units -= parts[-1]
    sizes = [(part, random.choice([d for d in divisors(part) if d <= room])) for part in (*parts, units)]
    return tuple((part // size, size) for part, size in sizes)


def _inner(random: Random, branches) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Takes a factor that every branch's count has out of the counts."""
    common = [d for d in divisors(branches[0][0]) if all(count % d == 0 for count, _ in branches)]
    inner = random.choice(common)
    return inner, tuple((count // inner, size) for count, size in branches)


def _shared_sum(random: Random, problem: Problem) -> list[Tile]:
    """A loop that hands parts of a sum to cores, now and then."""
    dims = [dim for dim in problem.reductions if not unshared_reason(problem, dim)]
    if not dims or random.random() < 0.75:
        return []
    count = random.choice(divisors(problem.extents[dims[0]]))
    return [Tile(dims[0], count, "core")] if count > 1 else []


def _reductions(random: Random, problem: Problem, left: dict[str, int], room: int):
    """Loops outside and inside S(output), outside only where sums may wait in it, and unrolled ones, of the summed
    dims. left: the points of one that cores share.
    """
    outside, inside, unrolled = [], [], []
    for dim in problem.reductions:
        extent = left.get(dim, problem.extents[dim])
        steps = (
            random.choice([d for d in divisors(extent) if d <= max(1, min(8, room))]) if random.random() < 0.5 else 1
        )
        steps = extent if dim == access_of(problem).exchange_dim else steps
        room //= steps
        unrolled += [Unroll(dim, steps)] if steps > 1 else []
        for part in _split(random, extent // steps):
            (outside if problem.keeps_sums and random.random() < 0.25 else inside).append(Tile(dim, part))
    return outside, inside, unrolled


def _tiles(random: Random, dim: str, trips: int) -> list[Specifier]:
    return [Tile(dim, part) for part in _split(random, trips) if part > 1 or random.random() < 0.1]


def _split(random: Random, number: int) -> list[int]:
    """One to three factors whose product it is."""
    parts = []
    for _ in range(random.choice((0, 0, 1, 2))):
        parts.append(random.choice(divisors(number // prod(parts))))
    return [*parts, number // prod(parts)]


def _interleaved(random: Random, chains: list[list[Specifier]]) -> list[Specifier]:
    """The loops of all chains in a random order that keeps each chain's own."""
    chains = [list(chain) for chain in chains if chain]
    loops = []
    while chains:
        chain = random.choice(chains)
        loops.append(chain.pop(0))
        chains = [chain for chain in chains if chain]
    return loops


# ---- coverage


def visits(scheme: Scheme) -> Counter[tuple[int, ...]]:
    """How often the nest of a scheme comes to each point, found by walking its loops; masked lanes are no points."""
    problem = scheme.problem
    found: Counter[tuple[int, ...]] = Counter()

    def walk(nodes: tuple[Node, ...], at: dict[str, int]) -> None:
        for node in nodes:
            if isinstance(node, RegisterTile):
                ends = {dim: at[dim] + points for dim, points in node.points}
                ends[problem.vector_dim] = min(ends[problem.vector_dim], problem.extents[problem.vector_dim])
                found.update(product(*(range(at[dim], end) for dim, end in ends.items())))
            elif isinstance(node, Loop):
                for trip in range(node.trips):
                    walk(node.body, {**at, node.dim: at[node.dim] + node.start + trip * node.step})
            else:
                walk(node.body, at)

    walk(nest_of(scheme), dict.fromkeys(problem.extents, 0))
    return found
