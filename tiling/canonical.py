"""A problem as text, in the key=value form that `tiling.text.shapes` parses: a line of output can be run again."""

from __future__ import annotations

from typing import Protocol

from tiling.dtypes import OUTPUT_DTYPE
from tiling.tensor import Tensor, Window

MATMUL_REQUIRED = ("m", "n", "k")
DEFAULT_LAYOUT = "nhwc"
# The last axis of an input of a product where it is transposed: a as (K,M), b as (N,K).
_LAST_IF_TRANSPOSED = {"a": "m", "b": "k"}


class Asked(Protocol):
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


def text_of(problem: Asked) -> str | None:
    """The shortest key=value form of an original problem. Keys with their default value are left out.

    None where there is no such form: for a problem of dot groups, or for an operator that no shape names.
    """
    if problem.dot_group:
        return None
    if problem.op == "matmul":
        shape = _product(problem)
    elif problem.op in ("conv2d", "depthwise2d", "grouped2d"):
        shape = _convolution(problem)
    else:
        return None
    dtype = f",dtype={problem.dtype}" if problem.dtype != "f32" else ""
    out = f",out={problem.output_dtype}" if problem.output_dtype != OUTPUT_DTYPE[problem.dtype] else ""
    return shape + dtype + out + (f",epilogue={problem.epilogue}" if problem.epilogue else "")


def transposed(product: Asked) -> tuple[Tensor, ...]:
    """The inputs of a matrix product that are transposed: a as (K,M), b as (N,K)."""
    inputs = (product.broadcast, product.vector)
    return tuple(t for t in inputs if t.indices[-1].terms == ((_LAST_IF_TRANSPOSED[t.name], 1),))


def _product(problem: Asked) -> str:
    extents = problem.extents
    sizes = {key: extents[key] for key in MATMUL_REQUIRED}
    options = {"batch": extents["l"]} if "l" in extents else {}
    options |= {f"trans_{tensor.name}": 1 for tensor in transposed(problem)}
    return ",".join(f"{key}={value}" for key, value in (sizes | options).items())


def _convolution(problem: Asked) -> str:
    extents = problem.extents
    size = dict(zip(problem.layout, problem.broadcast.shape))
    k = dict(zip(problem.layout, problem.output.shape))["c"]
    sizes = {**{key: size[key] for key in "nchw"}, "k": k, "r": extents["r"], "s": extents["s"]}
    vertical, horizontal = problem.windows
    (top, bottom), (left, right) = (
        _sides(window, extents[window.dim], extents[window.tap]) for window in (vertical, horizontal)
    )
    if top == bottom and left == right:
        padding = _per_axis("pad", top, left)
    else:
        padding = {"pad_top": top, "pad_bottom": bottom, "pad_left": left, "pad_right": right}
    options = {
        "groups": size["c"] * extents["r"] * extents["s"] * k // problem.vector.elements,
        **_per_axis("stride", vertical.stride, horizontal.stride),
        **_per_axis("dilation", vertical.dilation, horizontal.dilation),
    }
    kept: dict[str, int | str] = {key: value for key, value in sizes.items() if key != "n" or value != 1}
    kept |= {key: value for key, value in options.items() if value != 1}
    kept |= {key: value for key, value in padding.items() if value != 0}
    kept |= {"layout": problem.layout} if problem.layout != DEFAULT_LAYOUT else {}
    return ",".join(f"{key}={value}" for key, value in kept.items())


def _per_axis(name: str, vertical: int, horizontal: int) -> dict[str, int]:
    return {name: vertical} if vertical == horizontal else {f"{name}_h": vertical, f"{name}_w": horizontal}


def _sides(window: Window, points: int, taps: int) -> tuple[int, int]:
    """Padding before and after. A problem keeps only `before`; any `after` will do that gives this many outputs."""
    least = (points - 1) * window.stride + (taps - 1) * window.dilation + 1 - window.extent - window.before
    if least <= window.before < least + window.stride:
        return window.before, window.before
    return window.before, max(0, least)
