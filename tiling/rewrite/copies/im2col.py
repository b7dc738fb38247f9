"""The copies of x that a kernel of dot groups makes first, as plain loops (`tiling.rewrite.copies.plan` says when).

    filled     3 channels of bf16 ──►  2 words a pixel, the last number 0
    window     for each column of y the whole row of its window, taps and channels in one run of words
    sides      rows with zeros on both sides, one block of all columns after the other
    overlap    the same with every pixel filled up to whole words, so that a window's row is a block
    aligned    x as it is, from a cache line on

`X` holds the numbers of x row by row, `words` those of the copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Inside, Load, Number, Statement, Store
from tiling.problem import Problem
from tiling.rewrite.copies.plan import ALIGNED, OVERLAP, SIDES, WINDOW
from tiling.rewrite.dot_groups import dot_group_of, padded_window, pixel_of_windows
from tiling.scheme.scheme import Scheme
from tiling.tensor import Window

COPY = "x_copy"


@dataclass(frozen=True)
class Im2col:
    """A copy of x. numbers, whole: the length of a run in x and in the copy."""

    numbers: int
    whole: int
    loops: Kernel

    @property
    def total(self) -> int:
        """Numbers of the copy."""
        return prod(self.loops.arrays[1].shape)


def lower_copy(scheme: Scheme, dots: Problem, kind: str) -> Im2col:
    """The copy of x for a scheme, of one of the kinds above.

    dots: its problem in dot groups.
    """
    problem = scheme.problem
    if kind == ALIGNED:
        x = dots.broadcast
        *lines, _, _ = x.shape if len(x.shape) > 2 else (*x.shape, 1)
        numbers = x.elements * dots.dot_group // prod(lines)
        return _filled(prod(lines), numbers, numbers)
    dot = dot_group_of(scheme)
    assert dot  # the numbers form groups
    taps, channel = dot.dim[:-1], dot.dim[-1]
    numbers, whole = problem.extents[channel], dots.extents[channel] * dots.dot_group
    if kind == OVERLAP:
        pixel = pixel_of_windows(scheme)
        *lines, columns, _ = dots.broadcast.shape
        return _sides(_window_of(problem, taps), prod(lines), columns, numbers, _Blocks(1, 1, pixel))
    if kind == WINDOW:
        *lines, columns, _ = dots.broadcast.shape
        return _windows(_window_of(problem, taps), problem.extents[taps], prod(lines), columns, numbers, whole)
    if kind == SIDES:
        window = padded_window(problem)
        assert window
        *lines, blocks, columns = dots.broadcast.shape
        held = _Blocks(blocks // dots.extents[channel], blocks, dots.dot_group)
        return _sides(window, prod(lines), columns, numbers, held)
    return _filled(dots.broadcast.elements * dots.dot_group // whole, numbers, whole)


def _window_of(problem: Problem, tap: str) -> Window:
    return next(window for window in problem.windows if window.tap == tap)


def _filled(rows: int, numbers: int, whole: int) -> Im2col:
    row = variable("run")
    body = (*_copied((row, ZERO), (row, ZERO), numbers), *_zeros((row, constant(numbers)), whole - numbers))
    loops = Kernel((_array("X", rows, numbers), _array(COPY, rows, whole)), (_rows("run", rows, body),))
    return Im2col(numbers, whole, loops)


def _windows(window: Window, taps: int, rows: int, columns: int, numbers: int, whole: int) -> Im2col:
    """For each column of y the numbers of its taps, zeros where these are beyond the row and up to whole words."""
    row, column, tap = map(variable, ("row", "column", "tap"))
    first, to = column * window.stride - window.before, column * whole
    inside: Body = _copied((row, to), (row, first * numbers), taps * numbers)
    if window.before > 0 or (columns - 1) * window.stride - window.before + taps > window.extent:
        place = (row, to + tap * numbers)
        taken = _copied(place, (row, (first + tap) * numbers), numbers)
        one = If((Inside(first + tap, 0, window.extent),), taken, _zeros(place, numbers))
        clipped = (_loop("tap", taps, (one,)),)
        inside = (If((Inside(first, 0, window.extent - taps + 1),), inside, clipped),)
    rest = _zeros((row, to + taps * numbers), whole - taps * numbers)
    body = (_loop("column", columns, (*inside, *rest)),)
    arrays = _array("X", rows, window.extent * numbers), _array(COPY, rows, columns * whole)
    return Im2col(numbers, whole, Kernel(arrays, (_rows("row", rows, body),)))


@dataclass(frozen=True)
class _Blocks:
    """The blocks of a pixel, in all `groups` together, and the numbers of one block."""

    groups: int
    blocks: int
    block: int


def _sides(window: Window, rows: int, columns: int, numbers: int, held: _Blocks) -> Im2col:
    """Rows of so many columns, with zeros left and right of what comes from x; a pixel's blocks lie a row apart."""
    left = min(window.before, columns)
    inside = min(window.extent, columns - left)
    apart, size = columns * held.block, held.block
    row, pixel, group, block = map(variable, ("row", "pixel", "group", "block"))
    group = group if held.groups > 1 else ZERO
    beside = (
        *_zeros((row, block * apart), left * size),
        *_zeros((row, block * apart + (left + inside) * size), (columns - left - inside) * size),
    )
    first = group * (held.blocks // held.groups * apart) + (pixel + left) * size
    given = (pixel * held.groups + group) * numbers
    whole, rest = numbers // size, numbers % size
    of_group: Body = ()
    if whole:
        at = block if whole > 1 else ZERO
        moved = _copied((row, first + at * apart), (row, given + at * size), size)
        of_group = (_loop("block", whole, moved),) if whole > 1 else moved
    if rest:
        of_group += _copied((row, first + whole * apart), (row, given + whole * size), rest)
        of_group += _zeros((row, first + whole * apart + rest), size - rest)
    pixels: Body = (_loop("group", held.groups, of_group),) if held.groups > 1 else of_group
    body = (*((_loop("block", held.blocks, beside),) if beside else ()), _loop("pixel", inside, pixels))
    arrays = (
        _array("X", rows, window.extent * held.groups * numbers),
        _array(COPY, rows, held.blocks * apart),
    )
    return Im2col(numbers, size, Kernel(arrays, (_rows("row", rows, body),)))


def _array(name: str, rows: int, numbers: int) -> Buffer:
    return Buffer(name, (rows, numbers), ("row", "number"))


def _rows(name: str, rows: int, body: Body) -> For:
    """The loop over rows, which workers share."""
    return For(name, ZERO, constant(rows), 1, body, "core")


def _loop(name: str, stop: int, body: Body) -> Statement:
    return For(name, ZERO, constant(stop), 1, body)


def _copied(to: tuple[Index, Index], given: tuple[Index, Index], count: int) -> Body:
    """A loop that copies neighbours."""
    number = variable("number")
    store = Store(COPY, (to[0], to[1] + number), Load("X", (given[0], given[1] + number)))
    return (_loop("number", count, (store,)),)


def _zeros(to: tuple[Index, Index], count: int) -> Body:
    """A loop that sets neighbours to 0; nothing for none."""
    store = Store(COPY, (to[0], to[1] + variable("number")), Number(0))
    return (_loop("number", count, (store,)),) if count else ()
