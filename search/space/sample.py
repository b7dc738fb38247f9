"""Random valid schemes over the grammar that candidates come from, poor schemes included.

The model's rank correlation is measured on them, since a model looks better than it is on its own favourites. Property
tests run them too.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from random import Random

from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import isa_named
from microkernels.tile.microkernel import Microkernel, microkernel_of
from microkernels.tile.space import most_rows
from search.space.panels import with_panels
from search.space.plan import canonical, register_body
from search.space.registers import MOST_STEPS, MOST_VECTORS, Covering, looped_covers, unrollings
from search.space.space import trusted
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.rewrite.copied_rows import in_rows, with_rows
from tiling.scheme.compose import Composition, compositions, divisors
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Specifier, Stage, Tile

# Draws per wanted scheme, before the problem counts as having no more schemes.
PATIENCE = 20


def random_schemes(problem: Problem, machine: Machine, catalog: Catalog, count: int, seed: int) -> tuple[Scheme, ...]:
    """Up to `count` different schemes, fewer where the problem has no more; the same schemes for the same seed.

    Register tiles are drawn whatever their score, except tiles whose measurement failed (score 0).
    """
    random = Random(seed)
    score = trusted(catalog)
    found: dict[str, Scheme] = {}
    for _ in range(count * PATIENCE):
        if len(found) == count:
            break
        scheme = _scheme(random, problem, machine)
        if all(score(kernel) > 0 for kernel in _kernels(scheme, machine)):
            found.setdefault(scheme.text, scheme)
    return tuple(found.values())


def _kernels(scheme: Scheme, machine: Machine) -> Iterator[Microkernel]:
    for tile in scheme.tiles:
        yield microkernel_of(scheme.problem, tile, machine.isa)


def _scheme(random: Random, problem: Problem, machine: Machine) -> Scheme:
    covering = _covering(random, problem, machine)
    unrolled = dict(covering.unrolled)
    inside: list[Specifier] = []
    loops: list[Tile] = []
    for dim in problem.reductions:
        trips = problem.extents[dim] // unrolled.get(dim, 1)
        # A reduction may be cut only where the output's dtype holds sums.
        outer = random.choice(divisors(trips)) if problem.keeps_sums and random.random() < 0.3 else 1
        middle = random.choice(divisors(trips // outer)) if random.random() < 0.2 else 1
        loops.append(Tile(dim, outer))
        inside += [Tile(dim, middle), Tile(dim, trips // outer // middle)]
    random.shuffle(inside)
    for dim, cover in covering.covers:
        left = cover.repeat
        for _ in range(2):
            part = random.choice(divisors(left))
            loops.append(Tile(dim, part))
            left //= part
        loops.append(Tile(dim, left))
    outside: list[Tile | Lambda] = [loop for loop in loops if loop.trips > 1]
    outside += [Lambda(dim, cover.branches) for dim, cover in covering.covers if len(cover.branches) > 1]
    random.shuffle(outside)
    body = register_body(problem, machine.lanes, covering)
    scheme = Scheme(problem, canonical([*_composed_last(outside), Stage(problem.output.name), *inside, *body]))
    copied = (with_rows(problem, scheme),) if in_rows(problem) else ()
    staged = with_panels(scheme, machine.caches[-1].bytes) + copied
    return random.choice(staged) if staged and random.random() < 0.5 else scheme


def _composed_last(loops: list[Tile | Lambda]) -> list[Tile | Lambda]:
    """The same loops, reordered so that the L of a composed dim is the innermost loop over that dim."""
    ordered = list(loops)
    for composed in [loop for loop in loops if isinstance(loop, Lambda)]:
        places = [i for i, loop in enumerate(ordered) if loop.dim == composed.dim]
        group = sorted((ordered[i] for i in places), key=lambda loop: isinstance(loop, Lambda))
        for place, loop in zip(places, group):
            ordered[place] = loop
    return ordered


def _covering(random: Random, problem: Problem, machine: Machine) -> Covering:
    isa = isa_named(machine.isa)
    vectors = -(-problem.extents[problem.vector_dim] // machine.lanes)
    widest = max(v for v in range(1, MOST_VECTORS + 1) if most_rows(isa, v) >= 1)
    covers = {problem.vector_dim: _cover(random, vectors, widest)}
    rows = most_rows(isa, covers[problem.vector_dim].sizes[-1])
    # The innermost row dim is drawn first, so it gets most of the registers.
    for dim in reversed(problem.row_dims):
        covers[dim] = _cover(random, problem.extents[dim], rows)
        rows //= covers[dim].sizes[-1]
    unrolled = random.choice(unrollings(problem))
    looped = [d for d in problem.reductions if d not in dict(unrolled)]
    if looped and random.random() < 0.2:
        dim = looped[0]
        room = MOST_STEPS // prod(extent for _, extent in unrolled)
        part = random.choice([d for d in divisors(problem.extents[dim]) if d <= max(1, room)])
        chosen = dict(unrolled) | ({dim: part} if part > 1 else {})
        unrolled = tuple((d, chosen[d]) for d in problem.reductions if d in chosen)
    return Covering(tuple(sorted((covers | looped_covers(problem)).items())), unrolled, 0.0)


def _cover(random: Random, extent: int, most: int) -> Composition:
    """A random exact cover by one or two sizes of at most `most`."""
    sizes = [random.randint(1, max(1, min(extent, most))) for _ in range(2)]
    found = list(compositions(extent, sizes))
    if found:
        return random.choice(found)
    size = random.choice([d for d in divisors(extent) if d <= max(1, most)])
    return Composition(((1, size),), extent // size)
