"""The contents of a dot group of the weights, and how many dot groups a packed copy has.

    bf16   D(c,2)    W[k, c, r, s] of groups   ──►   W[k, 2*c + number, r, s], 0 beyond the last channel
    bf16   D(sc,2)   W[k, c, r, 0] of groups   ──►   number 2*c + number of the window's row: its tap and its channel
    bf16             W[k, c, r, s] of groups   ──►   W[k, c, r, s] and a zero, where each channel is alone

The dot groups are those of `tiling.rewrite.dot_groups`. One for matrix instructions is several words of 32 bits, which
loops count by an axis of their own (`tiling.loops.lowering.lower`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tiling.arrays.access import access_of
from tiling.dtypes.products import OPERAND_DTYPES
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index
from tiling.loops.language import Inside
from tiling.loops.lowering.arrays import axes_of, words_per_group
from tiling.problem import Problem
from tiling.rewrite.dot_groups import dot_group_of, numbers_per_lane, pixel_of_windows, scheme_in_dot_groups
from tiling.scheme.scheme import Scheme


def packed_lanes(scheme: Scheme) -> int:
    """Lanes of the packed weights. In every group the vectorised dim is rounded up to whole vectors. If the weights are
    broadcast, there are as many lanes as weights.
    """
    scheme = scheme_in_dot_groups(scheme)
    problem = scheme.problem
    if access_of(problem).weights_broadcast:
        return access_of(problem).packed.elements
    groups = prod(problem.extents[dim] for dim in problem.looped_dims)
    return groups * scheme.units[problem.vector_dim] * scheme.lanes * problem.reduction_length


def packed_words(scheme: Scheme) -> int:
    """Words of 32 bits of the packed weights: one in a lane, or those of a longer dot group."""
    dots = scheme_in_dot_groups(scheme).problem
    return packed_lanes(scheme) * (words_per_group(dots, access_of(dots).packed) or 1)


def packed_elements(scheme: Scheme) -> int:
    """Numbers of the packed weights, of all lanes together."""
    return packed_words(scheme) * weight_groups_of(scheme).numbers


@dataclass(frozen=True)
class WeightGroups:
    """The dot groups of a problem's weights.

    weights: the array of numbers. numbers: how many a word holds. words: how many words a group has that is longer than
    a lane; 0 where groups fit a lane. dims: the dims of the scheme's D, "" for none. pixel: numbers of a pixel of x for
    a D along taps and channels.
    """

    problem: Problem
    weights: Buffer
    numbers: int
    words: int
    dims: str
    pixel: int

    def element(self, at: Sequence[Index], number: Index) -> tuple[tuple[Index, ...], tuple[Inside, ...]]:
        """The place in W of a number of the word at `at`, and the tests that it is a weight and no filling."""
        found = list(at)
        word = found.pop() if self.words else ZERO
        group = self.numbers * max(self.words, 1)
        if not self.dims:
            return tuple(found), (Inside(number, 0, 1),) if self.numbers > 1 else ()
        taps, channel = self.dims[:-1], self.dims[-1]
        axis, channels, extent = self._axis(channel), self.problem.extents[channel], self.problem.extent(self.dims)
        if access_of(self.problem).exchange_dim and channels < self.numbers:
            # The other numbers of the word belong to other groups.
            found[axis] = number % channels
            beside = number // channels - LANE % self.numbers // channels
            return tuple(found), (Inside(beside, 0, 1),)
        place = found[axis] * group + word * self.numbers + number
        found[axis] = place
        if taps:
            found[self._axis(taps)], found[axis] = place // self.pixel, place % self.pixel
            if self.pixel > channels:
                return tuple(found), (Inside(place % self.pixel, None, channels),)
        return tuple(found), (Inside(place, None, extent),) if extent % group else ()

    def _axis(self, dim: str) -> int:
        """The axis of W that a dim moves along."""
        return next(a for a, index in enumerate(access_of(self.problem).packed.indices) if index.coefficient(dim))


def weight_groups_of(scheme: Scheme) -> WeightGroups:
    """The dot groups of the weights as the tiles of a scheme read them."""
    problem, dots = scheme.problem, scheme_in_dot_groups(scheme).problem
    lane = numbers_per_lane(problem)
    dot = dot_group_of(scheme) if lane > 1 else None
    words = words_per_group(dots, access_of(dots).packed)
    taps = dot is not None and len(dot.dim) > 1
    packed = access_of(problem).packed
    _, dtype = OPERAND_DTYPES[problem.dtype]
    return WeightGroups(
        problem,
        Buffer("W", packed.shape, axes_of(problem, packed), dtype),
        dots.dot_group // max(words, 1) if dot else lane,
        words,
        dot.dim if dot else "",
        pixel_of_windows(scheme) if taps else 0,
    )
