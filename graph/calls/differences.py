"""How much the arrays of two ways to compute differ."""

from __future__ import annotations

import numpy as np


def apart(y: np.ndarray, other: np.ndarray) -> float:
    """The largest difference, relative to the largest number; infinite for a NaN, and where whole numbers differ."""
    if y.dtype.kind != "f":
        return 0.0 if np.array_equal(y, other) else float("inf")
    found = float(np.max(np.abs(y - other), initial=0) / (np.max(np.abs(other), initial=0) or 1))
    return found if found == found else float("inf")
