"""The reference a kernel is checked against: written from the definition, with NumPy, in float64.

It shares nothing with the emitter or with `tiling`'s window arithmetic: the input is padded for real and every tap is
one matrix product. Small integers make it exact in float32, so the check there is `==`; on reals the bound is K·eps.
"""

from __future__ import annotations

import numpy as np

from tiling.problem import Problem


def reference(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What the operator gives for x (N,H,W,C) and w (K,C/groups,R,S), or a (M,K) and b (K,N): float64, in y's shape."""
    x, w = x.astype(np.float64), w.astype(np.float64)
    if problem.op == "matmul":
        return x @ w
    y = np.zeros(problem.output.shape)
    _, out_h, out_w, _ = y.shape
    (_, rows, cols, _) = problem.broadcast.indices
    stride_h, stride_w = rows.coefficient("h"), cols.coefficient("w")
    dilation_h, dilation_w = rows.coefficient("r"), cols.coefficient("s")
    taps_r, taps_s = w.shape[2:]
    reach_h = (out_h - 1) * stride_h + (taps_r - 1) * dilation_h + 1
    reach_w = (out_w - 1) * stride_w + (taps_s - 1) * dilation_w + 1
    top, left = -rows.offset, -cols.offset
    bottom, right = max(0, reach_h - top - x.shape[1]), max(0, reach_w - left - x.shape[2])
    padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    for r in range(taps_r):
        for s in range(taps_s):
            h, v = r * dilation_h, s * dilation_w
            seen = padded[:, h : h + (out_h - 1) * stride_h + 1 : stride_h, v : v + (out_w - 1) * stride_w + 1 : stride_w]
            y += _pointwise(seen, w[:, :, r, s])
    return y


def _pointwise(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x (N,H,W,C) times w (K,C/groups): group by group a matrix product."""
    groups = x.shape[-1] // w.shape[1]
    if w.shape[1] == 1:  # the same without a loop over as many groups as there are channels
        return np.repeat(x, len(w) // groups, axis=-1) * w[:, 0]
    parts = zip(np.split(x, groups, axis=-1), np.split(w, groups))
    return np.concatenate([part @ weights.T for part, weights in parts], axis=-1)


def integers(problem: Problem, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of small whole numbers, so that every order of summation gives the same float32 result.

    Entries lie in [-b, b] with b·b·K < 2^24, K the reduction length; b falls to 1 for the longest reductions.
    """
    bound = max(1, min(4, int((2**24 / problem.reduction_length) ** 0.5)))
    rng = np.random.default_rng(seed)

    def draw(shape):
        return rng.integers(-bound, bound + 1, shape).astype(np.float32)

    return draw(problem.broadcast.shape), draw(problem.vector.shape)


def reals(problem: Problem, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs drawn evenly from [-1, 1)."""
    rng = np.random.default_rng(seed)
    return tuple(rng.random(t.shape, np.float32) * 2 - 1 for t in (problem.broadcast, problem.vector))


def error_bound(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The largest error a float32 sum may have, per output: K·eps · Σ|x·w|, whatever the order of summation.

    Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1: |error| <= gamma_K · Σ|x·w|.
    """
    eps = np.finfo(np.float32).eps / 2
    return problem.reduction_length * eps * reference(problem, np.abs(x), np.abs(w))
