"""What PyTorch takes, on every instruction set and in every dtype: exactly what PyTorch makes of small integers."""

import pytest

from cpu.codegen.arrays import stored
from microkernels.tile.isa import ISAS
from search import generate_conv, generate_matmul
from tests.support.pytorch_cases import CONVOLUTIONS, FUSED, PRODUCTS, arrays, digest, recorded

FLOATING = [pytest.param(name, marks=pytest.mark.isa(name)) for name in ISAS]
NARROW = [name for name in CONVOLUTIONS if name not in FUSED]


def computed(case, **chosen):
    """Our result; of `chosen` dtypes from the same numbers."""
    generate = generate_matmul if "m" in case else generate_conv
    kernel = generate(**{name: value for name, value in case.items() if name != "unsigned"}, **chosen)
    return kernel(*stored(kernel.problem, arrays(case)))


@pytest.mark.slow
@pytest.mark.parametrize("isa", FLOATING)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, isa):
    assert digest(computed(CONVOLUTIONS[name], isa=isa)) == recorded()[name]


@pytest.mark.slow
@pytest.mark.parametrize("isa", FLOATING)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name, isa):
    assert digest(computed(PRODUCTS[name], isa=isa)) == recorded()[name]


@pytest.mark.isa("avx512bf16")
@pytest.mark.parametrize("name", NARROW)
def test_convolutions_of_bf16(name):
    assert digest(computed(CONVOLUTIONS[name], dtype="bf16", output_dtype="f32")) == recorded()[name]


@pytest.mark.isa("avx512vnni")
@pytest.mark.parametrize("name", [name for name in NARROW if name.endswith("unsigned x")])
def test_convolutions_of_int8(name):
    assert digest(computed(CONVOLUTIONS[name], dtype="int8")) == recorded()[name]
