"""Problems that the GPU peers of the benchmarks are tested with."""

from importlib.util import find_spec

import pytest

from tiling.dtypes.products import GPU_DTYPES

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs PyTorch")
GPU_PEERS = ("cudnn", "cublas", "triton")
DTYPES = ("f32", *GPU_DTYPES)
CONVOLUTIONS = {
    "same": {"c": 8, "h": 9, "w": 7, "k": 16, "r": 3, "s": 3, "padding": 1},
    "1x1": {"c": 32, "h": 5, "w": 6, "k": 24, "r": 1, "s": 1},
    "groups": {"c": 12, "h": 7, "w": 8, "k": 6, "r": 3, "s": 3, "padding": 1, "stride": 2, "groups": 3},
    "padded more after": {"c": 4, "h": 8, "w": 8, "k": 8, "r": 4, "s": 4, "padding": ((1, 2), (0, 3))},
    "all at once": {
        **{"n": 2, "c": 4, "h": 11, "w": 12, "k": 6, "r": 3, "s": 2},
        **{"stride": (2, 1), "padding": ((2, 1), (0, 1)), "dilation": (1, 2)},
    },
}
PRODUCTS = {
    "row-major": {"m": 13, "n": 33, "k": 21},
    "a transposed": {"m": 37, "n": 20, "k": 45, "transpose_a": True},
    "b transposed": {"m": 20, "n": 37, "k": 45, "transpose_b": True},
    "batch": {"m": 12, "n": 17, "k": 19, "batch": 3},
    "batch, both transposed": {"m": 12, "n": 17, "k": 19, "batch": 2, "transpose_a": True, "transpose_b": True},
}
EPILOGUES = ("relu(y + b)", "relu(y + b + z)", "relu(residual + (bias + y))")
