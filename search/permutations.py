"""The loop orders worth trying at one level of a nest, as data: a new order is a new line of text.

What a loop level moves depends only on which tensors its innermost loops leave in place: dims that a tensor does
not depend on cost it nothing until the first dim, inner to outer, that moves it. Orders that agree on this move the
same bytes. MOpt (ASPLOS 2021) proved that eight classes dominate all 5,040 orders of a convolution's seven loops.

A class is written outermost first; braces hold dims whose mutual order does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tiling.problem import Problem

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
    # A depthwise convolution moves everything with c, and each order leaves one thing in place: the weights, with the
    # window of x sliding (w or h innermost), or the rows of x and y, whose channels are neighbours (c innermost).
    "depthwise2d": ("{crs}{nh}w", "{crs}{nw}h", "{nrsh}wc", "{nrsw}hc"),
    # The same of its k; c never loops.
    "grouped2d": ("{krs}{nh}w", "{krs}{nw}h", "{nrsh}wk", "{nrsw}hk"),
    # The same argument for c[m,n] += a[m,k]·b[k,n]: each tensor lacks one dim, which as innermost loop re-uses it.
    "matmul": ("{nk}m", "{mn}k", "{mk}n"),
    # Here the weights lack the pixels w and the images n, x the channels k of y.
    "pointwise2d": ("{kc}nw", "{kcw}n", "{nkw}c", "{ncw}k"),
}


def orders(problem: Problem, looping: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """The orders of the dims in `looping` (those with more than one trip) worth trying, outermost first.

    Dims that do not loop drop out of their class, and classes that then agree are one. A class that ends in braces
    has no order to prefer; its first spelling stands for it. A dim that moves every tensor (g) stands outermost, where
    it spoils no other's re-use; also innermost once, since groups narrower than a cache line share the lines of x.
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
