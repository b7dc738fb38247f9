"""Blocks of C as text, and the terms of addresses."""

from __future__ import annotations

from collections.abc import Mapping

from tiling.tensor import Tensor

INDENT = "    "


def indented(lines: list[str]) -> list[str]:
    """The lines, indented by one level."""
    return [INDENT + line for line in lines]


def terms(prefix: str, offsets: Mapping[str, int], tensor: Tensor) -> list[str]:
    """The terms of an address of `tensor`, such as `3 * X_w`: one for each dim that moves it by more than 0."""
    named = {dim: at for dim, at in offsets.items() if at and dim in tensor.dims}
    return [f"{prefix}_{dim}" if at == 1 else f"{at} * {prefix}_{dim}" for dim, at in named.items()]


def chosen(arms: list[tuple[str, list[str]]]) -> list[str]:
    """An if/else chain of (test, lines). The last arm needs no test, and a single arm needs no branch."""
    if len(arms) == 1:
        return arms[0][1]
    lines = []
    for number, (test, inside) in enumerate(arms):
        head = f"if ({test}) {{" if number == 0 else f"}} else if ({test}) {{"
        lines += ["} else {" if number == len(arms) - 1 else head, *indented(inside)]
    return [*lines, "}"]
