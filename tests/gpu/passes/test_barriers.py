"""The interpreter finds every barrier that `place barriers` leaves out, and no race where it leaves none out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from gpu.passes.order import scheme_forms
from tests.support.gpu.programs import forms, program_of
from tests.support.gpu.schemes import SCHEMES, interpreted, scheme_of
from tests.support.loops.loops import without_each_barrier
from tests.support.programs.programs import inputs_of
from tests.support.programs.programs import interpreted as interpreted_program
from tiling.loops.language import Barrier
from tiling.loops.meaning.workers import Race
from tiling.loops.walk import walk, with_blocks


def last_form(name):
    return dict(scheme_forms(scheme_of(name)))["place barriers"]


@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "nothing staged"])
def test_a_scheme_needs_each_of_its_barriers(name):
    found = without_each_barrier(last_form(name))
    assert found
    for kernel in found:
        with pytest.raises(Race, match="no barrier between"):
            interpreted(scheme_of(name), kernel)


@pytest.mark.parametrize("name", ["rows", "rows read backwards"])
def test_a_program_needs_each_of_its_barriers(name):
    program = program_of(name)
    found = without_each_barrier(forms(program)["place barriers"])
    assert found
    for kernel in found:
        with pytest.raises(Race, match="no barrier between"):
            interpreted_program(program, kernel, inputs_of(program, Random(0)))


def test_a_barrier_of_lanes_orders_no_threads_of_a_block():
    kernel = last_form("product")

    def of_lanes(statement):
        if isinstance(statement, Barrier):
            return Barrier("lane")
        return with_blocks(statement, lambda block: tuple(map(of_lanes, block)))

    with pytest.raises(Race, match="no barrier between"):
        interpreted(scheme_of("product"), replace(kernel, body=tuple(map(of_lanes, kernel.body))))


def test_which_kinds_of_barriers_these_are():
    kernels = [last_form("product"), *(forms(program_of(name))["place barriers"] for name in ("rows read backwards",))]
    kinds = Counter(s.kind for kernel in kernels for s in walk(kernel.body) if isinstance(s, Barrier))
    assert kinds == {"thread": 2, "lane": 1}
