"""What PyTorch takes, on every instruction set and in every dtype: exactly what PyTorch makes of small integers.

`make exhaustive` computes each case on one instruction set, in turns, `make test` some with every word of their names;
`make soak` computes all on all.
"""

import pytest

from cpu.runtime.machine.host import supports
from microkernels.tile.isa import ISAS
from tests.support.kernels.pytorch_cases import CONVOLUTIONS, FUSED, PRODUCTS, computed, digest, recorded

RUNNABLE = [isa for isa in ISAS if supports(ISAS[isa].cpu_flags)]
NARROW = [name for name in CONVOLUTIONS if name not in FUSED]


def words_of(name: str) -> set[str]:
    """What the name of a case says of it."""
    return {each.strip() for each in name.split(",")}


def on_one_isa(cases) -> list[tuple[str, str]]:
    """Each case, with one of the instruction sets that run here."""
    return [(name, RUNNABLE[place % len(RUNNABLE)]) for place, name in enumerate(cases)]


@pytest.mark.slow
@pytest.mark.exhaustive(name=words_of)
@pytest.mark.parametrize(("name", "isa"), on_one_isa(CONVOLUTIONS))
def test_convolutions(name, isa):
    assert digest(computed(CONVOLUTIONS[name], isa=isa)) == recorded()[name]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "isa"), on_one_isa(PRODUCTS))
def test_products(name, isa):
    assert digest(computed(PRODUCTS[name], isa=isa)) == recorded()[name]


@pytest.mark.slow
@pytest.mark.exhaustive(name=words_of)
@pytest.mark.isa("avx512bf16")
@pytest.mark.parametrize("name", NARROW)
def test_convolutions_of_bf16(name):
    assert digest(computed(CONVOLUTIONS[name], dtype="bf16", output_dtype="f32")) == recorded()[name]


@pytest.mark.isa("avx512vnni")
@pytest.mark.parametrize("name", [name for name in NARROW if name.endswith("unsigned x")])
def test_convolutions_of_int8(name):
    assert digest(computed(CONVOLUTIONS[name], dtype="int8")) == recorded()[name]
