"""Each pass has a docstring that shows loops before and after it: what it makes of a small kernel now."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from cpu.passes.order import PRODUCT, PROGRAM
from tests.cpu.passes.examples import PRODUCTS, PROGRAMS, product_example, program_example
from tests.support.loops.examples import check_example, missing

CPU = Path(__file__).parents[3] / "cpu"
ROOMS = ("control", "memory", "prefetch", "vectors", "registers", "program", "program.rows", "program.lanes")
ROOMS = (*(f"cpu.passes.{room}" for room in ROOMS), "tiling.program.lowering")  # the last one's passes GPUs have too


def docstring(name: str) -> str:
    """The docstring of the file that is called as the pass."""
    file = name.replace(" ", "_")
    for room in ROOMS:
        try:
            return import_module(f"{room}.{file}").__doc__ or ""
        except ModuleNotFoundError:
            continue
    raise AssertionError(f"no file of a pass is called {file}.py")


@pytest.mark.parametrize("name", [each.name for each in PRODUCT])
def test_a_pass_of_products_does_what_its_docstring_shows(name):
    check_example(docstring(name), name, product_example(name))


@pytest.mark.parametrize("name", [each.name for each in PROGRAM if each.name not in PRODUCTS])
def test_a_pass_of_programs_does_what_its_docstring_shows(name):
    check_example(docstring(name), name, program_example(name))


def test_passes_are_called_by_the_lists_alone():
    """A sequence by hand would have to be told of each new pass."""
    passes = {each.name.replace(" ", "_") for each in (*PRODUCT, *PROGRAM)}
    calling = set()
    for path in CPU.rglob("*.py"):
        calls = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        if passes & {called.id for called in calls if isinstance(called, ast.Name)}:
            calling.add(path.relative_to(CPU).as_posix())
    assert calling == {"passes/order.py"}


def test_every_example_is_compared():
    assert {*PRODUCTS} == {each.name for each in PRODUCT}
    assert set(PROGRAMS) <= {each.name for each in PROGRAM}


def test_a_line_that_no_form_has_is_found():
    kernel = product_example("unroll")["unroll"]
    assert missing(["acc[0, 0, lane] = zero()", "acc[1, …"], kernel) is None
    assert missing(["acc[1, 0, lane] = zero()", "acc[0, 0, lane] = zero()"], kernel) == "acc[0, 0, lane] = zero()"
