"""The text forms of a problem. `canonical` prints the key=value form, so a line of output can be run again.

    resnet18:R2                                  a layer of a suite (`tiling.text.suite`); a product: gpt2:QKV
    c=64,h=56,w=56,k=64,r=3,s=3,pad=1            key=value, with commas or spaces; a product: m=128,n=2304,k=768
    mb1ic64ih56oc64oh56kh3ph1                    a oneDNN benchdnn descriptor, of a convolution only

Each form may end with `,epilogue=relu(y + b)`, which takes the rest of the text (`tiling.epilogue`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypedDict

from tiling.canonical import DEFAULT_LAYOUT, MATMUL_REQUIRED, text_of
from tiling.epilogue import fused
from tiling.operators import Side, conv2d, in_layout, matmul
from tiling.problem import Problem, ProblemError, ShapeError
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.suite import Layer, find, read, suites

REQUIRED = ("c", "h", "w", "k", "r", "s")
KEYS = (
    *("n", *REQUIRED, "stride", "stride_h", "stride_w", "dilation", "dilation_h", "dilation_w", "pad", "padding"),
    *("pad_h", "pad_w", "pad_top", "pad_bottom", "pad_left", "pad_right", "groups", "layout"),
)
MATMUL_KEYS = (*MATMUL_REQUIRED, "batch", "trans_a", "trans_b")
# The dtype of the inputs, and the dtype of the output where it is not the default (OUTPUT_DTYPE).
DTYPE_KEYS = ("dtype", "out")
LARGEST = 2**31 - 1  # the largest C int

_A = {
    "conv2d": "a convolution",
    "depthwise2d": "a convolution",
    "grouped2d": "a convolution",
    "pointwise2d": "a convolution",
    "matmul": "a matrix product",
}
_SIDES = {"h": ("pad_top", "pad_bottom"), "w": ("pad_left", "pad_right")}
_EPILOGUE = re.compile(r"[,\s]*\bepilogue\s*=")
_DESCRIPTOR_KEYS = "g|mb|[io]c|[ioksdp][dhw]"
_DESCRIPTOR = re.compile(rf"_*(?:(?:{_DESCRIPTOR_KEYS})[0-9]+_*)+(?:n.*)?")
_DESCRIPTOR_PAIR = re.compile(rf"({_DESCRIPTOR_KEYS})([0-9]+)_*")
_LAYER_START = re.compile(r"[^=,\s]*:")
_MATMUL_START = re.compile(r"(?:^|[,\s])m\s*=")
_DESCRIPTOR_START = re.compile(rf"_*(?:{_DESCRIPTOR_KEYS})[0-9]")


def parse_shape(text: str, layout: str | None = None) -> Problem:
    """The convolution that `text` spells in any of the three forms, in `layout` where one is given.

    Raises ShapeError or EpilogueError.
    """
    shape, epilogue = _split(text)
    problem = _convolution(shape)
    return fused(problem if layout is None else _in_layout(problem, layout), epilogue)


def _in_layout(problem: Problem, layout: str) -> Problem:
    if problem.layout not in (DEFAULT_LAYOUT, layout):
        raise ShapeError(
            f"the shape says layout={problem.layout}, and {layout} was asked for beside it: give one of them"
        )
    try:
        return in_layout(problem, layout)
    except ProblemError as error:
        raise ShapeError(str(error)) from error


def _convolution(text: str) -> Problem:
    if _DESCRIPTOR_START.match(text):
        return _conv2d(_descriptor(text))
    if _LAYER_START.match(text):
        return _layer(text, "conv2d")
    if _MATMUL_START.search(text):
        raise ShapeError(f"{text[:60]!r} is a matrix product: give it to python -m search.matmul or generate_matmul")
    if "=" in text:
        return _key_value(text)
    raise _unreadable(
        text,
        "a layer (resnet18:R2), key=value pairs (c=64,h=56,w=56,k=64,r=3,s=3,pad=1) or a benchdnn descriptor "
        "(mb1ic64ih56oc64kh3ph1)",
    )


def _unreadable(text: str, forms: str) -> ShapeError:
    """The error for a text that has none of the `forms` of a shape."""
    if text in suites():
        return ShapeError(f"{text} is a suite: name one of its layers, as in {text}:{suite(text)[0].name}")
    return ShapeError(f"cannot read the shape {text[:60]!r}: give {forms}")


def parse_matmul_shape(text: str, layout: str | None = None) -> Problem:
    """The matrix product that `gpt2:QKV` or `m=…,n=…,k=…` spells. It has no `layout`.

    `batch=8`, `trans_a=1` for an a of (K,M) and `trans_b=1` for a b of (N,K) may follow. Raises ShapeError or
    EpilogueError.
    """
    if layout is not None:
        raise ShapeError(f"a matrix product has no layout {layout!r:.40}: leave it out")
    shape, epilogue = _split(text)
    if _LAYER_START.match(shape):
        return fused(_layer(shape, "matmul"), epilogue)
    if "=" not in shape:
        raise _unreadable(shape, "a layer (gpt2:QKV) or key=value pairs (m=384,n=3072,k=768)")
    return fused(_matmul(shape), epilogue)


def _split(text: str) -> tuple[str, str | None]:
    """The shape, and the epilogue or None. The epilogue stands last, since it may hold commas and spaces."""
    found = _EPILOGUE.search(text)
    return (text[: found.start()].strip(), text[found.end() :].strip()) if found else (text.strip(), None)


def suite(name: str) -> tuple[Layer, ...]:
    """The layers of one suite, in the order of the network. Raises ShapeError where there is no such suite."""
    return read(name, _of_either_operator)


def chosen(names: Iterable[str]) -> dict[str, tuple[Layer, ...]]:
    """The layers of several suites, by suite, each once. `resnet18:R2` names one layer alone.

    Raises ShapeError where a name is unknown.
    """
    found: dict[str, tuple[Layer, ...]] = {}
    for text in names:
        name, colon, layer = text.partition(":")
        named = (find(name, layer, _of_either_operator),) if colon else suite(name)
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *named)))
    return found


def problem_of(op: str, text: str) -> Problem:
    """The problem that `canonical` printed as `text`. Raises ShapeError."""
    if op not in _PARSERS:
        raise ShapeError(f"there is no operator {op[:20]!r}; there are {', '.join(_PARSERS)}")
    return _PARSERS[op](text)


def _as(operator: Callable[[Problem], Problem], text: str) -> Problem:
    try:
        return operator(parse_shape(text))
    except ProblemError as error:
        raise ShapeError(str(error)) from error


_PARSERS: dict[str, Callable[[str], Problem]] = {
    "conv2d": parse_shape,
    "depthwise2d": parse_shape,
    "grouped2d": partial(_as, grouped2d),
    "pointwise2d": partial(_as, pointwise2d),
    "matmul": parse_matmul_shape,
}


def canonical(problem: Problem) -> str:
    """The shortest key=value form that parses back to an equal problem. Keys with their default value are left out."""
    text = text_of(problem.original)
    if text is None:
        raise ShapeError(f"{problem.op} has no text form")
    return text


def _layer(text: str, op: str) -> Problem:
    """The problem of the layer that `suite:layer` names. `,key=value` pairs after it replace what the suite says.

    Raises ShapeError where the layer is not of this operator.
    """
    named, *pairs = re.split(r"[,\s]+", text.strip(), maxsplit=1)
    name, _, wanted = named.partition(":")
    layer = find(name, wanted, _of_either_operator)
    if layer.problem is None:
        raise ShapeError(f"{named}: {layer.refused}")
    if _A[layer.problem.op] != _A[op]:
        raise ShapeError(f"{named} is {_A[layer.problem.op]} ({layer.shape}), not {_A[op]}")
    if not pairs:
        return layer.problem
    keys = MATMUL_KEYS if op == "matmul" else KEYS
    known, given = (_pairs(part, (*keys, *DTYPE_KEYS)) for part in (layer.shape, *pairs))
    return _of_either_operator(",".join(f"{key}={value}" for key, value in (known | given).items()))


def _of_either_operator(text: str) -> Problem:
    """The problem of key=value pairs. With a key m it is a matrix product, else a convolution."""
    return _matmul(text) if _MATMUL_START.search(text) else _key_value(text)


def _matmul(text: str) -> Problem:
    pairs = _pairs(text, (*MATMUL_KEYS, *DTYPE_KEYS))
    _require(pairs, MATMUL_REQUIRED)
    sizes = {key: _number(key, pairs[key]) for key in ("batch", *MATMUL_REQUIRED) if key in pairs}
    a, b = (_switch(pairs, f"trans_{name}") for name in "ab")
    try:
        return matmul(
            m=sizes["m"],
            n=sizes["n"],
            k=sizes["k"],
            batch=sizes.get("batch", 1),
            transpose_a=a,
            transpose_b=b,
            **_dtypes(pairs),
        )
    except ProblemError as error:
        raise ShapeError(str(error)) from error


class _Dtypes(TypedDict, total=False):
    """The arguments for the dtypes, which every operator takes."""

    dtype: str
    output_dtype: str | None


class _Convolution(_Dtypes, total=False):
    """The arguments of conv2d."""

    n: int
    c: int
    h: int
    w: int
    k: int
    r: int
    s: int
    stride: tuple[int, int]
    padding: tuple[Side, Side]
    dilation: tuple[int, int]
    groups: int
    layout: str


def _dtypes(pairs: Mapping[str, str]) -> _Dtypes:
    return {"dtype": pairs.get("dtype", "f32"), "output_dtype": pairs.get("out")}


def _key_value(text: str) -> Problem:
    pairs = _along_w(_pairs(text, (*KEYS, *DTYPE_KEYS)))
    _require(pairs, REQUIRED)
    c, h, w, k, r, s = (_number(key, pairs[key]) for key in REQUIRED)
    stride = _axes(pairs, "stride")
    dilation = _axes(pairs, "dilation")
    vertical, horizontal = (_padding(pairs, axis) for axis in "hw")
    n, groups = (_number(key, pairs.get(key, "1")) for key in ("n", "groups"))
    return _conv2d(
        {
            **{"n": n, "c": c, "h": h, "w": w, "k": k, "r": r, "s": s, "groups": groups},
            **{"stride": stride, "dilation": dilation, "padding": (vertical, horizontal)},
            "layout": pairs.get("layout", DEFAULT_LAYOUT),
            **_dtypes(pairs),
        }
    )


def _along_w(pairs: dict[str, str]) -> dict[str, str]:
    """The pairs of a 2-D convolution. With neither h nor r it is one-dimensional, and all keys are those along w."""
    if "h" in pairs or "r" in pairs:
        return pairs
    whole = {"stride": "stride_w", "dilation": "dilation_w", "pad": "pad_w", "padding": "pad_w"}
    for key, along in whole.items():
        _only(pairs, (key, along))
    return {"h": "1", "r": "1"} | {whole.get(key, key): value for key, value in pairs.items()}


def _pairs(text: str, keys: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in re.split(r"[,\s]+", re.sub(r"\s*=\s*", "=", text.strip())):
        if not part:
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise ShapeError(f"{part[:40]!r} is not key=value")
        if key not in keys:
            raise ShapeError(f"{part[:40]!r}: unknown key {key[:20]!r}; known are {' '.join(keys)}")
        if key in pairs:
            raise ShapeError(f"{part[:40]!r}: {key} is given twice")
        pairs[key] = value
    return pairs


def _require(pairs: Mapping[str, object], keys: tuple[str, ...]) -> None:
    missing = [key for key in keys if key not in pairs]
    if missing:
        raise ShapeError(f"the shape lacks {', '.join(missing)}")


def _only(pairs: Mapping[str, str], keys: Iterable[str]) -> str | None:
    """The one of these keys that is given, or None. Raises ShapeError for two, since they set the same value."""
    given = [key for key in keys if key in pairs]
    if len(given) > 1:
        raise ShapeError(f"{given[0]} and {given[1]} set the same value: give one of them")
    return given[0] if given else None


def _axes(pairs: Mapping[str, str], name: str) -> tuple[int, int]:
    vertical, horizontal = (_only(pairs, (name, f"{name}_{axis}")) for axis in "hw")
    down, along = (_number(key, pairs[key]) if key else 1 for key in (vertical, horizontal))
    return down, along


def _padding(pairs: Mapping[str, str], axis: str) -> Side:
    whole = ("pad", "padding", f"pad_{axis}")
    before, after = (_only(pairs, (*whole, side)) for side in _SIDES[axis])
    if before in whole and pairs[before] in ("same", "valid"):
        return pairs[before]
    words = " or 'same' or 'valid'"
    top, bottom = (_number(key, pairs[key], words if key in whole else "") if key else 0 for key in (before, after))
    return top, bottom


def _descriptor(text: str) -> _Convolution:
    """conv2d's arguments from a benchdnn descriptor, by benchdnn's own rules.

    Source: oneDNN, tests/benchdnn/conv/conv_aux.cpp, str2desc. The batch is 2 by default. Without any key of the width
    the height's keys count for both; without any of the height it is 1. Dilation counts from 0. Padding that is not
    given follows from the output size, and so does padding after the last row or column.
    """
    if not _DESCRIPTOR.fullmatch(text):
        rest = re.sub(rf"^_*(?:{_DESCRIPTOR_PAIR.pattern})+", "", text)
        raise ShapeError(f"cannot read {rest[:40]!r} in the benchdnn descriptor {text[:80]!r}")
    pairs: dict[str, int] = {}
    position = len(text) - len(text.lstrip("_"))
    while match := _DESCRIPTOR_PAIR.match(text, position):
        key, value = match.groups()
        if key in pairs:
            raise ShapeError(f"{key}{value[:20]}: {key} is given twice")
        pairs[key], position = _number(key, value), match.end()
    trivial = {"id": 1, "od": 1, "kd": 1, "sd": 1, "pd": 0, "dd": 0}
    for key, value in trivial.items():
        if pairs.pop(key, value) != value:
            raise ShapeError(f"{key}: 3-D convolutions are not supported yet")
    if not any(f"{letter}w" in pairs for letter in "iokspd"):
        pairs |= {f"{letter}w": pairs[f"{letter}h"] for letter in "iokspd" if f"{letter}h" in pairs}
    if not any(f"{letter}h" in pairs for letter in "iokspd"):
        pairs |= {"ih": 1, "kh": 1}  # one-dimensional
    _require(pairs, ("ic", "oc", "ih", "iw", "kh", "kw"))
    (stride_h, dilation_h, pad_h), (stride_w, dilation_w, pad_w) = (_descriptor_axis(pairs, axis) for axis in "hw")
    return {
        **{"n": pairs.get("mb", 2), "c": pairs["ic"], "k": pairs["oc"], "groups": pairs.get("g", 1)},
        **{"h": pairs["ih"], "w": pairs["iw"], "r": pairs["kh"], "s": pairs["kw"]},
        **{"stride": (stride_h, stride_w), "dilation": (dilation_h, dilation_w), "padding": (pad_h, pad_w)},
    }


def _descriptor_axis(pairs: Mapping[str, int], axis: str) -> tuple[int, int, tuple[int, int]]:
    """The stride, the dilation counted from 1, and the padding before and after."""
    size, taps, stride = pairs[f"i{axis}"], pairs[f"k{axis}"], pairs.get(f"s{axis}", 1)
    dilation = pairs.get(f"d{axis}", 0) + 1
    before = pairs.get(f"p{axis}", 0)
    out = pairs.get(f"o{axis}")
    if not out or 0 in (size, taps, stride):
        return stride, dilation, (before, before)
    both = (out - 1) * stride + (taps - 1) * dilation + 1 - size
    if f"p{axis}" not in pairs:
        before = max(0, both) // 2
    after = max(0, both - before)
    # Negative padding would leave out input that the convolution must read.
    if before + after - both >= stride:
        least = (size + before + after - (taps - 1) * dilation - 1) // stride + 1
        raise ShapeError(f"o{axis}{out} does not fit: the other sizes give at least {least} outputs along {axis}")
    return stride, dilation, (before, after)


def _switch(pairs: Mapping[str, str], key: str) -> bool:
    value = pairs.get(key, "0")
    if value not in ("0", "1"):
        raise ShapeError(f"{key}={repr(value[:40])[1:-1]}: expected 0 or 1")
    return value == "1"


def _number(key: str, value: str, words: str = "") -> int:
    if re.fullmatch("-[0-9]{1,20}", value):
        least = 0 if key.startswith("pad") else 1
        raise ShapeError(f"{key}={value} must be at least {least}{words and ',' + words}")
    if not re.fullmatch("[0-9]+", value):
        # repr, since control characters would reach the terminal of whoever reads the message.
        raise ShapeError(f"{key}={repr(value[:40])[1:-1]}: expected a whole number{words}")
    if len(value.lstrip("0")) > len(str(LARGEST)) or int(value) > LARGEST:
        raise ShapeError(f"{key}={value[:20]}{'…' if len(value) > 20 else ''}: larger than {LARGEST}")
    return int(value)


def _conv2d(arguments: _Convolution) -> Problem:
    """The convolution. Raises ShapeError for a problem that cannot be computed too, so callers catch one type."""
    try:
        return conv2d(**arguments)
    except ProblemError as error:
        raise ShapeError(str(error)) from error
