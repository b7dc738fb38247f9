"""Samples of the cases of a test: every value stays, and what this CPU cannot run takes no case from what it can."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace

import pytest

from tests.support import sampled
from tests.support.sampled import covering_sample, quick_sample


@dataclass(eq=False)
class Case:
    """What samples ask of a case of pytest's."""

    test: str
    values: dict = field(default_factory=dict)
    markers: tuple = ()

    @property
    def nodeid(self):
        return f"{self.test}[{'-'.join(map(str, self.values.values()))}]" if self.values else self.test

    @property
    def callspec(self):
        if not self.values:
            raise AttributeError("callspec")
        return SimpleNamespace(params=self.values)

    def iter_markers(self, name):
        return (marker for marker in self.markers if marker.name == name)

    def get_closest_marker(self, name):
        return next(self.iter_markers(name), None)


def cases(name, markers=(pytest.mark.exhaustive.mark,), **axes):
    return [Case(name, dict(zip(axes, values)), tuple(markers)) for values in product(*axes.values())]


def test_every_value_of_every_parameter_is_in_the_sample():
    every = cases("exact", shape=range(9), epilogue=range(3), isa=range(5))
    kept = covering_sample(every)
    for name in ("shape", "epilogue", "isa"):
        assert {case.values[name] for case in kept} == {case.values[name] for case in every}
    assert len(kept) == 9 and kept == [case for case in every if case in kept]
    assert kept == covering_sample(every), "the same cases every time"
    assert len({case.values["isa"] for case in kept if case.values["epilogue"] == 0}) > 1, "values meet in many ways"


def test_values_that_cannot_be_hashed_are_told_apart_as_well():
    kept = covering_sample(cases("exact", arrays=([1], [2]), isa=range(2)))
    assert sorted(case.values["arrays"] for case in kept) == [[1], [2]]


def test_other_tests_keep_all_their_cases():
    others = [*cases("other", markers=(), shape=range(9), isa=range(5)), Case("plain")]
    alone = Case("alone", markers=(pytest.mark.exhaustive.mark,))
    assert covering_sample([*others, alone]) == [*others, alone]


def test_a_function_says_what_the_sample_has_of_a_parameter():
    remainder = pytest.mark.exhaustive(number=lambda number: number % 3).mark
    assert {case.values["number"] % 3 for case in covering_sample(cases("a", (remainder,), number=range(30)))} == {
        0,
        1,
        2,
    }
    divisors = pytest.mark.exhaustive(number=lambda number: {each for each in (2, 3, 5) if number % each == 0}).mark
    assert [case.values["number"] for case in covering_sample(cases("b", (divisors,), number=range(1, 31)))] == [30]
    anything = pytest.mark.exhaustive(number=None).mark
    assert len(covering_sample(cases("c", (anything,), number=range(30), isa=range(4)))) == 4
    assert len(covering_sample(cases("d", (anything,), number=range(30)))) == 1


def test_what_this_cpu_lacks_is_kept_for_its_own_values_only(monkeypatch):
    monkeypatch.setattr(sampled, "_lacking", lambda isa: "needs it" if isa == "wide" else "")
    narrow = cases("exact", shape=range(6), isa=["narrow"])
    wide = cases("exact", (pytest.mark.exhaustive.mark, pytest.mark.isa("wide").mark), shape=range(6), isa=["wide"])
    kept = covering_sample([*wide, *narrow])
    assert [case for case in kept if case in narrow] == narrow
    assert len([case for case in kept if case in wide]) == 1


def test_where_any_instruction_set_will_do_it_is_the_widest_that_runs_here(monkeypatch):
    monkeypatch.setattr(sampled, "_lacking", lambda isa: "needs it" if isa == "avx512f" else "")
    any_of_them = pytest.mark.exhaustive(isa=None).mark
    rows = ("portable", "avx2", "avx512f")
    every = [
        c for isa in rows for c in cases("exact", (any_of_them, pytest.mark.isa(isa).mark), shape=range(6), isa=[isa])
    ]
    kept = covering_sample(every)
    assert [case.values["shape"] for case in kept] == list(range(6))
    assert {case.values["isa"] for case in kept} == {"avx2"}


def test_the_quick_sample_is_one_case_of_each_test_that_is_not_slow():
    slow = cases("slow", (pytest.mark.slow.mark,), shape=range(5))
    (one, other) = quick_sample([*slow, *cases("a", shape=range(5)), Case("plain")])
    assert one.test == "a" and other.test == "plain"
