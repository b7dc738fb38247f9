"""The table of operators: each row's program is what PyTorch computes, and its kernel too."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.kernel.program import build_program
from cpu.reference.programs import evaluate
from microkernels.tile.isa import PORTABLE
from tests.support.programs.operator_cases import CASES, by_pytorch, inputs_of, recorded
from tiling.program.names import ProgramError
from tiling.program.operators import OPERATORS, program_of


def test_every_operator_has_a_case():
    assert {operator for operator, *_ in CASES.values()} == set(OPERATORS)


@pytest.mark.parametrize("name", CASES)
def test_an_operator_is_what_pytorch_computes(name):
    operator, shapes, attributes, _ = CASES[name]
    program, inputs = program_of(operator, *shapes, **attributes), inputs_of(name)
    shape, numbers = recorded()[name]
    wanted = np.reshape(numbers, shape)
    # The arguments of a row have an order of their own: by the shapes' names.
    named = dict(zip(OPERATORS[operator](*shapes, **attributes).inputs, inputs))
    (y,) = program.outputs
    np.testing.assert_allclose(evaluate(program, named)[y], wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(build_program(program, PORTABLE)(**named), wanted, rtol=1e-5, atol=1e-5)


def test_the_record_is_pytorchs():
    pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")
    for name, (shape, numbers) in recorded().items():
        np.testing.assert_allclose(by_pytorch(name), np.reshape(numbers, shape), rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.parametrize(
    "name, shapes, attributes, message",
    [
        ("relu7", ((3,),), {}, "there is no operator 'relu7'; there are softmax, log_softmax"),
        ("max_pool", ((1, 4, 4, 3),), {}, "max_pool of (1, 4, 4, 3): missing 1 required positional argument: 'window'"),
        ("softmax", ((3, 4),), {"dim": 1}, "softmax of (3, 4): got an unexpected keyword argument 'dim'"),
        ("binary", ((3, 4), (5,)), {}, "shapes (3, 4) and (5,) do not broadcast"),
        ("reshape", ((3, 4),), {"shape": (5, 2)}, "3 x 4 elements cannot be 5 x 2"),
        ("pad", ((3,),), {"before": (1,), "after": (1,), "mode": "wrap"}, "mode='wrap' must be constant, edge or"),
        ("resize", ((1, 2, 2, 1),), {"h": 4, "w": 4, "mode": "area"}, "mode='area' must be nearest, linear or cubic"),
        ("concat", ((2, 3), (4, 3)), {"axis": 1}, "shapes (2, 3), (4, 3) differ along more than axis 1"),
        ("softmax", ((2, 3),), {"axis": 5}, "there is no axis 5 of 2"),
        ("convolution", ((1, 4, 4, 3), (2, 5, 3, 3)), {}, "x has 3 channels, and the weights are for 5"),
        ("max_pool", ((4, 4),), {"window": 2}, "max_pool of (4, 4): not enough values to unpack"),
        ("depth_to_space", ((1, 2, 2, 6),), {"block": 2}, "6 channels are no multiple of 2 x 2"),
        ("max_pool", ((1, 4, 4, 3),), {"window": 2, "stride": 0}, "a window of 2 and a stride of 0 are at least 1"),
        ("pad", ((5,),), {"before": (-1,), "after": (0,)}, "padding of (-1,) and (0,) is below 0"),
        ("group_norm", ((1, 2, 2, 6), (6,), (6,)), {"groups": 4}, "6 channels are no multiple of 4 groups"),
        ("unary", ((1,) * 9,), {"function": "exp"}, "9 axes are more than the 6 that operators have names for"),
    ],
)
def test_messages(name, shapes, attributes, message):
    with pytest.raises(ProgramError) as caught:
        program_of(name, *shapes, **attributes)
    assert str(caught.value).startswith(message)
