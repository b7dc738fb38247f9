"""How often the loops of a scheme visit register tiles and outputs, and change from one tile to another."""

from __future__ import annotations

from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Rest, Stage, Tile


def sweeps(scheme: Scheme) -> int:
    """The number of row dims that tiles walk along before they return to the same pixels for their next channels.

    The channels of a pixel lie side by side in x and y.
    """
    problem, outside = scheme.problem, scheme.specifiers[: scheme.accumulators_at]
    alone = [s for s in outside if isinstance(s, (Rest, Lambda)) or (isinstance(s, Tile) and s.worker is None)]
    loops = [s.dim for s in alone if scheme.iterations(s) > 1]
    if problem.vector_dim not in loops:
        return 0
    return len(set(loops[loops.index(problem.vector_dim) :]) & set(problem.row_dims))


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
    inside = False
    for specifier in scheme.specifiers:
        if isinstance(specifier, Stage):
            inside = inside or specifier.tensor == scheme.problem.output.name
            continue
        if not isinstance(specifier, (Rest, Tile)):
            continue
        trips = scheme.iterations(specifier)
        if inside:
            steps *= trips
            last = trips if trips > 1 else last
        else:
            visits *= trips
            if specifier.dim in scheme.problem.reductions:
                passes *= trips
    return visits, steps, last, passes
