"""The text forms of a problem. A convolution may be written in three ways, and is always printed in the second:

    resnet18:R2                                  a layer of a suite (`tiling.suite`)
    c=64,h=56,w=56,k=64,r=3,s=3,pad=1            key=value, with commas or spaces between
    mb1ic64ih56oc64oh56kh3ph1                    a oneDNN benchdnn descriptor

A matrix product may be written in the first two: `gpt2:QKV`, `m=128,n=2304,k=768`, the latter also with `batch=8` and,
for an a of (K,M) or a b of (N,K), `trans_a=1` or `trans_b=1`. Each form may end with `,epilogue=relu(y + b)`, which
takes the rest of the text (`tiling.epilogue`). `canonical` prints the key=value form, so a line of output is enough to
run a case again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from tiling.epilogue import fused
from tiling.grouped import grouped2d
from tiling.operators import conv2d, in_layout, matmul, transposed
from tiling.pointwise import pointwise2d
from tiling.problem import OUTPUT_DTYPE, Problem, ProblemError, ShapeError
from tiling.suite import Layer, find, read, suites

REQUIRED = ("c", "h", "w", "k", "r", "s")
KEYS = (
    *("n", *REQUIRED, "stride", "stride_h", "stride_w", "dilation", "dilation_h", "dilation_w", "pad", "padding"),
    *("pad_h", "pad_w", "pad_top", "pad_bottom", "pad_left", "pad_right", "groups", "layout"),
)
MATMUL_REQUIRED = ("m", "n", "k")
MATMUL_KEYS = (*MATMUL_REQUIRED, "batch", "trans_a", "trans_b")
DEFAULT_LAYOUT = "nhwc"
DTYPE_KEYS = ("dtype", "out")  # of the inputs, and of the output where it is another than OUTPUT_DTYPE's
LARGEST = 2**31 - 1  # what a C int holds

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
    """The convolution that `text` stands for, in any of the three forms; in `layout` where one is given.

    Raises ShapeError, EpilogueError.
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
    """What to say of a text that has none of the `forms` of a shape."""
    if text in suites():
        return ShapeError(f"{text} is a suite: name one of its layers, as in {text}:{suite(text)[0].name}")
    return ShapeError(f"cannot read the shape {text[:60]!r}: give {forms}")


def parse_matmul_shape(text: str, layout: str | None = None) -> Problem:
    """The matrix product that `gpt2:QKV` or `m=…,n=…,k=…` stands for; it has no `layout`. Raises ShapeError,
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
    """The shape, and the epilogue where there is one: it stands last, since it may hold commas and spaces itself."""
    found = _EPILOGUE.search(text)
    return (text[: found.start()].strip(), text[found.end() :].strip()) if found else (text.strip(), None)


def suite(name: str) -> tuple[Layer, ...]:
    """The layers of one suite, in the order of the network. Raises ShapeError where there is no such suite."""
    return read(name, _of_either_operator)


def chosen(names: Iterable[str]) -> dict[str, tuple[Layer, ...]]:
    """The layers of several suites, by suite, each once; `resnet18:R2` names that one alone. Raises ShapeError for
    others.
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


_PARSERS = {
    "conv2d": parse_shape,
    "depthwise2d": parse_shape,
    "grouped2d": partial(_as, grouped2d),
    "pointwise2d": partial(_as, pointwise2d),
    "matmul": parse_matmul_shape,
}


def canonical(problem: Problem) -> str:
    """The shortest key=value form that parses back to an equal problem; what is 1 or 0 by default is left out."""
    problem = problem.asked
    dtype = f",dtype={problem.dtype}" if problem.dtype != "f32" else ""
    out = f",out={problem.output_dtype}" if problem.output_dtype != OUTPUT_DTYPE.get(problem.dtype) else ""
    return _canonical(problem) + dtype + out + (f",epilogue={problem.epilogue}" if problem.epilogue else "")


def _canonical(problem: Problem) -> str:
    extents = problem.extents
    if problem.op == "matmul":
        sizes = {key: extents[key] for key in MATMUL_REQUIRED}
        options = {"batch": extents["l"]} if "l" in extents else {}
        options |= {f"trans_{t.name}": 1 for t in transposed(problem)}
        return ",".join(f"{key}={value}" for key, value in (sizes | options).items())
    if problem.op not in ("conv2d", "depthwise2d", "grouped2d"):
        raise ShapeError(f"{problem.op} has no text form")
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
    kept = {key: value for key, value in sizes.items() if key != "n" or value != 1}
    kept |= {key: value for key, value in options.items() if value != 1}
    kept |= {key: value for key, value in padding.items() if value != 0}
    kept |= {"layout": problem.layout} if problem.layout != DEFAULT_LAYOUT else {}
    return ",".join(f"{key}={value}" for key, value in kept.items())


