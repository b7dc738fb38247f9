"""Random valid schemes over the grammar that candidates come from, poor ones included.

They are what the model's rank correlation is measured on, and what property tests run: a model that is only ever
asked about its own favourites looks better than it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from random import Random

from microkernels.catalog import Catalog
from microkernels.isa import isa_named
from microkernels.microkernel import Microkernel, microkernel_of
from microkernels.space import most_rows
from search.panels import with_panels
from search.registers import MOST_STEPS, MOST_VECTORS, RegisterTile, looped_covers, unrollings
from search.space import canonical, register_body, trusted
from tiling.compose import Composition, compositions, divisors
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.scheme import Lambda, Scheme, Specifier, Stage, Tile

# Draws for each scheme asked for before a problem counts as having no more of them.
PATIENCE = 20


def random_schemes(problem: Problem, machine: Machine, catalog: Catalog, count: int, seed: int) -> tuple[Scheme, ...]:
    """Up to `count` different schemes (fewer where the problem has no more), the same for the same seed.

    Register tiles are drawn whatever their score, only not such as failed to be measured (score 0).
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
    tile = _register_tile(random, problem, machine)
    unrolled = dict(tile.unrolled)
    inside: list[Specifier] = []
    outside: list[Specifier] = []
    for dim in problem.reductions:
        trips = problem.extents[dim] // unrolled.get(dim, 1)
        # Sums wait only in an output that holds them.
        outer = random.choice(divisors(trips)) if problem.keeps_sums and random.random() < 0.3 else 1
        middle = random.choice(divisors(trips // outer)) if random.random() < 0.2 else 1
        outside.append(Tile(dim, outer))
        inside += [Tile(dim, middle), Tile(dim, trips // outer // middle)]
    random.shuffle(inside)
    for dim, cover in tile.covers:
        left = cover.repeat
        for _ in range(2):
            part = random.choice(divisors(left))
            outside.append(Tile(dim, part))
            left //= part
        outside.append(Tile(dim, left))
    outside = [tile_ for tile_ in outside if tile_.trips > 1]
    outside += [Lambda(dim, cover.branches) for dim, cover in tile.covers if len(cover.branches) > 1]
    random.shuffle(outside)
    body = register_body(problem, machine.lanes, tile)
    scheme = Scheme(problem, canonical([*_composed_last(outside), Stage(problem.output.name), *inside, *body]))
    staged = with_panels(scheme, machine.caches[-1].bytes)
    return random.choice(staged) if staged and random.random() < 0.5 else scheme


def _composed_last(loops: list[Specifier]) -> list[Specifier]:
    """The same loops, those of a composed dim in such an order that its L is the innermost of them."""
    ordered = list(loops)
    for composed in [loop for loop in loops if isinstance(loop, Lambda)]:
        places = [i for i, loop in enumerate(ordered) if loop.dim == composed.dim]
        group = sorted((ordered[i] for i in places), key=lambda loop: isinstance(loop, Lambda))
        for place, loop in zip(places, group):
            ordered[place] = loop
    return ordered


def _register_tile(random: Random, problem: Problem, machine: Machine) -> RegisterTile:
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
    return RegisterTile(tuple(sorted((covers | looped_covers(problem)).items())), unrolled, 0.0)


def _cover(random: Random, extent: int, most: int) -> Composition:
    """A random exact cover by one size or two, of at most `most`."""
    sizes = [random.randint(1, max(1, min(extent, most))) for _ in range(2)]
    found = list(compositions(extent, sizes))
    if found:
        return random.choice(found)
    size = random.choice([d for d in divisors(extent) if d <= max(1, most)])
    return Composition(((1, size),), extent // size)
