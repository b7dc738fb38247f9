"""The operators, conv2d and matmul: they check extents and options and make a `Problem`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tiling.dtypes.products import OUTPUT_DTYPE, dtype_of, output_dtype_of
from tiling.problem import Problem, ProblemError
from tiling.sliding import Side, along, flag, outputs, padding_along, positive, sides
from tiling.tensor import Affine, Tensor
from tiling.value import Applied, Epilogue, EpilogueArray, Value

# The orders of the axes of x and y; for y, c means its k.
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
    stride: int | tuple[int, ...] = 1,
    padding: int | str | tuple[int, int] | tuple[Side, Side] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    dtype: str = "f32",
    output_dtype: str | None = None,
    filters: str = "kcrs",
    layout: str = "nhwc",
) -> Problem:
    """A 2-D convolution, channels last: x (N,H,W,C), weights (K,C/groups,R,S), y (N,OH,OW,K).

    h, w: the extents of the input; the dims `h` and `w` of the problem are the output's. Without `h` and `r` the
        convolution is one-dimensional: both are 1, and `stride`, `padding` and `dilation` apply to w.
    stride, dilation: one number, or (along h, along w). `dilation` counts from 1.
    padding: one number, one per axis, ((top, bottom), (left, right)), "valid" (none) or "same". "same" gives
        ⌈size / stride⌉ outputs and puts an odd point after, which is TensorFlow's rule, and at stride 1 also PyTorch's.
    groups: group g reads the g-th part of the channels and writes the g-th part of the outputs. Several groups are a
        dim g of the problem, and its dims `c` and `k` count the channels of one group. groups = c = k is the operator
        depthwise2d, vectorised over c, without g and k.
    output_dtype: the dtype of y, by default that of OUTPUT_DTYPE.
    filters: "krsc" has the weights channels last, (K,R,S,C/groups).
    layout: "nchw" has the channels of x and y before their pixels, x (N,C,H,W), y (N,K,OH,OW).

    Raises ProblemError.
    """
    if (h is None) != (r is None):
        missing = "h" if h is None else "r"
        raise ProblemError(f"conv2d: {missing} is missing: give h and r, or neither for one dimension, along w")
    strides: object = stride
    paddings: object = padding
    dilations: object = dilation
    if h is None or r is None:
        h, r, strides, paddings, dilations = 1, 1, (1, stride), (0, padding), (1, dilation)
    given = {"n": n, "c": c, "h": h, "w": w, "k": k, "r": r, "s": s}
    given = {name: positive("conv2d", name, value) for name, value in given.items()}
    n, c, h, w, k, r, s = given.values()
    groups = _groups(groups, c, k)
    stride_h, stride_w = along("conv2d", "stride", strides, "hw")
    dilation_h, dilation_w = along("conv2d", "dilation", dilations, "hw")
    vertical, horizontal = padding_along("conv2d", paddings, "hw")
    top, bottom = sides(vertical, h, r, stride_h, dilation_h)
    left, right = sides(horizontal, w, s, stride_w, dilation_w)
    if filters not in ("kcrs", "krsc"):
        raise ProblemError(f"conv2d: filters={filters!r} must be 'kcrs' or 'krsc'")
    out_h = outputs("conv2d", "h", h, r, stride_h, dilation_h, top, bottom)
    out_w = outputs("conv2d", "w", w, s, stride_w, dilation_w, left, right)
    channels = _channels(groups, c, k)
    n_index, h_index, w_index, r_index, s_index = (Affine(((d, 1),)) for d in "nhwrs")
    window_h = Affine((("h", stride_h), ("r", dilation_h)), -top)
    window_w = Affine((("w", stride_w), ("s", dilation_w)), -left)
    x = Tensor("x", "broadcast", (n_index, window_h, window_w, channels.x), (n, h, w, c))
    axes = dict(zip("kcrs", (*channels.w, r_index, s_index)))
    sizes = given | {"c": c // groups}
    weights = Tensor("w", "vector", tuple(axes[d] for d in filters), tuple(sizes[d] for d in filters))
    y = Tensor("y", "output", (n_index, h_index, w_index, channels.y), (n, out_h, out_w, k))
    dims = (("n", n), *channels.dims, ("h", out_h), ("w", out_w), ("r", r), ("s", s))
    dtypes = _dtypes(dtype, output_dtype)
    tensors = (x, weights, y)
    return in_layout(Problem(channels.op, dims, (*channels.summed, "r", "s"), tensors, *dtypes), layout)


def in_layout(problem: Problem, layout: str) -> Problem:
    """The convolution with the axes of x, of y and of its epilogue's arrays in the order of `layout`, "NCHW" too.

    Raises ProblemError.
    """
    layout, asked = layout.lower() if isinstance(layout, str) else layout, layout
    if layout not in LAYOUTS:
        raise ProblemError(f"{problem.op}: layout={asked!r:.40} must be {' or '.join(map(repr, LAYOUTS))}")
    if layout == problem.layout and problem.epilogue is None:
        return problem
    channels = problem.channel_axis
    images = problem.broadcast, problem.output
    if layout != problem.layout and any(x.shape[channels] != x.reached(problem.extents)[channels] for x in images):
        raise ProblemError(f"{problem.op}: images that lie in longer arrays have layout={problem.layout!r} alone")
    order = [axis for axis in range(len(problem.output.shape)) if axis != channels]
    order.insert(len(order) if layout == "nhwc" else 1, channels)

    def ordered(tensor: Tensor) -> Tensor:
        if tensor.role == "vector":
            return tensor
        return replace(
            tensor, indices=tuple(tensor.indices[i] for i in order), shape=tuple(tensor.shape[i] for i in order)
        )

    found = replace(problem, tensors=tuple(map(ordered, problem.tensors)))
    if problem.epilogue is None:
        return found
    return replace(found, epilogue=Epilogue(_along(problem.epilogue.value, found.output_axes)))


def of_one_image(problem: Problem) -> Problem | None:
    """The convolution of one of its images; None where its images are not apart, or there is one."""
    images = problem.broadcast, problem.output
    apart = all(image.indices[0] == Affine((("n", 1),)) and image.shape[0] == problem.extents["n"] for image in images)
    if problem.is_product or problem.origin or problem.extents["n"] == 1 or not apart:
        return None
    one = {image.name: replace(image, shape=(1, *image.shape[1:])) for image in images}
    return replace(
        problem,
        dims=tuple((dim, 1 if dim == "n" else extent) for dim, extent in problem.dims),
        tensors=tuple(one.get(tensor.name, tensor) for tensor in problem.tensors),
    )


def in_wider(problem: Problem, c_of: int | None = None, k_of: int | None = None) -> Problem:
    """The convolution whose x and y are the first channels of arrays of so many; None where these have no others.

    The other channels of y stay as they are. For a part that begins at a later channel, pass a pointer to that channel.
    Raises ProblemError.
    """
    found = problem
    for name, role, wanted in (("c", "broadcast", c_of), ("k", "output", k_of)):
        if wanted is None:
            continue
        width, tensor = positive("conv2d", f"{name}_of", wanted), found._role(role)
        if problem.layout != "nhwc" or problem.dtype != "f32" or len(problem.windows) != 2:
            raise ProblemError(
                f"{problem.op}: {name}_of={width}: only convolutions of images, f32 and channels last, take part of "
                "the channels of an array: leave it out"
            )
        if width < tensor.shape[-1]:
            raise ProblemError(f"conv2d: {name}_of={width} must be at least the {tensor.shape[-1]} channels of {name}")
        wider = replace(tensor, shape=(*tensor.shape[:-1], width))
        found = replace(found, tensors=tuple(wider if each is tensor else each for each in found.tensors))
    return found


def _along(value: Value, axes: tuple[str, ...]) -> Value:
    """The value with the axes of each array in the order of these axes."""
    if isinstance(value, EpilogueArray):
        return replace(value, axes=tuple(axis for axis in axes if axis in value.axes))
    if isinstance(value, Applied):
        return replace(value, arguments=tuple(_along(part, axes) for part in value.arguments))
    return value


@dataclass(frozen=True)
class _Channels:
    """The channel dims of a convolution, those that are summed over, and the channel indices of x, w (two) and y."""

    op: str
    dims: tuple[tuple[str, int], ...]
    summed: tuple[str, ...]
    x: Affine
    w: tuple[Affine, Affine]
    y: Affine


def _channels(groups: int, c: int, k: int) -> _Channels:
    c_index, k_index = Affine((("c", 1),)), Affine((("k", 1),))
    if groups == 1:
        return _Channels("conv2d", (("k", k), ("c", c)), ("c",), c_index, (k_index, c_index), k_index)
    if groups == c == k:
        return _Channels("depthwise2d", (("c", c),), (), c_index, (c_index, Affine(())), c_index)
    c, k = c // groups, k // groups
    x_index, y_index = Affine((("g", c), ("c", 1))), Affine((("g", k), ("k", 1)))
    return _Channels("conv2d", (("g", groups), ("k", k), ("c", c)), ("c",), x_index, (y_index, c_index), y_index)


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

    With `transpose_a` a is (K,M), with `transpose_b` b is (N,K). `batch` products of one shape are the dim `l`:
    a (L,M,K), b (L,K,N), c (L,M,N). With batch 1 there is no such axis.
    """
    given = {"m": m, "n": n, "k": k, "l": batch}
    extents = {name: positive("matmul", "batch" if name == "l" else name, value) for name, value in given.items()}

    def tensor(name: str, role: str, dims: str) -> Tensor:
        dims = dims if extents["l"] == 1 else "l" + dims
        return Tensor(name, role, tuple(Affine(((d, 1),)) for d in dims), tuple(extents[d] for d in dims))

    a = tensor("a", "broadcast", "km" if flag("matmul", "transpose_a", transpose_a) else "mk")
    b = tensor("b", "vector", "nk" if flag("matmul", "transpose_b", transpose_b) else "kn")
    dims = tuple((d, extents[d]) for d in ("mnk" if extents["l"] == 1 else "lmnk"))
    tensors = (a, b, tensor("c", "output", "mn"))
    return Problem("matmul", dims, ("k",), tensors, *_dtypes(dtype, output_dtype))


