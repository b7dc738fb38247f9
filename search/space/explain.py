"""Why a candidate won: a table of the parts of the predicted times, and the reasons as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from search.cost.cache_conflicts import whole
from search.cost.predict import Prediction
from search.space.space import Candidate
from tiling.arrays.access import access_of
from tiling.durations import microseconds
from tiling.machine import Machine
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
    prediction, problem = chosen.prediction, chosen.scheme.problem
    sources = _sources(machine)
    if prediction.bottleneck == "compute":
        share = prediction.compute / prediction.seconds
        text = f"Arithmetic limits it ({share:.0%} of the time)"
    else:
        level = [moved.level for moved in prediction.traffic].index(prediction.bottleneck)
        text = f"The way from {sources[level]} to {prediction.bottleneck} limits it"
        text += f" ({prediction.movement[level] / prediction.seconds:.0%} of the time)"
    held = problem.output.name
    reductions = _reduced_inside(chosen)
    text += f"; {held} stays in registers over {' '.join(reductions)}" if reductions else f"; {held} is stored once"
    access = access_of(problem)
    if access.transposes_x:
        text += f"; {problem.broadcast.name} is copied first, {access.as_read.broadcast.indices[-1]} last"
    elif copies(chosen.scheme):
        dot = dot_group_of(chosen.scheme)
        assert dot  # narrow numbers are copied where they stand in groups
        zeros = dot.points > numbers_per_lane(problem) and padded_window(problem) and len(dot.dim) == 1
        why = (
            "with zeros for its padding"
            if zeros or copies_flat_pixels(chosen.scheme)
            else f"so that dot groups lie along {dot.dim}"
        )
        when = "strip by strip" if strip_of(chosen.scheme) else "first"
        text += f"; {problem.broadcast.name} is copied {when}, {why}"
    if prediction.copy:
        text += f" ({prediction.copy / prediction.seconds:.0%} of the time)"
    if prediction.left:
        share = prediction.left / prediction.seconds
        text += f"; tiles wait for lines that they left for later ({share:.0%} of the time)"
    if prediction.unaligned:
        text += f"; an {problem.broadcast.name} that does not begin with a cache line is copied first, which takes "
        text += f"{microseconds(prediction.unaligned)} more"
    if shared := shared_sum(chosen.scheme):
        text += f"; cores add up {shared.trips} parts of each sum over {shared.dim}"
        text += f" ({prediction.addition / prediction.seconds:.0%} of the time)"
    if points_of(chosen.scheme):
        text += "; tiles run on over the ends of an image's rows"
    if access_of(problem).weights_broadcast and Stage(problem.vector.name) in chosen.scheme.specifiers:
        text += f"; {problem.vector.name} is packed on the way, for the tiles that read it again"
    sizes = whole(problem)
    for moved in prediction.traffic:
        if moved.total:
            times = ", ".join(f"{name} {amount / sizes[name]:.1f}×" for name, amount in moved.moved)
            of_one = " of a core" if prediction.threads > 1 else ""
            text += f"; into {moved.level}{of_one} come {times} its size"
    if prediction.traffic and not prediction.traffic[-1].total:
        text += f"; {prediction.traffic[-1].level} holds everything between calls"
    if runners_up:
        text += f". {_difference(prediction, runners_up[0].prediction)}"
    return text + "."


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