def _layer(text: str, op: str) -> Problem:
    """The problem of the layer that `suite:layer` names, which must be of this operator; with what `,key=value` pairs
    behind it say in place of the suite.
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
    """Key=value pairs with an m are a matrix product."""
    return _matmul(text) if _MATMUL_START.search(text) else _key_value(text)


def _matmul(text: str) -> Problem:
    pairs = _pairs(text, (*MATMUL_KEYS, *DTYPE_KEYS))
    _require(pairs, MATMUL_REQUIRED)
    sizes = {key: _number(key, pairs[key]) for key in ("batch", *MATMUL_REQUIRED) if key in pairs}
    turned = {f"transpose_{name}": _switch(pairs, f"trans_{name}") for name in "ab"}
    try:
        return matmul(**sizes, **turned, **_dtypes(pairs))
    except ProblemError as error:
        raise ShapeError(str(error)) from error


def _dtypes(pairs: Mapping[str, str]) -> dict[str, str | None]:
    return {"dtype": pairs.get("dtype", "f32"), "output_dtype": pairs.get("out")}


def _per_axis(name: str, vertical: int, horizontal: int) -> dict[str, int]:
    return {name: vertical} if vertical == horizontal else {f"{name}_h": vertical, f"{name}_w": horizontal}


def _sides(window, points: int, taps: int) -> tuple[int, int]:
    """Padding before and after. A problem keeps only `before`: `after` may be anything that gives this many outputs."""
    least = (points - 1) * window.stride + (taps - 1) * window.dilation + 1 - window.extent - window.before
    if least <= window.before < least + window.stride:
        return window.before, window.before
    return window.before, max(0, least)


def _key_value(text: str) -> Problem:
    pairs = _along_w(_pairs(text, (*KEYS, *DTYPE_KEYS)))
    _require(pairs, REQUIRED)
    sizes = {key: _number(key, pairs[key]) for key in REQUIRED}
    stride = _axes(pairs, "stride")
    dilation = _axes(pairs, "dilation")
    padding = tuple(_padding(pairs, axis) for axis in "hw")
    n, groups = (_number(key, pairs.get(key, "1")) for key in ("n", "groups"))
    options = {
        "stride": stride,
        "dilation": dilation,
        "padding": padding,
        "layout": pairs.get("layout", DEFAULT_LAYOUT),
    }
    return _conv2d({**sizes, "n": n, "groups": groups, **options, **_dtypes(pairs)})


def _along_w(pairs: dict[str, str]) -> dict[str, str]:
    """With neither h nor r the convolution is one-dimensional, and what is said of all axes is said of w."""
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
    """Which of these keys is given; two that set the same thing are refused."""
    given = [key for key in keys if key in pairs]
    if len(given) > 1:
        raise ShapeError(f"{given[0]} and {given[1]} set the same value: give one of them")
    return given[0] if given else None


def _axes(pairs: Mapping[str, str], name: str) -> tuple[int, int]:
    vertical, horizontal = (_only(pairs, (name, f"{name}_{axis}")) for axis in "hw")
    return tuple(_number(key, pairs[key]) if key else 1 for key in (vertical, horizontal))


def _padding(pairs: Mapping[str, str], axis: str) -> str | tuple[int, int]:
    whole = ("pad", "padding", f"pad_{axis}")
    before, after = (_only(pairs, (*whole, side)) for side in _SIDES[axis])
    if before in whole and pairs[before] in ("same", "valid"):
        return pairs[before]
    words = " or 'same' or 'valid'"
    return tuple(_number(key, pairs[key], words if key in whole else "") if key else 0 for key in (before, after))


def _descriptor(text: str) -> dict:
    """conv2d's arguments from a benchdnn descriptor, by benchdnn's own rules.

    Source: oneDNN, tests/benchdnn/conv/conv_aux.cpp, str2desc. The batch defaults to 2; with no key of the width at
    all it is the height's, with none of the height that is 1; dilation counts from 0; padding that is not given
    follows from the output size; and what the output needs after the last row or column is padding too.
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
    """Stride, dilation counted from 1, and padding before and after."""
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
    # Less padding than none would leave out input that the convolution must read.
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
    if not re.fullmatch("[0-9]+", value):
        # As repr shows it: a terminal's control characters are not for a message.
        raise ShapeError(f"{key}={repr(value[:40])[1:-1]}: expected a whole number{words}")
    if len(value.lstrip("0")) > len(str(LARGEST)) or int(value) > LARGEST:
        raise ShapeError(f"{key}={value[:20]}{'…' if len(value) > 20 else ''}: larger than {LARGEST}")
    return int(value)


def _conv2d(arguments: Mapping) -> Problem:
    """One type to catch: what the problem itself refuses is a ShapeError too, with the same message."""
    try:
        return conv2d(**arguments)
    except ProblemError as error:
        raise ShapeError(str(error)) from error
