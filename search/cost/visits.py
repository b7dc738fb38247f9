"""How often the loops of a scheme visit register tiles and outputs, and change from one tile to another."""

from __future__ import annotations

from collections.abc import Sequence

from tiling.loops.lowering.prefetch.plan import plan_prefetches
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Rest, Specifier, Stage, Tile


def sweeps(scheme: Scheme) -> int:
    """The number of row dims that tiles walk along before they come to what lies beside their pixels in memory.

    The channels of a pixel lie side by side in x and y, so these are the row dims inside a loop over channels, which
    cores may share. The pixels of a row follow, so these are also the row dims inside a core's loop over one that moves
    less far.
    """
    problem, outside = scheme.problem, scheme.specifiers[: scheme.accumulators_at]
    loops = [s for s in outside if isinstance(s, (Rest, Lambda, Tile)) and scheme.iterations(s) > 1]
    shared = [s for s in loops if isinstance(s, Tile) and s.worker and s.dim != problem.vector_dim]
    dims = [s.dim for s in loops if s not in shared]
    nearer = {dim: {problem.vector_dim, *problem.row_dims[n + 1 :]} for n, dim in enumerate(problem.row_dims)}
    return len({dim for place, dim in enumerate(dims) if dim in nearer and nearer[dim] & set(dims[:place])})


def changes_of_tile(scheme: Scheme) -> float:
    """How often a register tile follows a tile of another size.

    That is whenever the loops go on to the next branch of λ, or begin again with the first.
    """
    times, changes = 1, 0.0
    for specifier in scheme.specifiers:
        if isinstance(specifier, Lambda):
            sizes = len(specifier.branches)
            changes += times * sizes if sizes > 1 else 0
        if isinstance(specifier, (Rest, Tile, Lambda)):
            times *= scheme.iterations(specifier)
        elif isinstance(specifier, Stage) and specifier.tensor == scheme.problem.output.name:
            break
    return changes


def trips_of(scheme: Scheme) -> tuple[float, float, float, float]:
    """Visits to a register tile, reduction steps of a visit, trips of the innermost loop, passes over each output.

    The counts of λ's branches are not among the visits.
    """
    visits = steps = last = passes = 1.0
    stored = _stored_at(scheme)
    for place, specifier in enumerate(scheme.specifiers):
        if not isinstance(specifier, (Rest, Tile)):
            continue
        trips = scheme.iterations(specifier)
        if place >= stored:
            steps *= trips
            last = trips if trips > 1 else last
        else:
            visits *= trips
            if specifier.dim in scheme.problem.reductions:
                passes *= trips
    return visits, steps, last, passes


def _stored_at(scheme: Scheme) -> int:
    """The place of the loop around which sums are loaded and stored.

    Loops over reductions directly around S(output) visit the same tile again, so compilers keep its sums in registers.
    There are two exceptions: where taps may lie on padding, a tile has several cases; where tiles prefetch, a compiler
    cannot tell their cursors in memory from the sums.
    """
    problem, inner = scheme.problem, scheme.accumulators_at
    place = inner
    while place and _returns(scheme, scheme.specifiers[place - 1]):
        place -= 1
    again = any(scheme.iterations(loop) > 1 for loop in _loops(scheme.specifiers[place:inner]))
    if not again or problem.inside_fraction < 1:
        return inner
    return inner if any(plan.pieces for plan in plan_prefetches(scheme)) else place


def _loops(specifiers: Sequence[Specifier]) -> list[Rest | Tile]:
    return [specifier for specifier in specifiers if isinstance(specifier, (Rest, Tile))]


def _returns(scheme: Scheme, specifier: Specifier) -> bool:
    """Whether a loop over reductions, or of one trip, leads to the same outputs again."""
    return isinstance(specifier, (Rest, Tile)) and (
        specifier.dim in scheme.problem.reductions or scheme.iterations(specifier) == 1
    )
