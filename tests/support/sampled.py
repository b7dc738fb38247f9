"""Which cases a run takes: `make test` some of each exhaustive test, `make test-fast` one of each quick test."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from tiling.problem import Problem

# Of how many examples a sample draws one. `pytest_configure` sets it before test files are read.
ONE_OF = 1


def examples(most: int, **options: Any) -> Callable[[Any], Any]:
    """Marks a test of hypothesis as exhaustive: it draws so many examples, and a part of them where a sample is run."""
    return lambda test: pytest.mark.exhaustive(settings(max_examples=part_of(most), **options)(test))


def part_of(most: int) -> int:
    """How many of so many examples this run draws."""
    return -(-most // ONE_OF)


def in_turns(many: int) -> Callable[[Any], Any]:
    """Deals out what a test loops over: turn 0, 1 … take every so many of them. A sample takes one turn."""
    return lambda test: pytest.mark.exhaustive(turn=None)(pytest.mark.parametrize("turn", range(many))(test))


def traits(problem: Problem, scheme: str) -> set[str]:
    """What tells kinds of kernels apart: the operator, the dtypes, what is not left out of the problem's text, and the
    specifiers of the scheme. For a sample that has each of them.
    """
    named = re.findall(r"(\w+)=", str(problem))
    specifiers = re.findall(r"[A-Z](?=\()|S\(\w+|@\w+|λ|, \d+\)|M\(\w+", scheme)
    return {problem.op, problem.dtype, problem.output_dtype, *named, *specifiers}


def quick_sample(items: list[pytest.Item]) -> list[pytest.Item]:
    """One case of every test that is not marked slow, one that this CPU runs if there is any.

    A new test or case needs no entry anywhere for it. The test's name decides, so that it is not the first case of all.
    """
    sample = []
    for name, cases in _by_test(item for item in items if not item.get_closest_marker("slow")).items():
        here = [case for case in cases if not lacking(case)] or cases
        sample.append(here[crc32(name.encode()) % len(here)])
    return sample


def covering_sample(items: list[pytest.Item]) -> list[pytest.Item]:
    """All cases, but of a test that is marked exhaustive a few: every value of every parameter is in one of them.

    A new case needs no entry anywhere for it. `exhaustive(name=function)` asks for all that the function makes of the
    parameter's values, in place of the values. What it makes may be a set, whose members then all occur. None stands
    for a parameter that may have any value.
    """
    exhaustive = [item for item in items if item.get_closest_marker("exhaustive")]
    kept = {case for cases in _by_test(exhaustive).values() for case in _covering(cases)}
    left_out = set(exhaustive) - kept
    return [item for item in items if item not in left_out]


def lacking(item: pytest.Item) -> str:
    """Which instructions a test needs that this CPU lacks; empty where it has all."""
    names = [name for marker in item.iter_markers("isa") for name in marker.args]
    return "; ".join(filter(None, map(_lacking, names)))


def _by_test(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return tests


def _covering(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Some of a test's cases that have all its values: those that this CPU runs first, others for what only they have.

    Where two add as many values, a hash of their names decides, so that values meet in many ways. Where any instruction
    set will do, the widest that this CPU runs comes first.
    """
    if not hasattr(cases[0], "callspec"):
        return cases
    values = {case: _values(case) for case in cases}
    in_turn = sorted(cases, key=lambda case: (bool(lacking(case)), -_lanes(case), crc32(case.nodeid.encode())))
    missing = set().union(*values.values())
    sample: list[pytest.Item] = []
    for here in (True, False):
        left = [case for case in in_turn if here == (not lacking(case))]
        while left and values[best := max(left, key=lambda case: len(values[case] & missing))] & missing:
            sample.append(best)
            missing -= values[best]
    return sample or in_turn[:1]


def _lanes(case: pytest.Item) -> int:
    """The lanes of a case's instruction set where the test asks for any of them, else 0."""
    if case.get_closest_marker("exhaustive").kwargs.get("isa", "each") is not None:
        return 0
    return max((_lanes_of(name) for marker in case.iter_markers("isa") for name in marker.args), default=0)


def _values(case: pytest.Item) -> set[tuple[str, Hashable]]:
    """What a sample must have of this case: its parameters' values, or what is made of them."""
    marker = case.get_closest_marker("exhaustive")
    found: set[tuple[str, Hashable]] = set()
    for name, value in case.callspec.params.items():
        if name not in marker.kwargs:
            found.add((name, _known_by(value)))
        elif made_by := marker.kwargs[name]:
            made = made_by(value)
            found |= {(name, each) for each in (made if isinstance(made, set | frozenset) else {made})}
    return found


def _known_by(value: object) -> Hashable:
    """The value, or its address: all cases of a test have the same objects."""
    try:
        hash(value)
    except (TypeError, ValueError):  # memory that may be written
        return id(value)
    return type(value), value


@cache
def _lanes_of(name: str) -> int:
    from microkernels.tile.isa import isa_named

    return isa_named(name).lanes


@cache
def _lacking(name: str) -> str:
    # Imported here, so that the tests of the language run where the CPU packages cannot be imported.
    from cpu.runtime.machine.host import supports
    from microkernels.tile.isa import isa_named

    missing = [flag for flag in isa_named(name).cpu_flags if not supports([flag])]
    return f"needs {name}: this CPU lacks {', '.join(missing)}" if missing else ""
