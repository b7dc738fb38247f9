"""Why a candidate won: a table of the parts of the predicted times, and the reasons as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from search.cost.cache_conflicts import whole
from search.cost.predict import Prediction
from search.space.space import Candidate
from tiling.arrays.access import access_of
from tiling.durations import microseconds
from tiling.machine import Machine
from tiling.rewrite.copied_rows import copies_rows, scheme_in_rows
from tiling.rewrite.copies.strips import copies_flat_pixels, strip_of
from tiling.rewrite.dot_groups import copies, dot_group_of, numbers_per_lane, padded_window, points_of
from tiling.rewrite.parts import shared_sum
from tiling.scheme.specifiers import Stage, Tile

RUNNERS_UP = 4


def explain(chosen: Candidate, runners_up: Sequence[Candidate], machine: Machine) -> str:
    """A plain-text report: one row per candidate, their schemes, and one sentence on the chosen one."""
    candidates = [chosen, *runners_up]
    flops = chosen.scheme.problem.flops
    rows = [_header(machine)]
    for place, candidate in enumerate(candidates):
        rows.append(_row("chosen" if place == 0 else f"#{place + 1}", candidate.prediction, flops))
    schemes = [f"{row[0]:>6}  {candidate.scheme.text}" for row, candidate in zip(rows[1:], candidates)]
    threads = chosen.prediction.threads
    head = [f"What the busiest of {threads} cores computes and moves:"] if threads > 1 else []
    return "\n".join([*head, *aligned(rows), "", *schemes, "", reason(chosen, runners_up, machine)])


def reason(chosen: Candidate, runners_up: Sequence[Candidate], machine: Machine) -> str:
    """What limits the chosen scheme, how often each tensor is moved, and what the next best one does worse."""
    clauses = "; ".join([*_computed(chosen, machine), *_waits(chosen), *_moved(chosen)])
    return f"{clauses}. {_difference(chosen.prediction, runners_up[0].prediction)}." if runners_up else f"{clauses}."


def _computed(chosen: Candidate, machine: Machine) -> Iterator[str]:
    """What limits the scheme, where its sums stay, and whether x is copied first."""
    prediction, reductions = chosen.prediction, _reduced_inside(chosen)
    if prediction.bottleneck == "compute":
        yield f"Arithmetic limits it{_share(prediction.compute, prediction)}"
    else:
        level = [moved.level for moved in prediction.traffic].index(prediction.bottleneck)
        way = f"The way from {_sources(machine)[level]} to {prediction.bottleneck} limits it"
        yield way + _share(prediction.movement[level], prediction)
    held = chosen.scheme.problem.output.name
    stays = f"{held} stays in registers over {' '.join(reductions)}" if reductions else f"{held} is stored once"
    # The time of a copy stands behind the sentence on it.
    took = _share(prediction.copy, prediction) if prediction.copy else ""
    if copied := _copied(chosen):
        yield stays
        yield copied + took
    else:
        yield stays + took


def _copied(chosen: Candidate) -> str:
    """How x is copied, and why; empty where it is read as it lies."""
    problem = chosen.scheme.problem
    access, x = access_of(problem), problem.broadcast.name
    if access.transposes_x or copies_rows(chosen.scheme):
        read = access.as_read if access.transposes_x else scheme_in_rows(chosen.scheme).problem
        return f"{x} is copied first, {read.broadcast.indices[-1]} last"
    if not copies(chosen.scheme):
        return ""
    dot = dot_group_of(chosen.scheme)
    assert dot  # narrow numbers are copied where they stand in groups
    zeros = dot.points > numbers_per_lane(problem) and padded_window(problem) and len(dot.dim) == 1
    padded = zeros or copies_flat_pixels(chosen.scheme)
    why = "with zeros for its padding" if padded else f"so that dot groups lie along {dot.dim}"
    return f"{x} is copied {'strip by strip' if strip_of(chosen.scheme) else 'first'}, {why}"


def _waits(chosen: Candidate) -> Iterator[str]:
    """What takes time beside arithmetic and the caches, and what else the scheme does."""
    prediction, scheme, problem = chosen.prediction, chosen.scheme, chosen.scheme.problem
    if prediction.left:
        yield f"tiles wait for lines that they left for later{_share(prediction.left, prediction)}"
    if prediction.apart:
        yield f"cores wait for lines that others wrote{_share(prediction.apart, prediction)}"
    if prediction.unaligned:
        copied = f"an {problem.broadcast.name} that does not begin with a cache line is copied first"
        yield f"{copied}, which takes {microseconds(prediction.unaligned)} more"
    if shared := shared_sum(scheme):
        parts = f"cores add up {shared.trips} parts of each sum over {shared.dim}"
        yield parts + _share(prediction.addition, prediction)
    if points_of(scheme):
        yield "tiles run on over the ends of an image's rows"
    if access_of(problem).weights_broadcast and Stage(problem.vector.name) in scheme.specifiers:
        yield f"{problem.vector.name} is packed on the way, for the tiles that read it again"


def _moved(chosen: Candidate) -> Iterator[str]:
    """How often each tensor comes into each cache."""
    prediction, sizes = chosen.prediction, whole(chosen.scheme.problem)
    of_one = " of a core" if prediction.threads > 1 else ""
    for moved in prediction.traffic:
        if moved.total:
            times = ", ".join(f"{name} {amount / sizes[name]:.1f}×" for name, amount in moved.moved)
            yield f"into {moved.level}{of_one} come {times} its size"
    if prediction.traffic and not prediction.traffic[-1].total:
        yield f"{prediction.traffic[-1].level} holds everything between calls"


def _share(seconds: float, prediction: Prediction) -> str:
    """A part of the predicted time, in brackets."""
    return f" ({seconds / prediction.seconds:.0%} of the time)"


def _difference(best: Prediction, other: Prediction) -> str:
    """A sentence on the part that slows the next candidate down most."""
    slower = other.seconds / best.seconds - 1
    if -0.01 < slower < -0.001:
        return f"The next candidate is predicted {-slower:.1%} faster, too little for the model to tell them apart"
    if slower < -0.001:
        return f"The model would have taken the next one, predicted {-slower:.1%} faster; measured, it was not"
    if slower < 0.001:
        return "The next candidate is predicted equal, so only a measurement can tell them apart"
    parts = {"arithmetic": other.compute - best.compute, "overhead": other.overhead - best.overhead}
    for moved, mine, theirs in zip(other.traffic, best.movement, other.movement):
        parts[f"traffic into {moved.level}"] = theirs - mine
    parts["lines left for later"] = other.left - best.left
    parts["lines of other cores"] = other.apart - best.apart
    worst = max(parts, key=lambda part: parts[part])
    return f"The next candidate is predicted {slower:.1%} slower, most of all by its {worst}"


def _reduced_inside(candidate: Candidate) -> list[str]:
    specifiers = candidate.scheme.specifiers
    problem = candidate.scheme.problem
    loops = [s.dim for s in specifiers[candidate.scheme.accumulators_at :] if isinstance(s, Tile)]
    unrolled = [dim for dim, units in candidate.scheme.tiles[0].items() if dim[0] in problem.reductions and units > 1]
    return list(dict.fromkeys([*loops, *unrolled]))


def _sources(machine: Machine) -> list[str]:
    return [cache.name for cache in machine.caches[1:]] + ["memory"]


def _header(machine: Machine) -> list[str]:
    cells = ["", "time", "speed", "compute", "overhead"]
    for cache, source in zip(machine.caches, _sources(machine)):
        cells += [f"{source}→{cache.name}", "time"]
    return [*cells, "limited by"]


def _row(name: str, prediction: Prediction, flops: int) -> list[str]:
    rate = f"{flops / prediction.seconds / 1e9:.0f} GFLOP/s"
    cells = [
        name,
        microseconds(prediction.seconds),
        rate,
        microseconds(prediction.compute),
        microseconds(prediction.overhead),
    ]
    for moved, seconds in zip(prediction.traffic, prediction.movement):
        cells += [f"{moved.total / 1e6:.2f} MB", microseconds(seconds)]
    return [*cells, prediction.bottleneck]


def aligned(rows: list[list[str]]) -> list[str]:
    """The lines of a table, every column as wide as its widest cell."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
