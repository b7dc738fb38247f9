"""Shared sums: the same results of Winograd's transforms, of fewer terms."""

from __future__ import annotations

from fractions import Fraction

import pytest

from cpu.passes.vectors.share_sums import share_sums
from tiling.loops.facts.sums import Terms, sum_of, terms_of
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Comment, Let, Load
from tiling.rewrite.winograd.algorithm import SIZES, transforms


def shared(*lets) -> list[Let]:
    """The body of a function of these statements, after the pass."""
    kernel = Kernel((), (), (Function("tile", (), (), (), lets),))
    (function,) = share_sums(kernel).functions
    return list(function.body)


def computed(lets: list[Let], inputs: Terms) -> Terms:
    """The value of each register."""
    values = dict(inputs)
    for let in lets:
        values[let.name] = sum(factor * values[name] for name, factor in terms_of(let.value).items())
    return values


def terms(lets: list[Let]) -> int:
    return sum(len(terms_of(let.value)) - 1 for let in lets)


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("name", ["input", "output"])
def test_transforms_stay_their_matrices(m, name):
    matrix, names = getattr(transforms(m), name), [f"d_{i}" for i in range(m + 2)]
    plain = [
        Let(f"r_{i}", sum_of({n: v for n, v in zip(names, row, strict=True) if v})) for i, row in enumerate(matrix)
    ]
    values = {name: Fraction(i * i + 1, 7) for i, name in enumerate(names)}
    found = shared(*plain)
    results = computed(found, values)
    assert [results[let.name] for let in plain] == [sum(a * values[n] for a, n in zip(row, names)) for row in matrix]
    assert len({let.name for let in found}) == len(found)
    assert terms(found) < terms(plain) if m == 4 else terms(found) <= terms(plain)


def row(name: str, **factors: int) -> Let:
    return Let(name, sum_of({name: Fraction(factor) for name, factor in factors.items()}))


def test_rows_that_differ_in_signs_share_both_their_parts():
    alone = row("r_0", b=5, d=1)  # so neither b nor d always occurs with another
    found = shared(alone, row("r_1", a=-4, b=-4, c=1, d=1), row("r_2", a=4, b=-4, c=-1, d=1))
    assert found == [
        row("r_1_same", b=-4, d=1),
        row("r_1_opposite", a=-4, c=1),
        alone,
        row("r_1", r_1_same=1, r_1_opposite=1),
        row("r_2", r_1_same=1, r_1_opposite=-1),
    ]


def test_inputs_that_occur_together_are_added_once():
    found = shared(row("r_0", a=1, b=1, c=1), row("r_1", a=2, b=-2), row("r_2", a=4, b=4))
    assert [let.name for let in found] == ["a_plus_b", "a_minus_b", "r_0", "r_1", "r_2"]
    assert terms(found) == 3


def test_runs_share_nothing_with_each_other():
    one, other = row("r_0", a=1, b=1), row("r_1", a=1, b=-1)
    assert shared(one, Comment("column 1"), other) == [one, Comment("column 1"), other]
    loaded = Let("c", Load("x", ()))
    assert shared(one, loaded, other) == [one, loaded, other] != shared(one, other)


def test_a_sum_is_read_back_as_it_was_written():
    given = {"a": Fraction(-1), "b": Fraction(5, 2), "c": Fraction(1), "d": Fraction(-4)}
    assert terms_of(sum_of(given)) == given and list(terms_of(sum_of(given))) == ["c", "a", "b", "d"]
    assert terms_of(Load("x", ())) is None
