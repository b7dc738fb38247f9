"""A convolution as oneDNN's benchdnn describes it, `mb1ic64ih56oc64oh56kh3ph1`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tiling.problem import ShapeError
from tiling.text.pairs import ConvolutionArguments, number, require

_KEYS = "g|mb|[io]c|[ioksdp][dhw]"
_WHOLE = re.compile(rf"_*(?:(?:{_KEYS})[0-9]+_*)+(?:n.*)?")
_PAIR = re.compile(rf"({_KEYS})([0-9]+)_*")
_START = re.compile(rf"_*(?:{_KEYS})[0-9]")


def is_descriptor(text: str) -> bool:
    """Whether a text begins as a descriptor does."""
    return bool(_START.match(text))


def descriptor(text: str) -> ConvolutionArguments:
    """conv2d's arguments from a benchdnn descriptor, by benchdnn's own rules.

    Source: oneDNN, tests/benchdnn/conv/conv_aux.cpp, str2desc. The batch is 2 by default. Without any key of the width
    the height's keys count for both; without any of the height it is 1. Dilation counts from 0. Padding that is not
    given follows from the output size, and so does padding after the last row or column.
    """
    if not _WHOLE.fullmatch(text):
        rest = re.sub(rf"^_*(?:{_PAIR.pattern})+", "", text)
        raise ShapeError(f"cannot read {rest[:40]!r} in the benchdnn descriptor {text[:80]!r}")
    pairs: dict[str, int] = {}
    position = len(text) - len(text.lstrip("_"))
    while match := _PAIR.match(text, position):
        key, value = match.groups()
        if key in pairs:
            raise ShapeError(f"{key}{value[:20]}: {key} is given twice")
        pairs[key], position = number(key, value), match.end()
    trivial = {"id": 1, "od": 1, "kd": 1, "sd": 1, "pd": 0, "dd": 0}
    for key, value in trivial.items():
        if pairs.pop(key, value) != value:
            raise ShapeError(f"{key}: descriptors of 3-D convolutions are not read: write c=…,d=…,h=…,w=…,k=…,q=…")
    if not any(f"{letter}w" in pairs for letter in "iokspd"):
        pairs |= {f"{letter}w": pairs[f"{letter}h"] for letter in "iokspd" if f"{letter}h" in pairs}
    if not any(f"{letter}h" in pairs for letter in "iokspd"):
        pairs |= {"ih": 1, "kh": 1}  # one-dimensional
    require(pairs, ("ic", "oc", "ih", "iw", "kh", "kw"))
    (stride_h, dilation_h, pad_h), (stride_w, dilation_w, pad_w) = (_axis(pairs, axis) for axis in "hw")
    return {
        **{"n": pairs.get("mb", 2), "c": pairs["ic"], "k": pairs["oc"], "groups": pairs.get("g", 1)},
        **{"h": pairs["ih"], "w": pairs["iw"], "r": pairs["kh"], "s": pairs["kw"]},
        **{"stride": (stride_h, stride_w), "dilation": (dilation_h, dilation_w), "padding": (pad_h, pad_w)},
    }


def _axis(pairs: Mapping[str, int], axis: str) -> tuple[int, int, tuple[int, int]]:
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
