"""Compositions: every exact cover of an extent by one or two sizes."""

from time import perf_counter

from hypothesis import given
from hypothesis import strategies as st

from tiling.scheme.compose import Composition, compositions, divisors


def test_compositions_of_20_by_7_and_3():
    assert list(compositions(20, (7, 3))) == [Composition(((2, 3), (2, 7)), 1), Composition(((1, 3), (1, 7)), 2)]


def test_a_size_that_divides_needs_no_partner():
    assert Composition(((1, 4),), 5) in list(compositions(20, (4, 7)))


@given(st.integers(1, 60), st.sets(st.integers(1, 15), min_size=1, max_size=4))
def test_compositions_are_exact_complete_and_distinct(extent, sizes):
    found = list(compositions(extent, sizes))
    assert len(set(found)) == len(found)
    assert all(c.extent == extent and set(c.sizes) <= sizes and min(n for n, _ in c.branches) > 0 for c in found)
    pairs = {(a, s, b, t, m) for m in divisors(extent) for s in sizes for t in sizes if s < t
             for a in range(1, extent // (m * s) + 1) for b in range(1, extent // (m * t) + 1)
             if (a * s + b * t) * m == extent}  # fmt: skip
    assert {(*c.branches[0], *c.branches[1], c.repeat) for c in found if len(c.branches) == 2} == pairs


@given(st.integers(1, 60), st.sets(st.integers(1, 15), min_size=1, max_size=4), st.integers(1, 3))
def test_a_limit_per_pair_keeps_those_that_use_the_large_size_most(extent, sizes, limit):
    every, kept = list(compositions(extent, sizes)), list(compositions(extent, sizes, per_pair=limit))
    groups = {}
    for found in every:
        groups.setdefault((found.sizes, found.repeat), []).append(found)
    for group in groups.values():
        most = sorted(group, key=lambda found: found.branches[-1][0], reverse=True)[:limit]
        assert [found for found in kept if (found.sizes, found.repeat) == (most[0].sizes, most[0].repeat)] == most
    assert set(kept) <= set(every)


def test_a_limit_per_pair_makes_a_long_prime_extent_quick():
    # 100003 has 366866 compositions of these sizes. All of them take a third of a second.
    took = []
    for _ in range(3):
        start = perf_counter()
        kept = list(compositions(100003, range(1, 15), per_pair=2))
        took.append(perf_counter() - start)
    assert min(took) < 0.1
    assert all(found.extent == 100003 for found in kept) and len(kept) <= 1 + 2 * (14 * 13 // 2)


@given(st.integers(1, 3000))
def test_divisors_are_all_and_in_rising_order(number):
    assert divisors(number) == tuple(d for d in range(1, number + 1) if number % d == 0)
