"""onnx's own reference, with operators in place of those in which it fails or errs.

onnx 1.23's MaxPool takes pads for those of other axes where they differ, its GatherElements ends at 64 elements, and
its Loop joins what the turns give along an axis that is there already.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops import op_loop


class MaxPool(OpRun):
    """A MaxPool with one output, whose windows have no dilation."""

    def _run(self, x, kernel_shape=None, pads=None, strides=None, **rest):  # type: ignore[no-untyped-def]
        axes = len(kernel_shape)
        widths = [(0, 0), (0, 0), *zip(pads[:axes], pads[axes:])]
        padded = np.pad(x, widths, constant_values=-np.inf)
        outs = [(e - k) // s + 1 for e, k, s in zip(padded.shape[2:], kernel_shape, strides)]
        found = np.full((*x.shape[:2], *outs), -np.inf, x.dtype)
        for taps in product(*map(range, kernel_shape)):
            seen = tuple(slice(t, t + s * (out - 1) + 1, s) for t, s, out in zip(taps, strides, outs))
            found = np.maximum(found, padded[(..., *seen)])
        return (found,)


class GatherElements(OpRun):
    def _run(self, x, at, axis=None):  # type: ignore[no-untyped-def]
        return (np.take_along_axis(x, at, axis),)


class Loop(op_loop.Loop):
    """A Loop that turns at least once."""

    def _run(self, count, going, *states, context=None, attributes=None, **rest):  # type: ignore[no-untyped-def]
        turn, rows = 0, []
        while going and turn < count:
            inputs = dict(zip(self.body.input_names, (np.array(turn), going, *states), strict=True))
            going, *found = self._run_body({**context, **inputs}, attributes=attributes)
            states, row = found[: len(states)], found[len(states) :]
            rows.append(row)
            turn += 1
        return (*states, *map(np.stack, zip(*rows)))


def onnx_outputs(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """What the model gives, in its order."""
    reference = ReferenceEvaluator(model, new_ops=[MaxPool, GatherElements, Loop])
    found: list[np.ndarray] = reference.run(None, dict(feeds))
    return found
