"""Which statements share loops, and what of their arrays is needed at a time."""

from __future__ import annotations

import pytest

from tiling.program.infer import sized
from tiling.program.lowering.group import groups
from tiling.program.read import read


def grouped(text, extents, **options):
    found = groups(sized(read(text), extents, **options))
    return [("".join(g.dims), "".join(s.array for s in g.statements), "".join(g.rows)) for g in found]


EXTENTS = {"i": 4, "j": 5}


@pytest.mark.parametrize(
    "text, wanted",
    [
        (
            "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]",
            [("i", "medy", "med")],
        ),
        ("v[i] = sum[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i]) * g[j]", [("i", "vy", "v")]),
        # Both walk the same elements, so no loop inside is left.
        ("e[i,j] = exp(x[i,j]); y[i,j] = e[i,j] * e[i,j]", [("ij", "ey", "e")]),
        # A row is read at another place, or as a whole by every other row.
        ("e[i,j] = exp(x[i,j]); y[i,j] = e[3-i,j]", [("ij", "e", ""), ("ij", "y", "")]),
        ("e[i,j] = exp(x[i,j]); y[i,j] = e[3-i,4-j]", [("ij", "e", ""), ("ij", "y", "")]),
        ("s[j] = sum[i] x[i,j]; y[i,j] = x[i,j] / s[j]", [("j", "s", ""), ("ij", "y", "")]),
        ("t = sum[i,j] x[i,j]; y[i,j] = x[i,j] / t[]", [("", "t", ""), ("ij", "y", "")]),
        # Nothing in common.
        ("a[i] = 2 * x[i]; y[i] = z[i]", [("i", "a", "a"), ("i", "y", "")]),
        # The same input, read once.
        ("a[i,j] = 2 * x[i,j]; y[i,j] = 3 * x[i,j]", [("ij", "ay", "a")]),
    ],
)
def test_groups(text, wanted):
    assert grouped(text, {dim: n for dim, n in EXTENTS.items() if f"[{dim}" in text or f",{dim}" in text}) == wanted


def test_an_output_is_stored_whole():
    text = "e[i,j] = exp(x[i,j]); y[i] = sum[j] e[i,j]"
    assert grouped(text, EXTENTS) == [("i", "ey", "e")]
    assert grouped(text, EXTENTS, outputs=("e", "y")) == [("i", "ey", "")]
