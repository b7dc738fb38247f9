"""Operators of `tiling.program.operators`, each with what PyTorch computes.

`python -m tests.support.programs.operator_cases` records PyTorch's results, which the tests compare with where PyTorch
is not installed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).parents[2] / "golden" / "operators.json"
X, C = (1, 4, 5, 6), (6,)


def _nchw(x: Any) -> Any:
    return x.permute(0, 3, 1, 2)


def _nhwc(y: Any) -> Any:
    return y.permute(0, 2, 3, 1)


def _image(function: Any) -> Any:
    """A function of PyTorch's images, for ours."""
    return lambda f, x, *more: _nhwc(function(f, _nchw(x), *more))


def _shifted(f: Any, x: Any, w: Any, a: Any, b: Any) -> Any:
    moved = f.pad(_nchw(x), (2, 2, 2, 2))
    (_, height, width, channels), found = x.shape, []
    for c in range(channels):
        top, left = 2 + int(a[c]), 2 + int(b[c])
        found.append(moved[:, c, top : top + height, left : left + width])
    return f.linear(_nhwc(_stack(found)), w)


def _stack(tensors: list[Any]) -> Any:
    import torch

    return torch.stack(tensors, 1)


# name: (operator, shapes of its inputs, attributes, PyTorch's result of torch.nn.functional and the inputs)
CASES: dict[str, tuple[str, tuple[tuple[int, ...], ...], dict[str, Any], Any]] = {
    "softmax": ("softmax", (X,), {}, lambda f, x: f.softmax(x, -1)),
    "softmax along rows": ("softmax", (X,), {"axis": 1}, lambda f, x: f.softmax(x, 1)),
    "log-softmax": ("log_softmax", (X,), {}, lambda f, x: f.log_softmax(x, -1)),
    "layer norm": ("layer_norm", (X, (5, 6), (5, 6)), {}, lambda f, x, g, b: f.layer_norm(x, (5, 6), g, b)),
    "RMS norm": ("rms_norm", (X, C), {}, lambda f, x, g: f.rms_norm(x, (6,), g, 1e-6)),
    "batch norm": ("batch_norm", (X, C, C, C, C), {}, _image(lambda f, x, m, v, g, b: f.batch_norm(x, m, v, g, b))),
    "group norm": ("group_norm", (X, C, C), {"groups": 3}, _image(lambda f, x, g, b: f.group_norm(x, 3, g, b))),
    "instance norm": ("instance_norm", (X, C, C), {}, _image(lambda f, x, g, b: f.instance_norm(x, weight=g, bias=b))),
    "LRN": ("lrn", (X,), {"size": 3}, _image(lambda f, x: f.local_response_norm(x, 3))),
    **{
        f"{kind} over pixels": ("reduce", (X,), {"axes": (1, 2), "kind": kind}, reduced)
        for kind, reduced in (
            ("sum", lambda f, x: x.sum((1, 2))),
            ("mean", lambda f, x: x.mean((1, 2))),
            ("max", lambda f, x: x.amax((1, 2))),
            ("prod", lambda f, x: x.prod(1).prod(1)),
        )
    },
    "argmax": ("argmax", (X,), {"axis": 2}, lambda f, x: x.argmax(2)),
    "GELU": ("unary", (X,), {"function": "gelu"}, lambda f, x: f.gelu(x)),
    "broadcast": ("binary", (X, (5, 1)), {"function": "sub"}, lambda f, x, z: x - z),
    "maximum": ("binary", ((5, 1), X), {"function": "max"}, lambda f, x, z: x.maximum(z)),
    "where": ("where", (X, X, X), {}, lambda f, k, x, z: x.where(k, z)),
    "transpose": ("transpose", (X,), {"axes": (0, 3, 1, 2)}, lambda f, x: x.permute(0, 3, 1, 2)),
    "reshape": ("reshape", (X,), {"shape": (8, 15)}, lambda f, x: x.reshape(8, 15)),
    "slice": (
        "slice",
        (X,),
        {"starts": (0, 1, 0, 5), "shape": (1, 3, 3, 3), "steps": (1, 1, 2, -2)},
        lambda f, x: x[:, 1:, ::2].flip(3)[..., ::2],
    ),
    "concat": ("concat", ((3, 4), (5, 4), (2, 4)), {"axis": 0}, lambda f, *x: _cat(x, 0)),
    "concat of columns": ("concat", ((3, 4), (3, 1)), {"axis": -1}, lambda f, *x: _cat(x, 1)),
    "pad": (
        "pad",
        ((5, 6),),
        {"before": (1, 2), "after": (3, 0), "value": 0.5},
        lambda f, x: f.pad(x, (2, 0, 1, 3), value=0.5),
    ),
    **{
        f"pad by {ours}": (
            "pad",
            (X,),
            {"before": (0, 2, 1, 0), "after": (0, 3, 2, 0), "mode": ours},
            _image(lambda f, x, theirs=theirs: f.pad(x, (1, 2, 2, 3), mode=theirs)),
        )
        for ours, theirs in (("edge", "replicate"), ("reflect", "reflect"))
    },
    "gather": ("gather", (X, (7,)), {"axis": 2}, lambda f, x, t: x.index_select(2, t)),
    "cumulative sum": ("cumsum", (X,), {"axis": 1}, lambda f, x: x.cumsum(1)),
    "one-hot": ("one_hot", ((3, 4),), {"depth": 6}, lambda f, t: f.one_hot(t, 6)),
    "max pooling": (
        "max_pool",
        (X,),
        {"window": 3, "stride": 2, "pad": 1},
        _image(lambda f, x: f.max_pool2d(x, 3, 2, 1)),
    ),
    "average pooling": ("average_pool", (X,), {"window": 2}, _image(lambda f, x: f.avg_pool2d(x, 2))),
    **{
        f"average pooling, padding {'counts' if counts else 'does not count'}": (
            "average_pool",
            (X,),
            {"window": 3, "stride": 2, "pad": 1, "count_pad": counts},
            _image(lambda f, x, counts=counts: f.avg_pool2d(x, 3, 2, 1, count_include_pad=counts)),
        )
        for counts in (True, False)
    },
    "global average pooling": ("global_average_pool", (X,), {}, lambda f, x: x.mean((1, 2))),
    **{
        f"resize, {ours}": (
            "resize",
            (X,),
            {"h": 7, "w": 3, "mode": ours},
            _image(lambda f, x, how=how: f.interpolate(x, (7, 3), **how)),
        )
        for ours, how in (
            ("nearest", {"mode": "nearest"}),
            ("linear", {"mode": "bilinear", "align_corners": False}),
            ("cubic", {"mode": "bicubic", "align_corners": False}),
        )
    },
    # PyTorch's pixel_shuffle has the channel outermost, ONNX's DepthToSpace (DCR) the block, as ours.
    "depth to space": (
        "depth_to_space",
        ((1, 2, 3, 8),),
        {"block": 2},
        lambda f, x: x.reshape(1, 2, 3, 2, 2, 2).permute(0, 1, 3, 2, 4, 5).reshape(1, 4, 6, 2),
    ),
    "convolution": (
        "convolution",
        (X, (3, 6, 3, 3)),
        {"stride": 2, "pad": 1},
        _image(lambda f, x, w: f.conv2d(x, w, None, 2, 1)),
    ),
    **{
        f"transposed convolution of stride {stride}": (
            "transposed_convolution",
            (X, (6, 3, 4, 3)),
            {"stride": stride, "pad": 1},
            _image(lambda f, x, w, stride=stride: f.conv_transpose2d(x, w, None, stride, 1)),
        )
        for stride in (1, 2, 3)
    },
    "shift convolution": ("shift_convolution", (X, (3, 6), C, C), {}, _shifted),
}


