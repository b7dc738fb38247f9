"""How many bytes of each tensor a tile touches, and which taps of a window fall on padding.

Source: TTile's footprints, O = Tn·Th·Tw·Tk, W = Tr·Ts·Tc·Tk, I = Tn·((Th−1)σ+Tr)·((Tw−1)σ+Ts)·Tc, here derived from the
index expressions. Where a window has fewer taps than its stride, only touched rows count.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod

from tiling.arrays.access import access_of
from tiling.problem import Problem
from tiling.tensor import Tensor, Window


def axis_points(tensor: Tensor, axis: int, extents: Mapping[str, int]) -> int:
    """Distinct index values along one axis for a tile of `extents` points per dim, at most the axis itself.

    With several terms (h·σ + r) the values are a sumset: at most the product of the extents, and at most the span.
    Where a point stands for several elements (`Tensor.reach`), these are neighbours along the last axis.
    """
    terms = tensor.indices[axis].terms
    span = sum((extents[dim] - 1) * coefficient for dim, coefficient in terms) + 1
    if tensor.reach and axis == len(tensor.shape) - 1:
        return min(span - 1 + tensor.reach, tensor.shape[axis])
    return min(prod(extents[dim] for dim, _ in terms), span, tensor.shape[axis])


def footprint(problem: Problem, tensor: Tensor, extents: Mapping[str, int], line: int = 64) -> int:
    """Bytes of `tensor` that a tile of `extents` points per dim touches; each contiguous run counts whole cache lines.

    The packed input lies in the order in which it is read, so its tile is one run.
    """
    points = [axis_points(tensor, axis, extents) for axis in range(len(tensor.shape))]
    size = access_of(problem).bytes_of(tensor)
    if tensor.name == access_of(problem).packed.name:
        return _lines(prod(points) * size, line)
    run, axis = 1, len(points) - 1
    while axis >= 0:
        run *= points[axis]
        if points[axis] != tensor.shape[axis]:
            break
        axis -= 1
    runs = prod(points[:axis]) if axis > 0 else 1
    return runs * _lines(run * size, line)


def _lines(count: int, line: int) -> int:
    return -(-count // line) * line


def read_share(problem: Problem, tensor: Tensor, extents: Mapping[str, int]) -> float:
    """The share of its footprint that a tile of `extents` points per dim reads of a tensor, on average over all tiles.

    Padding is left out: pixels of x outside the image, and the weights of a tap that lies on padding for a whole tile.
    """
    share = 1.0
    for window in problem.windows:
        if window.tap in tensor.dims:
            rows, taps = problem.extents[window.dim], problem.extents[window.tap]
            pixels = window.dim in tensor.dims
            share *= _inside(window, rows, taps, extents[window.dim], extents[window.tap] if pixels else 0)
    return share


@lru_cache(maxsize=4096)
def _inside(window: Window, rows: int, taps: int, height: int, width: int) -> float:
    """The share of pixels that are not padding, in blocks of `height` outputs and `width` taps.

    For width 0: the share of all taps that lie inside for at least one output of a block.
    """
    found = total = 0
    for first in range(0, rows, height):
        outputs = range(first, min(first + height, rows))
        for tap in range(0, taps, max(1, width)):
            at = {h * window.stride + t * window.dilation for h in outputs for t in range(tap, min(tap + width, taps))}
            if width:
                found += sum(window.before <= pixel < window.before + window.extent for pixel in at)
                total += min(len(at), window.extent)
            else:
                low, high = window.rows_inside(first, len(outputs), tap)
                found += high > low
                total += 1
    return found / total if found else 1.0
