"""Numbers as text that reads back as the same number."""

from __future__ import annotations

import numpy as np


def shortest(value: float) -> str:
    """The shortest decimal text of the f32 nearest to a value: "0.1", "1e-05" or "1.6777216e+07".

    A compiler that is given the text of the f64 instead rounds a second time, sometimes to another f32. NumPy's `str`
    differs from version to version, and generated code may not.
    """
    number = np.float32(value)
    if not np.isfinite(number):
        return str(float(number))
    if number == 0 or 1e-4 <= abs(float(number)) < 1e6:
        return np.format_float_positional(number, trim="0")
    return np.format_float_scientific(number, trim="-", exp_digits=2)
