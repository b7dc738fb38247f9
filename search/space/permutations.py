"""The loop orders worth trying at one level of a nest, as data: a new order is a new line of text."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tiling.problem import Problem

# The bytes that a loop level moves depend only on which tensors its innermost loops leave in place. Loops over dims
# that a tensor does not have move nothing of it, up to the first loop, inner to outer, over a dim that it has. Orders
# that agree on this move the same bytes. MOpt (ASPLOS 2021) proved that eight classes dominate all 5,040 orders of a
# convolution's seven loops.
#
# A class is written outermost loop first. Braces hold dims whose mutual order does not matter.
CLASSES: dict[str, tuple[str, ...]] = {
    "conv2d": (
        "{kcrs}{nh}w",  # w innermost: the weights stay, the window of x slides
        "{kcrs}{nw}h",
        "{nkhw}{cr}s",  # s innermost: y stays, the window of x slides
        "{nkhw}{cs}r",
        "{nchrs}wk",  # k innermost: x stays, then y and weights move with w
        "{ncwrs}hk",
        "{nchwr}sk",
        "{nchws}rk",
    ),
    # The same with d and q beside h and r. With d or q innermost the re-use is that of h or r, which are longer mostly.
    "conv3d": (
        "{kcqrs}{ndh}w",
        "{kcqrs}{ndw}h",
        "{nkdhw}{cqr}s",
        "{nkdhw}{cqs}r",
        "{ncdhqrs}wk",
        "{ncdwqrs}hk",
        "{ncdhwqr}sk",
        "{ncdhwqs}rk",
    ),
    # Every tensor of a depthwise convolution moves with c, and each order leaves one thing in place. With w or h
    # innermost the weights stay and the window of x slides. With c innermost the rows of x and y stay, whose channels
    # are neighbours.
    "depthwise2d": ("{crs}{nh}w", "{crs}{nw}h", "{nrsh}wc", "{nrsw}hc"),
    # The same with k in the place of c; c never loops.
    "grouped2d": ("{krs}{nh}w", "{krs}{nw}h", "{nrsh}wk", "{nrsw}hk"),
    # In c[m,n] += a[m,k]·b[k,n] each tensor lacks one dim, and an innermost loop over that dim re-uses the tensor.
    "matmul": ("{nk}m", "{mn}k", "{mk}n"),
    # The weights lack the pixels w and the images n; x lacks the channels k of y.
    "pointwise2d": ("{kc}nw", "{kcw}n", "{nkw}c", "{ncw}k"),
}


def orders(problem: Problem, looping: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The orders worth trying for the dims in `looping`, which have more than one trip; outermost loop first.

    Dims that do not loop drop out of their class, and classes that then agree are one. Where a class ends in braces,
    its first spelling stands for it. A dim that moves every tensor (g) stands outermost, where it spoils no re-use; it
    also stands innermost once, since groups narrower than a cache line share the lines of x.
    """
    looping = frozenset(looping)
    moving_all = tuple(d for d in problem.looped_dims if d in looping and all(d in t.dims for t in problem.tensors))
    found: dict[tuple[frozenset[str], ...], tuple[str, ...]] = {}
    for text in CLASSES[problem.op]:
        groups = [[dim for dim in group if dim in looping] for group in parse_class(text)]
        groups = [group for group in groups if group]
        found.setdefault(tuple(frozenset(group) for group in groups), tuple(dim for group in groups for dim in group))
    # {kh}w and khw are one order once both are spelled out.
    kept = tuple(dict.fromkeys(found.values()))
    if not moving_all:
        return kept
    return (*((*moving_all, *order) for order in kept), (*kept[0], *moving_all))


def parse_class(text: str) -> tuple[str, ...]:
    """`{kcrs}{nh}w` → ("kcrs", "nh", "w"). Dims are one letter."""
    return tuple(group.strip("{}") for group in re.findall(r"\{[a-z]+\}|[a-z]", text))
