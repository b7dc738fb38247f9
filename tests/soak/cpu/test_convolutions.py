"""What PyTorch takes, every case on every instruction set."""

from __future__ import annotations

import pytest

from microkernels.tile.isa import ISAS
from tests.support.kernels.pytorch_cases import CONVOLUTIONS, PRODUCTS, computed, digest, recorded


@pytest.mark.parametrize("isa", [pytest.param(name, marks=pytest.mark.isa(name)) for name in ISAS])
def test_soak_all_of_them(isa):
    """Two minutes of a core each."""
    for name, case in (CONVOLUTIONS | PRODUCTS).items():
        assert digest(computed(case, isa=isa)) == recorded()[name], name
