"""Random index expressions, and the points at which tests evaluate them."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from tiling.loops.index import applied, constant, variable

NAMES = "hrs"
RANGES = {"h": (-2, 4), "r": (0, 2), "s": (1, 3)}
POINTS = [dict(zip(NAMES, at)) for at in product(*(range(low, high + 1) for low, high in RANGES.values()))]
small = st.integers(-5, 5)
whole = st.integers(1, 6)


def combined(inner):
    """Sums, multiples, quotients, remainders and ends."""
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, n: a + n, inner, small),
        st.builds(lambda a, n: a * n, inner, small),
        st.builds(lambda a, n: a // n, inner, whole),
        st.builds(lambda a, n: a % n, inner, whole),
        st.builds(lambda op, a, b: applied(op, a, b), st.sampled_from(("min", "max")), inner, inner),
    )


indices = st.recursive(st.builds(constant, small) | st.builds(variable, st.sampled_from(NAMES)), combined, max_leaves=6)
