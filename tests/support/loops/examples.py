"""Docstrings of passes, which show lines of loops before and after: whether a pass does that to a kernel."""

from __future__ import annotations

import re

from tiling.loops.kernel import Kernel
from tiling.loops.listing import listing
from tiling.loops.passes import LOWER

ARROW = "->"


def shown(text: str) -> tuple[list[str], list[str]]:
    """The lines before and after a pass: what stands left and right of an arrow, or above and below it."""
    lines = next(paragraph for paragraph in text.split("\n\n") if ARROW in paragraph.split()).splitlines()
    at = next(number for number, line in enumerate(lines) if ARROW in line.split())
    if lines[at].strip() == ARROW:
        return lines[:at], lines[at + 1 :]
    column = lines[at].index(f" {ARROW}") + 1
    sides = [(line[:column], line[column:].removeprefix(ARROW)) for line in lines]
    return [left for left, _ in sides], [right for _, right in sides]


def missing(lines: list[str], kernel: Kernel) -> str | None:
    """The first of these lines that the listing of a kernel does not have after the others; None if it has all.

    A line of dots stands for any lines, dots in a line for any text.
    """
    rest, found = [line.strip() for line in listing(kernel).splitlines()], -1
    for line in (line.strip() for line in lines):
        if line in ("", "…"):
            continue
        pattern = ".*".join(map(re.escape, line.split("…")))
        found = next((n for n in range(found + 1, len(rest)) if re.fullmatch(pattern, rest[n])), len(rest))
        if found == len(rest):
            return line
    return None


def check_example(docstring: str, name: str, forms: dict[str, Kernel]) -> None:
    """Asserts that a pass does what its docstring shows. forms: those of a kernel that needs it."""
    kernels = list(forms)
    assert kernels[0] == LOWER
    before, after = forms[kernels[kernels.index(name) - 1]], forms[name]
    left, right = shown(docstring)
    assert [line for line in left if line.strip()] and [line for line in right if line.strip()]
    assert before != after
    for lines, kernel, when in ((left, before, "before"), (right, after, "after")):
        line = missing(lines, kernel)
        assert line is None, f"the kernel {when} the pass has no such line: {line}"
    assert missing(left, after) or missing(right, before), "the example shows nothing that changes"
