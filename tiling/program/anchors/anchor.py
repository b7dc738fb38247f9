"""Anchors: statements that are a sum of products, read as a problem of `tiling.operators`.

    y[h,w,k] = sum[c,r,s] x[h+r-1,w+s-1,c] * f[k,c,r,s]      conv2d c=64,h=56,w=56,k=64,r=3,s=3,pad=1

Neighbouring axes of one role count as one axis, and those of extent 1 as none. The order of axes decides the layout.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, takewhile
from math import prod

from tiling.dtypes.products import CPU_DTYPES, OUTPUT_DTYPES, SUM_DTYPE
from tiling.operators import conv2d, matmul
from tiling.problem import Problem, ProblemError
from tiling.program.anchors.product import NoProductError, ProductRoles, Spatial, factors, product_of
from tiling.program.infer import Sized

# The fewest outputs that share an x. With fewer, lanes of vectors are idle.
FULL_VECTOR = 8


@dataclass(frozen=True)
class Operand:
    """How an array of a program becomes one of a problem: reshaped to `split`, its axes in `order`, then to `shape`."""

    array: str
    split: tuple[int, ...]
    order: tuple[int, ...]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Anchor:
    """A statement as a problem. Its array lies in memory as the problem's output does, and x as the problem's x."""

    array: str
    problem: Problem
    x: Operand
    w: Operand


def anchor_of(program: Sized, array: str, weights: str | None = None) -> Anchor | str:
    """The statement that assigns an array as a problem; else a sentence that says why it is none.

    Where there are several ways it takes one that fills a vector, with the fewest elements of w, since a kernel packs
    w. weights: the array that must become w, such as one that is known ahead.
    """
    statement = next(s for s in program.program.statements if s.array == array)
    found: list[Anchor] = []
    reasons: list[str] = []
    try:
        left, right = factors(statement)
    except NoProductError as why:
        return f"{array} is no sum of products: {why}"
    for x, w in ((left, right), (right, left)):
        try:
            product = product_of(program, statement, x, w)
            dtypes = _dtypes(program, array, x.array, w.array)
        except NoProductError as why:
            reasons.append(str(why))
            continue
        for read in (_matmul, _channels_last, _channels_first):
            try:
                problem, order = read(product, *dtypes)
            except (NoProductError, ProblemError) as why:
                reasons.append(str(why))
                continue
            split = tuple(product.extents[dim] for dim in product.w)
            places = tuple(product.w.index(dim) for dim in order)
            given = program.array(x.array).shape
            at_x = Operand(x.array, given, tuple(range(len(given))), problem.tensors[0].shape)
            found.append(Anchor(array, problem, at_x, Operand(w.array, split, places, problem.tensors[1].shape)))
    found = [anchor for anchor in found if weights in (None, anchor.w.array)]
    if found:
        return min(found, key=_worth)
    return f"{array} is neither a matrix product nor a convolution: {'; '.join(dict.fromkeys(reasons))}"


def _worth(anchor: Anchor) -> tuple[bool, int, int]:
    """The sort key of a way to read a statement. The better of two ways has the smaller key."""
    outputs = anchor.problem.extents[anchor.problem.vector_dim]
    # A product read as a convolution of one tap has no advantage over the product itself, unless its w is smaller.
    packed = prod(anchor.w.shape) * (1 if anchor.problem.is_product else 2)
    return outputs < FULL_VECTOR, -min(outputs, FULL_VECTOR), packed


def _dtypes(program: Sized, y: str, x: str, w: str) -> tuple[str, str]:
    """The dtype of a problem, and that of its output. Raises NoProductError."""
    given, output = (program.array(x).dtype, program.array(w).dtype), program.array(y).dtype
    dtype = CPU_DTYPES.get(given)
    if dtype is None or output not in (OUTPUT_DTYPES[dtype] if SUM_DTYPE[dtype] == "f32" else (SUM_DTYPE[dtype],)):
        raise NoProductError(f"no kernel multiplies {' by '.join(given)} and gives {output}")
    return dtype, output


Read = tuple[Problem, tuple[str, ...]]  # a problem, and the dims of w in the order in which it wants them


def _matmul(product: ProductRoles, dtype: str, output: str) -> Read:
    """As a matrix product, batched where all three arrays have a dim."""
    batch, rows, columns, summed = product.groups, product.rows, product.columns, product.summed
    if product.windows:
        raise NoProductError("a window is no axis of a matrix")
    if product.y != batch + rows + columns:
        raise NoProductError(f"the axes {' '.join(product.y)} are not those of a batch, rows and columns in this order")
    if product.plain not in (batch + rows + summed, batch + summed + rows):
        raise NoProductError(f"the axes {' '.join(product.plain)} are not those of a batch and a matrix")
    transposed = product.w == batch + columns + summed
    problem = matmul(
        m=product.points(rows),
        n=product.points(columns),
        k=product.points(summed),
        batch=product.points(batch),
        transpose_a=product.plain != batch + rows + summed,
        transpose_b=transposed,
        dtype=dtype,
        output_dtype=output,
    )
    return problem, batch + (columns + summed if transposed else summed + columns)


def _channels_last(product: ProductRoles, dtype: str, output: str) -> Read:
    """As a convolution whose images have their channels last."""
    channels = product.groups + product.summed
    pixels = product.x[: len(product.x) - len(channels)]
    if product.x[len(pixels) :] != channels:
        raise NoProductError(f"the channels {' '.join(channels)} are not the last axes of x")
    outer = _leading(pixels) if product.windows else ()
    return _convolution(product, "nhwc", outer, pixels[len(outer) :], (dtype, output))


def _channels_first(product: ProductRoles, dtype: str, output: str) -> Read:
    """As a convolution whose images have their channels before their pixels."""
    channels = product.groups + product.summed
    outer = tuple(takewhile(lambda dim: dim not in channels, _leading(product.x)))
    if product.x[: len(outer) + len(channels)] != outer + channels:
        raise NoProductError(
            f"the channels {' '.join(channels)} are no neighbouring axes of x, the first or the last of an image"
        )
    return _convolution(product, "nchw", outer, product.x[len(outer) + len(channels) :], (dtype, output))


def _leading(axes: tuple[str | Spatial, ...]) -> tuple[str, ...]:
    """The dims before the first window."""
    found = []
    for axis in axes:
        if isinstance(axis, Spatial):
            break
        found.append(axis)
    return tuple(found)


def _convolution(
    product: ProductRoles,
    layout: str,
    outer: tuple[str, ...],
    pixels: tuple[str | Spatial, ...],
    dtypes: tuple[str, str],
) -> Read:
    """As a convolution. outer: the dims of images. pixels: the axes of x that are neither these nor channels."""
    axes = _spatial(product, pixels)
    if len(axes) > 2:
        raise NoProductError(f"windows move along {len(axes)} axes, and images have two")
    outs = tuple(dim for axis in axes for dim in axis.outs)
    channels = product.groups + product.columns
    if product.y != (outer + outs + channels if layout == "nhwc" else outer + channels + outs):
        raise NoProductError(f"the axes {' '.join(product.y)} are not in the order of x's")
    if not channels and not product.summed:
        raise NoProductError("it has one channel: there is nothing that neighbours share")
    *above, along = axes or (Spatial((), (), 1, 1),)
    high = above[0] if above else Spatial((), (), 1, 1)
    groups = product.points(product.groups)
    taps = tuple(dim for axis in axes for dim in axis.taps)
    last = product.w == channels + taps + product.summed and bool(taps)
    problem = conv2d(
        n=product.points(outer),
        c=groups * product.points(product.summed),
        h=high.extent,
        w=along.extent,
        k=product.points(channels),
        r=high.tap,
        s=along.tap,
        stride=(high.stride, along.stride),
        padding=((high.before, high.after), (along.before, along.after)),
        dilation=(high.dilation, along.dilation),
        groups=groups,
        dtype=dtypes[0],
        output_dtype=dtypes[1],
        filters="krsc" if last else "kcrs",
        layout=layout,
    )
    return problem, channels + (taps + product.summed if last else product.summed + taps)


def _spatial(product: ProductRoles, pixels: tuple[str | Spatial, ...]) -> list[Spatial]:
    """The axes of images. Neighbouring rows are one."""
    found: list[Spatial] = []
    for plain, axes in groupby(pixels, key=lambda axis: isinstance(axis, str)):
        if plain:
            dims = tuple(map(str, axes))
            found.append(Spatial(dims, (), product.points(dims), product.points(dims)))
        else:
            found += [axis for axis in axes if isinstance(axis, Spatial)]
    return found
