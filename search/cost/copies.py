"""The time that a kernel's copy of x adds to its loops."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from search.cost.costs import COSTS
from search.cost.predict import Prediction, bandwidth
from search.cost.volume import tasks
from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import PIXELS
from tiling.loops.lowering.prefetch_plan import plan_prefetches, prefetched
from tiling.machine import Machine
from tiling.problem import Problem
from tiling.rewrite.dot_groups import copies, scheme_in_dot_groups, strip_of
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Rest, Stage, Tile


def after_copy(prediction: Prediction, scheme: Scheme, machine: Machine) -> Prediction:
    """Adds the copy of x, made first or strip by strip, to the prediction of a scheme's loops."""
    if not copies(scheme):
        return prediction
    count = _of_strips if strip_of(scheme) else _whole
    copy = count(scheme, machine, prediction.threads)
    return replace(prediction, seconds=prediction.seconds + copy, copy=copy)


def _whole(scheme: Scheme, machine: Machine, threads: int) -> float:
    """Seconds to copy all of x, at the bandwidth of the innermost cache that holds x and its copy.

    The threads share the work; at most as many take part as there are core tasks (`cpu.codegen.emit`).
    """
    size = _bytes(scheme.problem) + _bytes(scheme_in_dot_groups(scheme).problem)
    return size / bandwidth(machine, size) / min(threads, tasks(scheme))


def _of_strips(scheme: Scheme, machine: Machine, threads: int) -> float:
    """Seconds to copy x strip by strip.

    x is read from the innermost cache that holds it twice, mostly while tiles compute if they prefetch it
    (`tiling.loops.lowering.prefetch_plan`). Each strip is written where the strip before it was. Neighbouring strips
    overlap by the reach of a window. Loops around a strip over anything but images and pixels repeat all strips.
    """
    dots, place = scheme_in_dot_groups(scheme), scheme.specifiers.index(Stage(scheme.problem.broadcast.name))
    around = [s for s in scheme.specifiers[:place] if isinstance(s, (Rest, Tile, Lambda))]
    outside = [s for s in around if s.dim not in (scheme.problem.row_dims[0], PIXELS)]
    flat, x = dots.problem.flat_pixels, _bytes(scheme.problem)
    assert flat  # a scheme that copies strips has its pixels as one dim
    times = (1 + flat.reach / flat.strip) * float(prod(scheme.iterations(s) for s in outside))
    count = tasks(scheme)
    waiting = COSTS.in_tiles if "x" in prefetched(plan_prefetches(dots)) else 1.0
    once = waiting * x / bandwidth(machine, 2 * x) + x / bandwidth(machine, _bytes(dots.problem))
    return once * times * -(-count // threads) / count


def _bytes(problem: Problem) -> int:
    """Bytes of x."""
    return problem.broadcast.elements * access_of(problem).bytes_of(problem.broadcast)
