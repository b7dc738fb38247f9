"""Where we differ from what onnx's own tests expect: whose numbers are nearer to the exact ones."""

import ml_dtypes
import numpy as np
import onnx.reference.ops.op_attention as reference
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model

BF16 = ml_dtypes.bfloat16


def attention(causal):
    """The test attention_4d_causal_bf16, or the same without a mask."""
    shapes = {"Q": [2, 3, 4, 8], "K": [2, 3, 6, 8], "V": [2, 3, 6, 8]}
    values = [helper.make_tensor_value_info(name, TensorProto.BFLOAT16, shape) for name, shape in shapes.items()]
    output = helper.make_tensor_value_info("Y", TensorProto.BFLOAT16, [2, 3, 4, 8])
    nodes = [helper.make_node("Attention", [*shapes], ["Y"], is_causal=int(causal))]
    proto = helper.make_model(
        helper.make_graph(nodes, "attention", values, [output]), opset_imports=[helper.make_opsetid("", 23)]
    )
    random = np.random.default_rng(0)
    return proto, {name: random.random(shape, np.float32).astype(BF16) for name, shape in shapes.items()}


def softmax_rounding_its_sum_once(x, axis=-1):
    """That of onnx's reference, rounded to bf16 after every operation, of which the sum is one."""
    largest = np.max(x, axis=axis, keepdims=True)
    powers = np.exp(x - largest)
    assert powers.dtype == BF16
    return powers / np.sum(powers.astype(np.float64), axis=axis, keepdims=True).astype(BF16)


@pytest.mark.parametrize("causal", [True, False])
def test_attention_of_bf16_differs_only_where_a_sum_is_rounded_after_every_addition(monkeypatch, causal):
    proto, inputs = attention(causal)
    y = compile_model(proto).run(inputs)["Y"].view(BF16)
    (theirs,) = ReferenceEvaluator(proto).run(None, inputs)
    monkeypatch.setattr(reference, "_softmax", softmax_rounding_its_sum_once)
    (same,) = ReferenceEvaluator(proto).run(None, inputs)
    assert y.tolist() == same.tolist()
    assert y.tolist() != theirs.tolist()


def test_an_inverse_transform_is_nowhere_farther_from_the_exact_one():
    x = np.arange(100, dtype=np.complex64).reshape(10, 10)
    pairs = np.stack((x.real, x.imag), 2)[None]
    nodes = [helper.make_node("DFT", ["x"], ["y"], inverse=1, axis=1)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 10, 10, 2]) for name in "xy"]
    proto = helper.make_model(
        helper.make_graph(nodes, "dft", values[:1], values[1:]), opset_imports=[helper.make_opsetid("", 19)]
    )
    (y,) = compile_model(proto)(pairs)
    # The transform of n, n + 10, … is n + 45 at frequency 0, and -5 + 5i·cot(πk / 10) at k, whatever n is.
    k = np.arange(1, 10)
    exact = np.concatenate([[np.arange(10) + 45 + 0j], np.repeat((-5 - 5j / np.tan(np.pi * k / 10))[:, None], 10, 1)])
    exact[5] = -5
    theirs = np.fft.ifft(x, axis=0)
    assert np.allclose(theirs, exact, atol=1e-4)
    for ours, other, wanted in ((y[0, ..., 0], theirs.real, exact.real), (y[0, ..., 1], theirs.imag, exact.imag)):
        assert (abs(ours - wanted) <= abs(other - wanted) + 1e-14).all()  # that of f64 sums
    assert abs(y[0, 5, :, 1]).max() < 1e-13 < abs(theirs[5].imag).max()
