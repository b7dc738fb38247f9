"""A batch normalisation of a convolution's outputs, folded into its weights and a bias."""

from __future__ import annotations

import numpy as np

from cpu.kernel import ArgumentError


def fold_batch_norm(w, gamma, beta, mean, var, eps: float = 1e-5, bias=None) -> tuple[np.ndarray, np.ndarray]:
    """Weights and bias of the convolution that does what a convolution and then a batch normalisation do.

    gamma·(conv(x, w) + bias - mean) / sqrt(var + eps) + beta  =  conv(x, w') + b'
    with  g = gamma / sqrt(var + eps),  w'[k] = g[k]·w[k],  b' = beta + g·(bias - mean).

    w is (K,C,R,S), everything else (K,); eps and the names are those of PyTorch's BatchNorm2d in evaluation mode.
    Folded in float64 and returned as float32: w' (K,C,R,S), b' (K,), for a kernel with epilogue="relu(y + b)", say.
    Raises ArgumentError.
    """
    w = _numbers("w", w)
    if w.ndim != 4:
        raise ArgumentError(f"w has shape {w.shape}, but the weights of a convolution are (K, C, R, S)")
    if bias is None:
        bias = np.zeros(w.shape[0])
    given = {"gamma": gamma, "beta": beta, "mean": mean, "var": var, "bias": bias}
    of = {name: _numbers(name, array) for name, array in given.items()}
    eps = _numbers("eps", eps)
    if eps.shape:
        raise ArgumentError(f"eps has shape {eps.shape}, but it is one number for all channels")
    for name, array in of.items():
        if array.shape != w.shape[:1]:
            wanted = f"w has {len(w)} output channels: pass ({len(w)},)"
            raise ArgumentError(f"{name} has shape {array.shape}, but {wanted}")
    if not np.all(of["var"] + eps > 0):
        channel = int(np.argmin(of["var"] + eps))
        raise ArgumentError(f"var + eps is not above 0 for channel {channel}: a variance is at least 0")
    scale = of["gamma"] / np.sqrt(of["var"] + eps)
    shifted = of["beta"] + scale * (of["bias"] - of["mean"])
    with np.errstate(over="ignore"):
        folded, shifted = (scale[:, None, None, None] * w).astype(np.float32), shifted.astype(np.float32)
    finite = np.isfinite(folded).all((1, 2, 3)) & np.isfinite(shifted)
    if not finite.all():
        raise ArgumentError(f"channel {int(np.argmin(finite))} folds into weights or a bias that are no finite float32")
    return folded, shifted


def _numbers(name: str, given) -> np.ndarray:
    try:
        array = np.asarray(given)  # of a tensor that wants its gradient PyTorch says what to call
        if array.dtype.kind not in "fiu":
            raise TypeError(f"it is {array.dtype}")
        return array.astype(np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{name} cannot be read as real numbers: {error}") from error
