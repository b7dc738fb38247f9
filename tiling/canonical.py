"""A problem as text, in the key=value form that `tiling.text.shapes` parses: a line of output can be run again."""

from __future__ import annotations

from math import prod
from typing import Protocol

from tiling.dtypes.products import OUTPUT_DTYPE
from tiling.tensor import Tensor, Window

MATMUL_REQUIRED = ("m", "n", "k")
DEFAULT_LAYOUT = "nhwc"
# The keys of the padding before and after, along each axis.
PAD_SIDES = {"d": ("pad_front", "pad_back"), "h": ("pad_top", "pad_bottom"), "w": ("pad_left", "pad_right")}
# The order of the axes of each array of a product: the usual one, and that of a transposed input.
_ORDERS = {"a": ("mk", "km"), "b": ("kn", "nk"), "c": ("mn", "")}


class Original(Protocol):
    """The part of an original problem (`tiling.problem`) that its text says."""

    @property
    def op(self) -> str: ...

    @property
    def dtype(self) -> str: ...

    @property
    def output_dtype(self) -> str: ...

    @property
    def epilogue(self) -> object: ...

    @property
    def layout(self) -> str: ...

    @property
    def channel_axis(self) -> int: ...

    @property
    def extents(self) -> dict[str, int]: ...

    @property
    def broadcast(self) -> Tensor: ...

    @property
    def vector(self) -> Tensor: ...

    @property
    def output(self) -> Tensor: ...

    @property
    def dot_group(self) -> int: ...

    @property
    def windows(self) -> tuple[Window, ...]: ...


def text_of(problem: Original) -> str | None:
    """The shortest key=value form of an original problem. Keys with their default value are left out.

    None where there is no such form: for a problem of dot groups, or for an operator that no shape names.
    """
    if problem.dot_group:
        return None
    if problem.op == "matmul":
        shape = _product(problem)
    elif problem.op in ("conv2d", "conv3d", "depthwise2d", "grouped2d"):
        shape = _convolution(problem)
    else:
        return None
    dtype = f",dtype={problem.dtype}" if problem.dtype != "f32" else ""
    out = f",out={problem.output_dtype}" if problem.output_dtype != OUTPUT_DTYPE[problem.dtype] else ""
    return shape + dtype + out + (f",epilogue={problem.epilogue}" if problem.epilogue else "")


def lying_of(problem: Original) -> dict[str, str | int]:
    """The keys of an original problem whose arrays lie in longer ones, or have their axes in other orders."""
    if problem.op == "matmul":
        found: dict[str, str | int] = {}
        for tensor in (problem.broadcast, problem.vector, problem.output):
            order = order_of(problem, tensor)
            if order not in _orders(problem, tensor):
                found[f"order_{tensor.name}"] = order
        return found
    images = {"c_of": problem.broadcast, "k_of": problem.output}
    axis = problem.channel_axis
    pairs = {key: (image.shape[axis], image.reached(problem.extents)[axis]) for key, image in images.items()}
    return {key: width for key, (width, own) in pairs.items() if width != own}


def _orders(product: Original, tensor: Tensor) -> tuple[str, str]:
    """The usual order of an array's axes, and the order of a transposed one."""
    plain, transposed = ("l" * ("l" in product.extents) + order for order in _ORDERS[tensor.name])
    return plain, transposed


def order_of(product: Original, tensor: Tensor) -> str:
    """The axes of a product's array in memory order, each with its length where memory is longer: `ml36k`."""
    axes = [index.terms[0][0] for index in tensor.indices]
    pairs = zip(axes, tensor.shape)
    return "".join(axis if size == product.extents[axis] else f"{axis}{size}" for axis, size in pairs)


def _product(problem: Original) -> str:
    extents = problem.extents
    sizes = {key: extents[key] for key in MATMUL_REQUIRED}
    options: dict[str, int | str] = {"batch": extents["l"]} if "l" in extents else {}
    for tensor in (problem.broadcast, problem.vector):
        if order_of(problem, tensor) == _orders(problem, tensor)[1]:
            options[f"trans_{tensor.name}"] = 1
    options |= lying_of(problem)
    return ",".join(f"{key}={value}" for key, value in (sizes | options).items())


def _convolution(problem: Original) -> str:
    """The text of a convolution of images or volumes."""
    extents, windows = problem.extents, problem.windows
    axes = "".join(window.dim for window in windows)
    order = f"n{axes}c" if problem.layout == DEFAULT_LAYOUT else f"nc{axes}"
    size = dict(zip(order, problem.broadcast.shape))
    size["c"], k = (image.reached(extents)[order.index("c")] for image in (problem.broadcast, problem.output))
    taps = {window.tap: extents[window.tap] for window in windows}
    sizes = {**{key: size[key] for key in ("n", "c", *axes)}, "k": k, **taps}
    options = {
        "groups": size["c"] * prod(taps.values()) * k // problem.vector.elements,
        **_of_axes("stride", {window.dim: window.stride for window in windows}),
        **_of_axes("dilation", {window.dim: window.dilation for window in windows}),
    }
    both = {window.dim: _sides(window, extents[window.dim], extents[window.tap]) for window in windows}
    if all(before == after for before, after in both.values()):
        padding = _of_axes("pad", {dim: before for dim, (before, _) in both.items()})
    else:
        padding = {key: number for dim, pair in both.items() for key, number in zip(PAD_SIDES[dim], pair)}
    kept: dict[str, int | str] = {key: value for key, value in sizes.items() if key != "n" or value != 1}
    kept |= {key: value for key, value in options.items() if value != 1}
    kept |= {key: value for key, value in padding.items() if value != 0}
    kept |= lying_of(problem)
    kept |= {"layout": problem.layout} if problem.layout != DEFAULT_LAYOUT else {}
    return ",".join(f"{key}={value}" for key, value in kept.items())


def _sides(window: Window, points: int, taps: int) -> tuple[int, int]:
    """Padding before and after. A problem keeps only `before`; any `after` will do that gives this many outputs."""
    least = (points - 1) * window.stride + (taps - 1) * window.dilation + 1 - window.extent - window.before
    if least <= window.before < least + window.stride:
        return window.before, window.before
    return window.before, max(0, least)


def _of_axes(name: str, numbers: dict[str, int]) -> dict[str, int]:
    """One number for all axes where they agree, else one for each."""
    if len(set(numbers.values())) == 1:
        return {name: next(iter(numbers.values()))}
    return {f"{name}_{axis}": number for axis, number in numbers.items()}
