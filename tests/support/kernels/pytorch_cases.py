"""Convolutions and products that PyTorch takes, on small integers, and what PyTorch makes of them: recorded, so that no
one needs PyTorch.

`golden/pytorch.json` holds a digest of every result. `tests/cpu/codegen/test_pytorch.py` compares it with PyTorch where
that is installed, and writes it with `--update-golden`.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from cpu.codegen.arrays import stored
from search import generate_conv, generate_matmul
from tests.support.golden import GOLDEN
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.problem import Problem

RECORDED = GOLDEN / "pytorch.json"

# Arguments of generate_conv. The names say what each line is there for.
CASES = {
    "batch": dict(n=3, c=8, h=9, w=9, k=16, r=3, s=3, padding=1),
    "stride per axis": dict(c=5, h=11, w=13, k=19, r=3, s=2, stride=(3, 2)),
    "dilation per axis": dict(c=4, h=15, w=12, k=17, r=3, s=3, dilation=(4, 2), padding=(2, 1)),
    "stride longer than the kernel": dict(c=6, h=16, w=17, k=18, r=2, s=1, stride=(5, 3)),
    "everything at once": dict(n=2, c=7, h=13, w=12, k=23, r=4, s=3, stride=(2, 3), dilation=(1, 2), padding=(3, 2)),
    "asymmetric padding": dict(c=3, h=8, w=7, k=33, r=3, s=5, padding=((2, 0), (1, 4))),
    "same": dict(c=4, h=9, w=10, k=20, r=4, s=6, padding="same"),
    "same, dilated": dict(c=4, h=9, w=10, k=20, r=3, s=2, dilation=(2, 3), padding="same"),
    "valid": dict(c=4, h=9, w=10, k=20, r=3, s=2, padding="valid"),
    "primes": dict(c=13, h=11, w=7, k=97, r=3, s=3, padding=1),
    "large primes": dict(c=101, h=5, w=5, k=211, r=1, s=1),
    "one channel": dict(c=1, h=9, w=9, k=1, r=3, s=3, padding=1),
    "one output": dict(c=5, h=3, w=3, k=3, r=3, s=3),
    "kernel larger than the image": dict(c=3, h=2, w=3, k=9, r=7, s=5, padding=(3, 1)),
    "kernel as large as the padded image": dict(c=3, h=2, w=2, k=17, r=6, s=6, padding=2),
    "padding wider than kernel and image": dict(c=2, h=1, w=2, k=16, r=2, s=2, padding=4),
    "pointwise": dict(n=2, c=31, h=6, w=5, k=40, r=1, s=1),
    "pointwise, strided and padded": dict(c=12, h=9, w=8, k=24, r=1, s=1, stride=2, padding=1),
    "groups": dict(n=2, c=12, h=7, w=6, k=111, r=3, s=3, padding=1, groups=3),
    "groups of one channel each way but not depthwise": dict(c=6, h=8, w=8, k=18, r=3, s=3, padding=1, groups=6),
    "groups of a few channels": dict(c=64, h=5, w=7, k=32, r=3, s=3, stride=2, padding=1, groups=8),
    "groups of two channels each way": dict(n=2, c=38, h=7, w=9, k=38, r=3, s=3, padding=1, groups=19),
    "groups of four channels each way": dict(c=44, h=6, w=15, k=44, r=3, s=3, stride=2, padding=1, groups=11),
    "groups of eight channels each way": dict(
        c=40, h=9, w=8, k=40, r=2, s=5, dilation=(1, 2), padding=((1, 0), (3, 2)), groups=5
    ),
    "groups, strided, dilated, asymmetric": dict(
        c=10, h=12, w=13, k=35, r=2, s=3, stride=(1, 2), dilation=2, padding=((1, 0), (2, 3)), groups=5
    ),
    "groups of whole vectors": dict(c=32, h=6, w=6, k=64, r=1, s=1, groups=2),
    "depthwise": dict(n=2, c=37, k=37, groups=37, h=9, w=8, r=3, s=3, padding=1),
    "depthwise, strided": dict(c=32, k=32, groups=32, h=13, w=14, r=5, s=5, stride=2, padding=2),
    "depthwise, dilated, asymmetric": dict(
        c=17, k=17, groups=17, h=9, w=12, r=3, s=2, dilation=(2, 4), stride=(1, 2), padding=((0, 3), (2, 1))
    ),
    "depthwise, two channels": dict(c=2, k=2, groups=2, h=7, w=30, r=7, s=7, padding="same"),
    "depthwise, pointwise": dict(c=19, k=19, groups=19, h=5, w=5, r=1, s=1),
    "depthwise with a channel multiplier": dict(c=11, k=33, groups=11, h=8, w=9, r=3, s=3, padding=1, stride=(2, 1)),
    "one row": dict(c=6, h=1, w=30, k=8, r=1, s=9, padding=(0, 4)),
    "one column": dict(c=6, h=30, w=1, k=8, r=9, s=1, padding=(4, 0)),
}
CHANNELS_FIRST = (
    *(
        "depthwise",
        "depthwise, strided",
        "depthwise, dilated, asymmetric",
        "depthwise, two channels",
        "depthwise, pointwise",
    ),
    *(
        "everything at once",
        "asymmetric padding",
        "primes",
        "one channel",
        "one output",
        "pointwise",
        "one row",
        "one column",
    ),
    *("kernel larger than the image", "groups", "depthwise with a channel multiplier"),
)
LINES = {
    "plain": dict(c=5, w=40, k=18, s=7),
    "batch, stride, dilation, padding": dict(n=3, c=5, w=41, k=18, s=3, stride=2, dilation=3, padding=4),
    "depthwise": dict(c=40, k=40, groups=40, w=50, s=9, padding=4),
    "same": dict(c=4, w=17, k=16, s=6, padding="same"),
}
# int8 multiplies unsigned x.
UNSIGNED = (
    *(
        "everything at once",
        "asymmetric padding",
        "same, dilated",
        "primes",
        "one channel",
        "pointwise, strided and padded",
    ),
    *("kernel larger than the image", "groups", "groups of a few channels", "depthwise with a channel multiplier"),
    *("depthwise", "depthwise, strided", "depthwise, dilated, asymmetric", "depthwise, two channels"),
    *("groups of two channels each way", "groups of four channels each way", "groups of eight channels each way"),
)
_SMALL = dict(n=2, c=6, h=7, w=9, k=19, r=3, s=3, padding=1)
FUSED = {
    text: _SMALL | {"epilogue": text}
    for text in ("relu(y + b)", "relu(y + b + z)", "relu6(y*s[k] - b)", "clamp(z - y, -9, 20)")
}
PRODUCTS = {
    "product": dict(m=13, n=40, k=21),
    "product, a transposed": dict(m=37, n=17, k=5, transpose_a=True),
    "product, b transposed": dict(m=6, n=65, k=33, transpose_b=True),
    "products, both transposed": dict(batch=3, m=7, n=19, k=30, transpose_a=True, transpose_b=True),
    "product of a row": dict(m=1, n=101, k=64),
    "product with a column": dict(m=50, n=1, k=9, epilogue="relu(y + b)"),
}
# Every convolution that is compared, by the name it has in the records; `unsigned` is no argument of generate_conv.
CONVOLUTIONS = (
    CASES
    | {f"{name}, channels first": CASES[name] | {"layout": "nchw"} for name in CHANNELS_FIRST}
    | {f"{name}, one-dimensional": case for name, case in LINES.items()}
    | {f"{name}, unsigned x": CASES[name] | {"unsigned": True} for name in UNSIGNED}
    | FUSED
)


def problem_of(case: dict) -> Problem:
    """The problem that a case's arguments describe."""
    given = {name: value for name, value in case.items() if name not in ("epilogue", "unsigned")}
    return fused((matmul if "m" in case else conv2d)(**given), case.get("epilogue"))


