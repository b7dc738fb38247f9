"""The operator conv3d, a convolution of volumes: it checks extents and options and makes a `Problem`."""

from __future__ import annotations

from tiling.dtypes.products import dtype_of, output_dtype_of
from tiling.operators import in_layout
from tiling.problem import Problem, ProblemError
from tiling.sliding import Side, along, outputs, padding_along, positive, sides
from tiling.tensor import Affine, Tensor

TAPS = {"d": "q", "h": "r", "w": "s"}  # the axes of a volume, and the dim of the taps along each


def conv3d(
    *,
    n: int = 1,
    c: int,
    d: int,
    h: int,
    w: int,
    k: int,
    q: int,
    r: int,
    s: int,
    stride: int | tuple[int, ...] = 1,
    padding: int | str | tuple[Side | int, ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    layout: str = "nhwc",
    dtype: str = "f32",
    output_dtype: str | None = None,
) -> Problem:
    """A 3-D convolution of f32, channels last: x (N,D,H,W,C), weights (K,C,Q,R,S), y (N,OD,OH,OW,K).

    d, h, w: the extents of the input; the dims `d`, `h` and `w` of the problem are the output's.
    q, r, s: the taps along d, h and w.
    stride, dilation: one number, or (along d, along h, along w).
    padding: one number, one per axis, ((front, back), (top, bottom), (left, right)), "valid" or "same", as in `conv2d`.
    layout: "nchw" has the channels of x and y before their points, x (N,C,D,H,W), y (N,K,OD,OH,OW).
    groups, dtype, output_dtype: 1, and f32 under any of its names.

    Raises ProblemError.
    """
    if dtype_of(dtype) != "f32" or output_dtype_of(output_dtype or "f32") != "f32":
        raise ProblemError("conv3d: convolutions of volumes are of f32 alone: leave the dtypes away")
    if positive("conv3d", "groups", groups) != 1:
        raise ProblemError(f"conv3d: groups={groups}: convolutions of volumes have one group")
    given = {"n": n, "c": c, "d": d, "h": h, "w": w, "k": k, "q": q, "r": r, "s": s}
    sizes = {name: positive("conv3d", name, value) for name, value in given.items()}
    axes = "".join(TAPS)
    strides, dilations = along("conv3d", "stride", stride, axes), along("conv3d", "dilation", dilation, axes)
    plain = {dim: Affine(((dim, 1),)) for dim in sizes}
    windows, out = {}, {}
    for axis, step, apart, side in zip(axes, strides, dilations, padding_along("conv3d", padding, axes)):
        tap = TAPS[axis]
        before, after = sides(side, sizes[axis], sizes[tap], step, apart)
        windows[axis] = Affine(((axis, step), (tap, apart)), -before)
        out[axis] = outputs("conv3d", axis, sizes[axis], sizes[tap], step, apart, before, after)
    x = Tensor("x", "broadcast", tuple((plain | windows)[dim] for dim in "ndhwc"), tuple(sizes[dim] for dim in "ndhwc"))
    weights = Tensor("w", "vector", tuple(plain[dim] for dim in "kcqrs"), tuple(sizes[dim] for dim in "kcqrs"))
    extents = sizes | out
    y = Tensor("y", "output", tuple(plain[dim] for dim in "ndhwk"), tuple(extents[dim] for dim in "ndhwk"))
    dims = tuple((dim, extents[dim]) for dim in "nkcdhwqrs")
    return in_layout(Problem("conv3d", dims, ("c", "q", "r", "s"), (x, weights, y), "f32", "f32"), layout)