def in_order(problem: Problem, orders: Mapping[str, str]) -> Problem:
    """The matrix product whose arrays have their axes in other orders: {"a": "mlk"} for an a of (M,L,K).

    A number after an axis says how long it is in memory, if it is longer than the product needs: "ml36k" for the first
    12 of 36 matrices that lie beside each other. Raises ProblemError.
    """
    found = problem
    for name, order in orders.items():
        tensor = next((each for each in problem.tensors if each.name == name), None)
        named = re.findall(r"([lmnk])([0-9]{0,9})", order)
        if not problem.is_product or problem.dtype != "f32" or tensor is None:
            raise ProblemError(
                f"order_{name}={order}: only a, b and c of a matrix product of f32 have an order of axes"
            )
        axes = {index.terms[0][0]: index for index in tensor.indices}
        if "".join(axis + count for axis, count in named) != order or sorted(axes) != sorted(axis for axis, _ in named):
            raise ProblemError(f"matmul: order_{name}={order}: name each of its axes {' '.join(axes)} once")
        shape = tuple(int(count or problem.extents[axis]) for axis, count in named)
        short = [axis for (axis, _), size in zip(named, shape) if size < problem.extents[axis]]
        if short:
            raise ProblemError(f"matmul: order_{name}={order}: {short[0]} must be at least {problem.extents[short[0]]}")
        ordered = replace(tensor, indices=tuple(axes[axis] for axis, _ in named), shape=shape)
        found = replace(found, tensors=tuple(ordered if each is tensor else each for each in found.tensors))
    return found


def _dtypes(dtype: str, output_dtype: str | None) -> tuple[str, str]:
    dtype = dtype_of(dtype)
    return dtype, OUTPUT_DTYPE.get(dtype, dtype) if output_dtype is None else output_dtype_of(output_dtype)


def _groups(groups: object, c: int, k: int) -> int:
    count = positive("conv2d", "groups", groups)
    for name, channels in (("c", c), ("k", k)):
        if channels % count:
            raise ProblemError(f"conv2d: groups={count} do not divide {name}={channels}: all groups have equally many")
    return count
