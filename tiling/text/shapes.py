"""The text forms of a problem. `canonical` prints the key=value form, so a line of output can be run again.

    resnet18:R2                                  a layer of a suite (`tiling.text.suite`); a product: gpt2:QKV
    c=64,h=56,w=56,k=64,r=3,s=3,pad=1            key=value, with commas or spaces; a product: m=128,n=2304,k=768
    mb1ic64ih56oc64oh56kh3ph1                    a oneDNN benchdnn descriptor, of a convolution only

Each form may end with `,epilogue=relu(y + b)`, which takes the rest of the text (`tiling.epilogue`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial

from tiling.canonical import DEFAULT_LAYOUT, text_of
from tiling.epilogue import fused
from tiling.operators import in_layout
from tiling.problem import Problem, ProblemError, ShapeError
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.descriptor import descriptor, is_descriptor
from tiling.text.pairs import (
    CONVOLUTION_START,
    DTYPE_KEYS,
    KEYS,
    MATMUL_KEYS,
    MATMUL_START,
    VOLUME_KEYS,
    conv2d_with,
    convolution_of,
    matmul_of,
    of_either_operator,
    pairs_of,
)
from tiling.text.suite import Layer, find, read, suites

_A = {
    "conv2d": "a convolution",
    "conv3d": "a convolution",
    "depthwise2d": "a convolution",
    "grouped2d": "a convolution",
    "pointwise2d": "a convolution",
    "matmul": "a matrix product",
}
_EPILOGUE = re.compile(r"[,\s]*\bepilogue\s*=")
_IMAGE = re.compile(r"(?:^|[,\s])[hw]\s*=")  # an axis of an image, which a convolution names beside its channels
_LAYER_START = re.compile(r"[^=,\s]*:")


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
    if is_descriptor(text):
        return conv2d_with(descriptor(text))
    if _LAYER_START.match(text):
        return _layer(text, "conv2d")
    if MATMUL_START.search(text):
        raise ShapeError(f"{text[:60]!r} is a matrix product: give it to python -m search.matmul or generate_matmul")
    if "=" in text:
        return convolution_of(text)
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
    of_image = CONVOLUTION_START.search(shape) and _IMAGE.search(shape) and not MATMUL_START.search(shape)
    if is_descriptor(shape) or of_image:
        raise ShapeError(f"{shape[:60]!r} is a convolution: give it to python -m search.conv or generate_conv")
    if "=" not in shape:
        raise _unreadable(shape, "a layer (gpt2:QKV) or key=value pairs (m=384,n=3072,k=768)")
    return fused(matmul_of(shape), epilogue)


def _split(text: str) -> tuple[str, str | None]:
    """The shape, and the epilogue or None. The epilogue stands last, since it may hold commas and spaces."""
    found = _EPILOGUE.search(text)
    return (text[: found.start()].strip(), text[found.end() :].strip()) if found else (text.strip(), None)


def suite(name: str) -> tuple[Layer, ...]:
    """The layers of one suite, in the order of the network. Raises ShapeError where there is no such suite."""
    return read(name, of_either_operator)


def chosen(names: Iterable[str]) -> dict[str, tuple[Layer, ...]]:
    """The layers of several suites, by suite, each once. `resnet18:R2` names one layer alone.

    Raises ShapeError where a name is unknown.
    """
    found: dict[str, tuple[Layer, ...]] = {}
    for text in names:
        name, colon, layer = text.partition(":")
        named = (find(name, layer, of_either_operator),) if colon else suite(name)
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
    "conv3d": parse_shape,
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
    layer = find(name, wanted, of_either_operator)
    if layer.problem is None:
        raise ShapeError(f"{named}: {layer.unsupported}")
    if _A[layer.problem.op] != _A[op]:
        raise ShapeError(f"{named} is {_A[layer.problem.op]} ({layer.shape}), not {_A[op]}")
    if not pairs:
        return layer.problem
    keys = {"matmul": MATMUL_KEYS, "conv3d": VOLUME_KEYS}.get(layer.problem.op, KEYS)
    known, given = (pairs_of(part, (*keys, *DTYPE_KEYS)) for part in (layer.shape, *pairs))
    return of_either_operator(",".join(f"{key}={value}" for key, value in (known | given).items()))
