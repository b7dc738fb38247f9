"""Random epilogues, and the parts they are made of."""

from __future__ import annotations

from hypothesis import strategies as st

from tiling.value import Array, Sum

Y, B, Z = Sum(), Array("b", ("k",)), Array("z", ("n", "h", "w", "k"))
ARRAYS = st.sampled_from([B, Z, Array("scale", ("k",)), Array("t", ("n", "k")), Array("column", ("w",))])
INFIX = [("add", 2), ("sub", 2), ("mul", 2), ("div", 2), ("neg", 1)]
