"""The time that a kernel's copy of x adds to its loops."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from search.cost.costs import COSTS
from search.cost.predict import Prediction, bandwidth
from search.cost.volume import tasks
from tiling.arrays.flat_pixels import PIXELS
from tiling.loops.lowering.prefetch.plan import plan_prefetches, prefetched
from tiling.machine import Machine
from tiling.rewrite.copies.plan import STRIPS, CopyPlan, plan_copy
from tiling.rewrite.copies.strips import strip_of
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Rest, Stage, Tile


def after_copy(prediction: Prediction, scheme: Scheme, machine: Machine) -> Prediction:
    """Adds the copy of x, made first or strip by strip, to the prediction of a scheme's loops.

    A prediction is for a call whose x begins with a cache line, as in every measurement and every model. A copy that
    only other calls make is a field of its own.
    """
    plan = plan_copy(scheme)
    if plan is None:
        return prediction
    count = _of_strips if plan.kind == STRIPS else _whole
    copy = count(plan, scheme, machine, prediction.threads)
    if not plan.always:
        return replace(prediction, unaligned=copy)
    return replace(prediction, seconds=prediction.seconds + copy, copy=copy)


def _whole(plan: CopyPlan, scheme: Scheme, machine: Machine, threads: int) -> float:
    """Seconds to copy all of x, at the bandwidth of the innermost cache that holds x and its copy.

    The threads share the work; at most as many take part as there are core tasks (`cpu.codegen.emit`).
    """
    size = plan.read + plan.written
    return size / bandwidth(machine, size) / min(threads, tasks(scheme))


def _of_strips(plan: CopyPlan, scheme: Scheme, machine: Machine, threads: int) -> float:
    """Seconds to copy x strip by strip.

    x is read from the innermost cache that holds it twice, mostly while tiles compute if they prefetch it
    (`tiling.loops.lowering.prefetch.plan`). Each strip is written where the strip before it was. Neighbouring strips
    overlap by the reach of a window. Loops around a strip over anything but images and pixels repeat all strips.
    """
    dots, place = scheme_in_dot_groups(scheme), scheme.specifiers.index(Stage(scheme.problem.broadcast.name))
    around = [s for s in scheme.specifiers[:place] if isinstance(s, (Rest, Tile, Lambda))]
    outside = [s for s in around if s.dim not in (scheme.problem.row_dims[0], PIXELS)]
    flat = dots.problem.flat_pixels
    assert flat  # a scheme that copies strips has its pixels as one dim
    times = (1 + flat.reach / strip_of(dots)) * float(prod(scheme.iterations(s) for s in outside))
    count = tasks(scheme)
    waiting = COSTS.in_tiles if "x" in prefetched(plan_prefetches(dots)) else 1.0
    once = waiting * plan.read / bandwidth(machine, 2 * plan.read) + plan.read / bandwidth(machine, plan.written)
    return once * times * -(-count // threads) / count
