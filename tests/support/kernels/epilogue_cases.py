"""Random epilogues, and the parts they are made of."""

from __future__ import annotations

from hypothesis import strategies as st

from tiling.value import EpilogueArray, Sum

Y, B, Z = Sum(), EpilogueArray("b", ("k",)), EpilogueArray("z", ("n", "h", "w", "k"))
ARRAYS = st.sampled_from(
    [B, Z, EpilogueArray("scale", ("k",)), EpilogueArray("t", ("n", "k")), EpilogueArray("column", ("w",))]
)
INFIX = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("neg", 1)]
