"""How much the arrays of two ways to compute differ."""

from __future__ import annotations

import numpy as np


def apart(y: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, relative to the largest finite number.

    Infinite where shapes, whole numbers, or the places of NaNs and infinities differ.
    """
    if y.shape != other.shape or not np.array_equal(_beyond(y), _beyond(other), equal_nan=True):
        return float("inf")
    if y.dtype.kind != "f":
        return 0.0
    finite = np.isfinite(other)
    here, there = (0.5 * each[finite].astype(np.float64) for each in (y, other))  # no difference of halves overflows
    return float(np.max(np.abs(here - there), initial=0) / (np.max(np.abs(there), initial=0) or 0.5))


def _beyond(values: np.ndarray) -> np.ndarray:
    """What must be equal: whole numbers; of floats the NaNs and infinities, with 0 for all others."""
    return values if values.dtype.kind != "f" else np.where(np.isfinite(values), 0, values)
