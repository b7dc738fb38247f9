"""Bytes, models of them, and sums of their products by NumPy."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

KINDS = {"u8": (np.uint8, 0, 255), "s8": (np.int8, -128, 127)}
NUMBERS = {"u8": TensorProto.UINT8, "s8": TensorProto.INT8}


def numbers(seed, kind, *shape):
    """All values that a byte can have."""
    dtype, low, high = KINDS[kind]
    return np.random.default_rng(seed).integers(low, high + 1, shape).astype(dtype)


def made(nodes, inputs, output, constants):
    """A model. inputs: arrays by name. output: its dtype."""
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    known = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    result = helper.make_tensor_value_info("y", output, None)
    return helper.make_model(
        helper.make_graph(nodes, "bytes", values, [result], known), opset_imports=[helper.make_opsetid("", 21)]
    )


def convolved(x, zero, w, zeros, pads=(0, 0, 0, 0), stride=1, group=1):
    """The sums of a convolution, as whole numbers. zeros: one for each filter, or one."""
    top, left, bottom, right = pads
    image = np.pad(x.astype(np.int64) - zero, ((0, 0), (0, 0), (top, bottom), (left, right)))
    filters = w.astype(np.int64) - np.reshape(zeros, (-1, 1, 1, 1))
    windows = np.lib.stride_tricks.sliding_window_view(image, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    each = w.shape[0] // group
    parts = []
    for g in range(group):
        mine = windows[:, g * w.shape[1] : (g + 1) * w.shape[1]]
        parts.append(np.einsum("nchwrs,kcrs->nkhw", mine, filters[g * each : (g + 1) * each]))
    return np.concatenate(parts, 1)
