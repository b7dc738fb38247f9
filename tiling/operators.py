"""The operators there are: from extents and options, checked, to a `Problem`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import index as whole_number

from tiling.problem import OUTPUT_DTYPE, Affine, Problem, ProblemError, Tensor

# The order of the axes of x and y; c stands for y's k too.
LAYOUTS = ("nhwc", "nchw")


def conv2d(
    *,
    n: int = 1,
    c: int,
    h: int | None = None,
    w: int,
    k: int,
    r: int | None = None,
    s: int,
    stride: int | tuple[int, int] = 1,
    padding: int | str | tuple[int, int] | tuple[tuple[int, int], tuple[int, int]] = 0,
    dilation: int | tuple[int, int] = 1,
    groups: int = 1,
    dtype: str = "f32",
    output_dtype: str | None = None,
    filters: str = "kcrs",
    layout: str = "nhwc",
) -> Problem:
    """A 2-D convolution, channels last: x (N,H,W,C), weights (K,C/groups,R,S), y (N,OH,OW,K).

    `layout="nchw"` has the channels of x and y before their pixels: x (N,C,H,W), y (N,K,OH,OW).

    Group g reads the g-th part of the channels and writes the g-th part of the outputs; where there are several, g is a
    dim of the problem, and its dims `c` and `k` are those of one group. With groups = c = k each channel is by itself:
    that is the operator depthwise2d, vectorised over c and without g and k.

    `filters="krsc"` has the weights channels last as well, (K,R,S,C/groups). y is of `output_dtype`, by default what
    OUTPUT_DTYPE gives. `h` and `w` are the input's extents; the problem's dims `h` and `w` are the output's.
    `padding` is one number, one per axis, ((top, bottom), (left, right)), "valid" (none) or "same": as much as gives
    ⌈size / stride⌉ outputs, an odd point after. That is TensorFlow's rule, and at stride 1, where alone PyTorch takes
    it, PyTorch's. `dilation` counts from 1. With neither `h` nor `r` the convolution is one-dimensional: both are 1,
    and `stride`, `padding` (also as (left, right)) and `dilation` are those along w. Raises ProblemError.
    """
    if (h is None) != (r is None):
        missing = "h" if h is None else "r"
        raise ProblemError(f"conv2d: {missing} is missing: give h and r, or neither for one dimension, along w")
    if h is None:
        h, r, stride, padding, dilation = 1, 1, (1, stride), (0, padding), (1, dilation)
    given = {"n": n, "c": c, "h": h, "w": w, "k": k, "r": r, "s": s}
    given = {name: _positive("conv2d", name, value) for name, value in given.items()}
    n, c, h, w, k, r, s = given.values()
    groups = _groups(groups, c, k)
    stride_h, stride_w = _pair("stride", stride)
    dilation_h, dilation_w = _pair("dilation", dilation)
    vertical, horizontal = _padding(padding)
    top, bottom = _sides(vertical, h, r, stride_h, dilation_h)
    left, right = _sides(horizontal, w, s, stride_w, dilation_w)
    if filters not in ("kcrs", "krsc"):
        raise ProblemError(f"conv2d: filters={filters!r} must be 'kcrs' or 'krsc'")
    out = {}
    for axis, size, taps, step, dil, before, after in (
        ("h", h, r, stride_h, dilation_h, top, bottom),
        ("w", w, s, stride_w, dilation_w, left, right),
    ):
        reach = (taps - 1) * dil + 1
        if reach > size + before + after:
            raise ProblemError(
                f"conv2d: the kernel reaches over {reach} points along {axis}, the padded input has only "
                f"{size + before + after} ({axis}={size}, padding {before}+{after})"
            )
        out[axis] = (size + before + after - reach) // step + 1
    channels = _channels(groups, c, k)
    n_index, h_index, w_index, r_index, s_index = (Affine(((d, 1),)) for d in "nhwrs")
    window_h = Affine((("h", stride_h), ("r", dilation_h)), -top)
    window_w = Affine((("w", stride_w), ("s", dilation_w)), -left)
    x = Tensor("x", "broadcast", (n_index, window_h, window_w, channels.x), (n, h, w, c))
    axes = dict(zip("kcrs", (*channels.w, r_index, s_index)))
    sizes = given | {"c": c // groups}
    weights = Tensor("w", "vector", tuple(axes[d] for d in filters), tuple(sizes[d] for d in filters))
    y = Tensor("y", "output", (n_index, h_index, w_index, channels.y), (n, out["h"], out["w"], k))
    dims = (("n", n), *channels.dims, ("h", out["h"]), ("w", out["w"]), ("r", r), ("s", s))
    dtypes = dtype, _output_dtype(dtype, output_dtype)
    tensors = (x, weights, y)
    return in_layout(
        Problem(channels.op, dims, (*channels.summed, "r", "s"), tensors, channels.vector_dim, *dtypes), layout
    )


def in_layout(problem: Problem, layout: str) -> Problem:
    """The convolution with the axes of x and y in the order of `layout`, before an epilogue is fused. Raises
    ProblemError.
    """
    if layout not in LAYOUTS:
        raise ProblemError(f"conv2d: layout={layout!r:.40} must be {' or '.join(map(repr, LAYOUTS))}")
    order = [problem.layout.index(axis) for axis in layout]

    def ordered(tensor: Tensor) -> Tensor:
        if tensor.role == "vector":
            return tensor
        return replace(
            tensor, indices=tuple(tensor.indices[i] for i in order), shape=tuple(tensor.shape[i] for i in order)
        )

    return replace(problem, tensors=tuple(map(ordered, problem.tensors)))


@dataclass(frozen=True)
class _Channels:
    """The channel dims of a convolution, which of them are summed over, and the channel index of x, w (two) and y."""

    op: str
    dims: tuple[tuple[str, int], ...]
    summed: tuple[str, ...]
    vector_dim: str
    x: Affine
    w: tuple[Affine, Affine]
    y: Affine


def _channels(groups: int, c: int, k: int) -> _Channels:
    c_index, k_index = Affine((("c", 1),)), Affine((("k", 1),))
    if groups == 1:
        return _Channels("conv2d", (("k", k), ("c", c)), ("c",), "k", c_index, (k_index, c_index), k_index)
    if groups == c == k:
        return _Channels("depthwise2d", (("c", c),), (), "c", c_index, (c_index, Affine(())), c_index)
    c, k = c // groups, k // groups
    x_index, y_index = Affine((("g", c), ("c", 1))), Affine((("g", k), ("k", 1)))
    return _Channels("conv2d", (("g", groups), ("k", k), ("c", c)), ("c",), "k", x_index, (y_index, c_index), y_index)


def matmul(
    *,
    m: int,
    n: int,
    k: int,
    dtype: str = "f32",
    output_dtype: str | None = None,
    batch: int = 1,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Problem:
    """A matrix product c (M,N) = a (M,K) · b (K,N), all row-major. Raises ProblemError.

    With `transpose_a` a lies as (K,M), with `transpose_b` b as (N,K). `batch` products of one shape, dim `l`, lie one
    after the other: a (L,M,K), b (L,K,N), c (L,M,N); with batch 1 there is no such axis.
    """
    given = {"m": m, "n": n, "k": k, "l": batch}
    extents = {name: _positive("matmul", "batch" if name == "l" else name, value) for name, value in given.items()}

    def tensor(name: str, role: str, dims: str) -> Tensor:
        dims = dims if extents["l"] == 1 else "l" + dims
        return Tensor(name, role, tuple(Affine(((d, 1),)) for d in dims), tuple(extents[d] for d in dims))

    a = tensor("a", "broadcast", "km" if transpose_a else "mk")
    b = tensor("b", "vector", "nk" if transpose_b else "kn")
    dims = tuple((d, extents[d]) for d in ("mnk" if extents["l"] == 1 else "lmnk"))
    tensors = (a, b, tensor("c", "output", "mn"))
    return Problem("matmul", dims, ("k",), tensors, "n", dtype, _output_dtype(dtype, output_dtype))


def transposed(product: Problem) -> tuple[Tensor, ...]:
    """The inputs of a matrix product that lie transposed: a as (K,M), b as (N,K)."""
    axes = {"a": ("m", "k"), "b": ("k", "n")}
    inputs = (product.broadcast, product.vector)
    return tuple(t for t in inputs if t.indices[-1] == Affine(((axes[t.name][0], 1),)))


def _output_dtype(dtype: str, chosen: str | None) -> str:
    return OUTPUT_DTYPE.get(dtype, dtype) if chosen is None else chosen


def _groups(groups, c: int, k: int) -> int:
    groups = _positive("conv2d", "groups", groups)
    for name, channels in (("c", c), ("k", k)):
        if channels % groups:
            raise ProblemError(f"conv2d: groups={groups} do not divide {name}={channels}: all groups have equally many")
    return groups


def _whole(op: str, name: str, value) -> int:
    """`value` as an int, whatever whole-number type it has (NumPy's too); a bool is a mistake."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return whole_number(value)
    except TypeError:
        raise ProblemError(f"{op}: {name}={value!r} must be a whole number") from None


def _positive(op: str, name: str, value) -> int:
    value = _whole(op, name, value)
    if value < 1:
        raise ProblemError(f"{op}: {name}={value} must be at least 1")
    return value


def _pair(name: str, value) -> tuple[int, int]:
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) != 2:
        raise ProblemError(f"conv2d: {name}={value!r} must be one number or one per axis (h, w)")
    return tuple(_positive("conv2d", name, part) for part in pair)


def _padding(value) -> tuple:
    """What is asked for along h and along w: "same", "valid", or numbers before and after."""
    axes = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    sides = tuple(side if isinstance(side, (tuple, list, str)) else (side, side) for side in axes)
    named = [side for side in sides if isinstance(side, str)]
    pairs = [side for side in sides if not isinstance(side, str)]
    if len(sides) != 2 or any(side not in ("same", "valid") for side in named) or any(len(pair) != 2 for pair in pairs):
        raise ProblemError(
            f'conv2d: padding={value!r} must be p, (ph, pw), ((top, bottom), (left, right)), "same" or "valid"'
        )
    numbers = [_whole("conv2d", "padding", part) for pair in pairs for part in pair]
    if min(numbers, default=0) < 0:
        raise ProblemError(f"conv2d: padding={value!r} must be at least 0")
    return sides


def _sides(padding, size: int, taps: int, stride: int, dilation: int) -> tuple[int, int]:
    """Padding before and after along one axis."""
    if padding == "valid":
        return 0, 0
    if padding == "same":
        total = max(0, (-(-size // stride) - 1) * stride + (taps - 1) * dilation + 1 - size)
        return total // 2, total - total // 2
    before, after = padding
    return whole_number(before), whole_number(after)
