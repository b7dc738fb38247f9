"""Each pass has a docstring that shows loops before and after it: what it makes of a small kernel now."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from cpu.passes.order import PRODUCT, PROGRAM
from tests.cpu.passes.examples import PRODUCTS, PROGRAMS, product_example, program_example
from tiling.loops.language import Kernel
from tiling.loops.listing import listing
from tiling.loops.passes import LOWER

ROOMS = ("control", "memory", "vectors", "registers", "program")
ARROW = "->"


def docstring(name: str) -> str:
    """The docstring of the file that is called as the pass."""
    file = name.replace(" ", "_")
    for room in ROOMS:
        try:
            return import_module(f"cpu.passes.{room}.{file}").__doc__ or ""
        except ModuleNotFoundError:
            continue
    raise AssertionError(f"no file of cpu/passes is called {file}.py")


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


def check(name: str, forms: dict[str, Kernel]) -> None:
    kernels = list(forms)
    assert kernels[0] == LOWER
    before, after = forms[kernels[kernels.index(name) - 1]], forms[name]
    left, right = shown(docstring(name))
    assert [line for line in left if line.strip()] and [line for line in right if line.strip()]
    assert before != after
    assert missing(left, before) is None
    assert missing(right, after) is None
    assert missing(left, after) or missing(right, before), "the example shows nothing that changes"


@pytest.mark.parametrize("name", [each.name for each in PRODUCT])
def test_a_pass_of_products_does_what_its_docstring_shows(name):
    check(name, product_example(name))


@pytest.mark.parametrize("name", [each.name for each in PROGRAM if each.name not in PRODUCTS])
def test_a_pass_of_programs_does_what_its_docstring_shows(name):
    check(name, program_example(name))


def test_every_example_is_compared():
    assert set(PRODUCTS) == {each.name for each in PRODUCT} and set(PROGRAMS) <= {each.name for each in PROGRAM}


def test_a_line_that_no_form_has_is_found():
    kernel = product_example("unroll")["unroll"]
    assert missing(["acc[0, 0, lane] = zero()", "acc[1, …"], kernel) is None
    assert missing(["acc[1, 0, lane] = zero()", "acc[0, 0, lane] = zero()"], kernel) == "acc[0, 0, lane] = zero()"
