"""The key=value form of a problem, `c=64,h=56,w=56,k=64,r=3,s=3,pad=1` or `m=128,n=2304,k=768`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypedDict

from tiling.canonical import DEFAULT_LAYOUT, MATMUL_REQUIRED, PAD_SIDES
from tiling.choices import meant
from tiling.operators import conv2d, in_order, in_wider, matmul
from tiling.problem import Problem, ProblemError, ShapeError
from tiling.sliding import Side
from tiling.volumes import conv3d

REQUIRED = ("c", "h", "w", "k", "r", "s")
KEYS = (
    *("n", *REQUIRED, "stride", "stride_h", "stride_w", "dilation", "dilation_h", "dilation_w", "pad", "padding"),
    *("pad_h", "pad_w", "pad_top", "pad_bottom", "pad_left", "pad_right", "groups", "layout"),
    *("c_of", "k_of"),
)
VOLUME_REQUIRED = ("c", "d", "h", "w", "k", "q", "r", "s")
VOLUME_KEYS = (
    *("n", *VOLUME_REQUIRED, "groups", "layout", "pad", "padding"),
    *(f"{name}{axis}" for name in ("stride", "dilation") for axis in ("", "_d", "_h", "_w")),
    *(key for axis, sides in PAD_SIDES.items() for key in (f"pad_{axis}", *sides)),
)
MATMUL_KEYS = (*MATMUL_REQUIRED, "batch", "trans_a", "trans_b", "order_a", "order_b", "order_c")
# The dtype of the inputs, and the dtype of the output where it is not the default (OUTPUT_DTYPE).
DTYPE_KEYS = ("dtype", "out")
LARGEST = 2**31 - 1  # the largest C int
VOLUME_START = re.compile(r"(?:^|[,\s])[dq]\s*=")
MATMUL_START = re.compile(r"(?:^|[,\s])m\s*=")
CONVOLUTION_START = re.compile(r"(?:^|[,\s])c\s*=")


def of_either_operator(text: str) -> Problem:
    """The problem of key=value pairs. With a key m it is a matrix product, else a convolution."""
    return matmul_of(text) if MATMUL_START.search(text) else convolution_of(text)


def matmul_of(text: str) -> Problem:
    """The matrix product of key=value pairs. Raises ShapeError."""
    pairs = pairs_of(text, (*MATMUL_KEYS, *DTYPE_KEYS))
    require(pairs, MATMUL_REQUIRED)
    sizes = {key: number(key, pairs[key]) for key in ("batch", *MATMUL_REQUIRED) if key in pairs}
    for name in "ab":
        _only(pairs, (f"trans_{name}", f"order_{name}"))
    a, b = (_switch(pairs, f"trans_{name}") for name in "ab")
    try:
        product = matmul(
            m=sizes["m"],
            n=sizes["n"],
            k=sizes["k"],
            batch=sizes.get("batch", 1),
            transpose_a=a,
            transpose_b=b,
            **_dtypes(pairs),
        )
        return in_order(product, {name: pairs[f"order_{name}"][:40] for name in "abc" if f"order_{name}" in pairs})
    except ProblemError as error:
        raise ShapeError(str(error)) from error


class _Dtypes(TypedDict, total=False):
    """The arguments for the dtypes, which every operator takes."""

    dtype: str
    output_dtype: str | None


class ConvolutionArguments(_Dtypes, total=False):
    """The arguments of conv2d."""

    n: int
    c: int
    h: int
    w: int
    k: int
    r: int
    s: int
    stride: tuple[int, ...]
    padding: tuple[Side, Side]
    dilation: tuple[int, ...]
    groups: int
    layout: str


def _dtypes(pairs: Mapping[str, str]) -> _Dtypes:
    return {"dtype": pairs.get("dtype", "f32"), "output_dtype": pairs.get("out")}


def convolution_of(text: str) -> Problem:
    """The convolution of key=value pairs; a key d or q says that it is one of volumes. Raises ShapeError."""
    if VOLUME_START.search(text):
        return _volume_of(text)
    pairs = _along_w(pairs_of(text, (*KEYS, *DTYPE_KEYS)))
    require(pairs, REQUIRED)
    c, h, w, k, r, s = (number(key, pairs[key]) for key in REQUIRED)
    stride = _axes(pairs, "stride", "hw")
    dilation = _axes(pairs, "dilation", "hw")
    vertical, horizontal = (_padding(pairs, axis) for axis in "hw")
    n, groups = (number(key, pairs.get(key, "1")) for key in ("n", "groups"))
    wider = [number(key, pairs[key]) if key in pairs else None for key in ("c_of", "k_of")]
    problem = conv2d_with(
        {
            **{"n": n, "c": c, "h": h, "w": w, "k": k, "r": r, "s": s, "groups": groups},
            **{"stride": stride, "dilation": dilation, "padding": (vertical, horizontal)},
            "layout": pairs.get("layout", DEFAULT_LAYOUT),
            **_dtypes(pairs),
        }
    )
    try:
        return in_wider(problem, *wider)
    except ProblemError as error:
        raise ShapeError(str(error)) from error


def _volume_of(text: str) -> Problem:
    """The 3-D convolution of key=value pairs. Raises ShapeError."""
    pairs = pairs_of(text, (*VOLUME_KEYS, *DTYPE_KEYS))
    require(pairs, VOLUME_REQUIRED)
    sizes = {key: number(key, pairs[key]) for key in VOLUME_REQUIRED}
    front, top, left = (_padding(pairs, axis) for axis in "dhw")
    try:
        return conv3d(
            n=number("n", pairs.get("n", "1")),
            c=sizes["c"],
            d=sizes["d"],
            h=sizes["h"],
            w=sizes["w"],
            k=sizes["k"],
            q=sizes["q"],
            r=sizes["r"],
            s=sizes["s"],
            stride=_axes(pairs, "stride", "dhw"),
            dilation=_axes(pairs, "dilation", "dhw"),
            padding=(front, top, left),
            groups=number("groups", pairs.get("groups", "1")),
            layout=pairs.get("layout", DEFAULT_LAYOUT),
            **_dtypes(pairs),
        )
    except ProblemError as error:
        raise ShapeError(str(error)) from error


def _along_w(pairs: dict[str, str]) -> dict[str, str]:
    """The pairs of a 2-D convolution. With neither h nor r it is one-dimensional, and all keys are those along w."""
    if "h" in pairs or "r" in pairs:
        return pairs
    whole = {"stride": "stride_w", "dilation": "dilation_w", "pad": "pad_w", "padding": "pad_w"}
    for key, along in whole.items():
        _only(pairs, (key, along))
    return {"h": "1", "r": "1"} | {whole.get(key, key): value for key, value in pairs.items()}


def pairs_of(text: str, keys: tuple[str, ...]) -> dict[str, str]:
    """The pairs of a text, of these keys alone. Raises ShapeError."""
    pairs: dict[str, str] = {}
    for part in re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", text.strip())):
        if not part:
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise ShapeError(f"{part[:40]!r} is not key=value")
        if key not in keys:
            raise ShapeError(f"{part[:40]!r}: unknown key {key[:20]!r}{meant(key, keys)}; known are {' '.join(keys)}")
        if key in pairs:
            raise ShapeError(f"{part[:40]!r}: {key} is given twice")
        pairs[key] = value
    return pairs


def require(pairs: Mapping[str, object], keys: tuple[str, ...]) -> None:
    """Raises ShapeError where a key is missing."""
    missing = [key for key in keys if key not in pairs]
    if missing:
        raise ShapeError(f"the shape lacks {', '.join(missing)}")


def _only(pairs: Mapping[str, str], keys: Iterable[str]) -> str | None:
    """The one of these keys that is given, or None. Raises ShapeError for two, since they set the same value."""
    given = [key for key in keys if key in pairs]
    if len(given) > 1:
        raise ShapeError(f"{given[0]} and {given[1]} set the same value: give one of them")
    return given[0] if given else None


def _axes(pairs: Mapping[str, str], name: str, axes: str) -> tuple[int, ...]:
    keys = [_only(pairs, (name, f"{name}_{axis}")) for axis in axes]
    return tuple(number(key, pairs[key]) if key else 1 for key in keys)


def _padding(pairs: Mapping[str, str], axis: str) -> Side:
    whole = ("pad", "padding", f"pad_{axis}")
    before, after = (_only(pairs, (*whole, side)) for side in PAD_SIDES[axis])
    if before in whole and pairs[before] in ("same", "valid"):
        return pairs[before]
    words = " or 'same' or 'valid'"
    top, bottom = (number(key, pairs[key], words if key in whole else "") if key else 0 for key in (before, after))
    return top, bottom


def _switch(pairs: Mapping[str, str], key: str) -> bool:
    value = pairs.get(key, "0")
    if value not in ("0", "1"):
        raise ShapeError(f"{key}={repr(value[:40])[1:-1]}: expected 0 or 1")
    return value == "1"


def number(key: str, value: str, words: str = "") -> int:
    """The whole number that a key has. words: what else it may be. Raises ShapeError."""
    if re.fullmatch("-[0-9]{1,20}", value):
        least = 0 if key.startswith("pad") else 1
        raise ShapeError(f"{key}={value} must be at least {least}{words and ',' + words}")
    if not re.fullmatch("[0-9]+", value):
        # repr, since control characters would reach the terminal of whoever reads the message.
        raise ShapeError(f"{key}={repr(value[:40])[1:-1]}: expected a whole number{words}")
    if len(value.lstrip("0")) > len(str(LARGEST)) or int(value) > LARGEST:
        raise ShapeError(f"{key}={value[:20]}{'…' if len(value) > 20 else ''}: larger than {LARGEST}")
    return int(value)


def conv2d_with(arguments: ConvolutionArguments) -> Problem:
    """The convolution. Raises ShapeError for a problem that cannot be computed too, so callers catch one type."""
    try:
        return conv2d(**arguments)
    except ProblemError as error:
        raise ShapeError(str(error)) from error
