"""Expressions and blocks of C as text: sums that leave out what is zero, products, indentation."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.problem import Tensor

INDENT = "    "


def indented(lines: list[str]) -> list[str]:
    """The lines one level further in."""
    return [INDENT + line for line in lines]


def added(base: str, terms: list[str]) -> str:
    """`base + first + second`."""
    return " + ".join([base, *terms])


def terms(prefix: str, offsets: Mapping[str, int], tensor: Tensor) -> list[str]:
    """The terms `3 * X_w` of an address of `tensor`, by the dims that move it, that are not zero."""
    named = {dim: at for dim, at in offsets.items() if at and dim in tensor.dims}
    return [f"{prefix}_{dim}" if at == 1 else f"{at} * {prefix}_{dim}" for dim, at in named.items()]


def moved(base: str, offset: int) -> str:
    """The position `offset` points after `base`."""
    if base == "0":
        return str(offset)
    return f"{base} + {offset}" if offset else base


def times(factor: int, text: str) -> str:
    """`3 * (text)`, or the text alone for a factor of 1."""
    return text if factor == 1 else f"{factor} * {bracketed(text)}"


def bracketed(text: str) -> str:
    """The text as a factor: in brackets, unless it is a name or a number."""
    return text if text.replace("_", "").isalnum() else f"({text})"


def chosen(arms: list[tuple[str, list[str]]]) -> list[str]:
    """An if/else chain of (test, lines) whose last arm needs no test; a single arm needs no branch at all."""
    if len(arms) == 1:
        return arms[0][1]
    lines = []
    for number, (test, inside) in enumerate(arms):
        head = f"if ({test}) {{" if number == 0 else f"}} else if ({test}) {{"
        lines += ["} else {" if number == len(arms) - 1 else head, *indented(inside)]
    return [*lines, "}"]
