"""What the copies of x that a kernel makes cost, beside its loops."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from search.costs import COSTS
from search.predict import Prediction, asked_for
from search.volume import tasks
from tiling.machine import Machine
from tiling.plane import PIXELS
from tiling.problem import Problem
from tiling.scheme import Scheme, Stage
from tiling.words import copies, scheme_in_words, strip_of


def after_copy(prediction: Prediction, scheme: Scheme, machine: Machine) -> Prediction:
    """The prediction of the loops of `scheme` with the copy of x that its kernel makes, first or strip by strip."""
    if not copies(scheme):
        return prediction
    count = _of_strips if strip_of(scheme) else _whole
    copy = count(scheme, machine, prediction.threads)
    return replace(prediction, seconds=prediction.seconds + copy, copy=copy)


def _whole(scheme: Scheme, machine: Machine, threads: int) -> float:
    """x is read and the copy written at the bandwidth of the innermost cache that holds both; threads share the work,
    no more than there are core tasks (`cpu.emit`).
    """
    size = _bytes(scheme.problem) + _bytes(scheme_in_words(scheme).problem)
    return size / _bandwidth(machine, size) / min(threads, tasks(scheme))


def _of_strips(scheme: Scheme, machine: Machine, threads: int) -> float:
    """x is read from the innermost cache that holds it twice, as with a copy of all of it beside, mostly while tiles
    compute if they ask for it (`tiling.ahead`), and written where the strip before was. A strip repeats what the
    windows of its last points reach, and loops around it over anything but images and pixels repeat all strips.
    """
    words, place = scheme_in_words(scheme), scheme.specifiers.index(Stage(scheme.problem.broadcast.name))
    outside = [s for s in scheme.specifiers[:place] if s.dim not in (scheme.problem.row_dims[0], PIXELS)]
    plane, x = words.problem.plane, _bytes(scheme.problem)
    times = (1 + plane.reach / plane.strip) * prod(scheme.iterations(s) for s in outside)
    count = tasks(scheme)
    waiting = COSTS.in_tiles if scheme.problem.broadcast.name in asked_for(words) else 1.0
    once = waiting * x / _bandwidth(machine, 2 * x) + x / _bandwidth(machine, _bytes(words.problem))
    return once * times * -(-count // threads) / count


def _bytes(problem: Problem) -> int:
    """Of x."""
    return problem.broadcast.elements * problem.bytes_of(problem.broadcast)


def _bandwidth(machine: Machine, size: int) -> float:
    """Of the innermost cache that holds so many bytes."""
    return next((cache.bandwidth for cache in machine.caches if cache.bytes >= size), machine.memory_bandwidth)