def _cat(tensors: tuple[Any, ...], axis: int) -> Any:
    import torch

    return torch.cat(tensors, axis)


def inputs_of(name: str) -> list[np.ndarray]:
    """Quarters between -2 and 2; variances above 0; positions where an input is an index, moves of up to 2 pixels."""
    operator, shapes, _, _ = CASES[name]
    found = []
    for number, shape in enumerate(shapes):
        whole = np.random.RandomState(number + 1).randint(-8, 9, shape)
        if operator in ("gather", "one_hot") and number == len(shapes) - 1:
            found.append((np.abs(whole) % 5).astype(np.int64))
        elif operator == "shift_convolution" and number >= 2:
            found.append((whole % 5 - 2).astype(np.int32))
        elif operator == "where" and number == 0:
            found.append(whole > 0)
        else:
            quarters = (whole / 4).astype(np.float32)
            found.append(np.abs(quarters) + 1 if operator == "batch_norm" and number == 2 else quarters)
    return found


def by_pytorch(name: str) -> np.ndarray:
    """PyTorch's result, in float64."""
    import torch

    tensors = [torch.from_numpy(x.astype(np.float64) if x.dtype == np.float32 else x) for x in inputs_of(name)]
    found: np.ndarray = CASES[name][3](torch.nn.functional, *tensors).to(torch.float64).numpy()
    return found


def recorded() -> dict[str, Any]:
    """PyTorch's shape and numbers of every case."""
    return json.loads(RECORDED.read_text(encoding="utf-8"))


def main() -> None:
    lines = []
    for name in CASES:
        y = by_pytorch(name)
        numbers = [float(f"{value:.7g}") for value in y.ravel()]
        lines.append(f"{json.dumps(name)}: {json.dumps([list(y.shape), numbers], separators=(',', ':'))}")
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
