"""Folds a batch normalisation of a convolution's outputs into its weights and a bias."""

from __future__ import annotations

import numpy as np

from tiling.arguments import ArgumentError


def fold_batch_norm(
    w: object, gamma: object, beta: object, mean: object, var: object, eps: float = 1e-5, bias: object | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Weights w' and bias b' of one convolution that replaces a convolution followed by a batch normalisation.

    gamma·(conv(x, w) + bias - mean) / sqrt(var + eps) + beta  =  conv(x, w') + b'
    with  g = gamma / sqrt(var + eps),  w'[k] = g[k]·w[k],  b' = beta + g·(bias - mean).

    w is (K,C,R,S), or (K,C,Q,R,S) for volumes, eps is one number, every other array is (K,). The names are those of
    PyTorch's BatchNorm2d in evaluation mode. The arithmetic is in float64; w', of the shape of w, and b' (K,) are
    float32. Pass them to a kernel with, for example, epilogue="relu(y + b)". Raises ArgumentError.
    """
    weights = _numbers("w", w)
    if weights.ndim not in (4, 5):
        raise ArgumentError(f"w has shape {weights.shape}, but the weights of a convolution are (K, C, R, S)")
    if bias is None:
        bias = np.zeros(weights.shape[0])
    given = {"gamma": gamma, "beta": beta, "mean": mean, "var": var, "bias": bias}
    of = {name: _numbers(name, array) for name, array in given.items()}
    epsilon = _numbers("eps", eps)
    if epsilon.shape:
        raise ArgumentError(f"eps has shape {epsilon.shape}, but it is one number for all channels")
    for name, array in of.items():
        if array.shape != weights.shape[:1]:
            wanted = f"w has {len(weights)} output channels: pass ({len(weights)},)"
            raise ArgumentError(f"{name} has shape {array.shape}, but {wanted}")
    if not np.all(of["var"] + epsilon > 0):
        channel = int(np.argmin(of["var"] + epsilon))
        raise ArgumentError(f"var + eps is not above 0 for channel {channel}: a variance is at least 0")
    scale = of["gamma"] / np.sqrt(of["var"] + epsilon)
    shifted = of["beta"] + scale * (of["bias"] - of["mean"])
    with np.errstate(over="ignore"):
        scales = scale.reshape(-1, *(1,) * (weights.ndim - 1))
        folded, shifted = (scales * weights).astype(np.float32), shifted.astype(np.float32)
    finite = np.isfinite(folded).reshape(len(folded), -1).all(1) & np.isfinite(shifted)
    if not finite.all():
        raise ArgumentError(f"channel {int(np.argmin(finite))} folds into weights or a bias that are no finite float32")
    return folded, shifted


def _numbers(name: str, given: object) -> np.ndarray:
    try:
        array = np.asarray(given)  # for a tensor that requires grad, PyTorch's error says what to call
        if array.dtype.kind not in "fiu":
            raise TypeError(f"it is {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{name} cannot be read as real numbers: {error}") from error