def arrays(case: dict) -> tuple[np.ndarray, ...]:
    """x, w as PyTorch has it, and the epilogue's arrays: whole numbers from -3 to 3, or from 0 to 6, in float32."""
    problem = problem_of(case)
    x, w, _ = problem.tensors
    shapes = [x.shape, w.shape, *(array.shape for array in problem.epilogue_arrays)]
    found = [whole_numbers(shape, seed) for seed, shape in enumerate(shapes, 1)]
    return (found[0] + 3, *found[1:]) if "unsigned" in case else tuple(found)


def whole_numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """The same on every version of NumPy: RandomState's numbers are frozen."""
    return np.random.RandomState(seed).randint(-3, 4, shape, dtype=np.int64).astype(np.float32)


def digest(y: np.ndarray) -> str:
    """A hash of a result's shape and of its whole numbers."""
    assert np.array_equal(y, np.rint(y))
    return hashlib.sha256(repr(y.shape).encode() + np.ascontiguousarray(y, dtype="<i8").tobytes()).hexdigest()[:32]


def recorded() -> dict[str, str]:
    """PyTorch's digest of every case of CONVOLUTIONS and PRODUCTS."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def computed(case, **chosen):
    """Our result; of `chosen` dtypes from the same numbers."""
    generate = generate_matmul if "m" in case else generate_conv
    kernel = generate(**{name: value for name, value in case.items() if name != "unsigned"}, **chosen)
    return kernel(*stored(kernel.problem, arrays(case)))
