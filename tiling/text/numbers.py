"""Numbers as text that reads back as the same number."""

from __future__ import annotations

from decimal import Decimal
from math import copysign, inf, isfinite
from struct import pack, unpack


def shortest(value: float) -> str:
    """The shortest decimal text of the f32 nearest to a value: "0.1", "1e-05" or "1.6777216e+07".

    A compiler that is given the text of the f64 instead rounds a second time, sometimes to another f32. NumPy's `str`
    differs from version to version, and generated code may not.
    """
    number = _f32(value)
    if not isfinite(number):
        return str(number)
    texts = (f"{number:.{digits}e}" for digits in range(9))  # 9 digits tell every f32 from its neighbours
    text = next(text for text in texts if _f32(float(text)) == number)
    if number == 0 or 1e-4 <= abs(number) < 1e6:
        plain = f"{Decimal(text):f}"
        return plain if "." in plain else f"{plain}.0"
    return text


def _f32(value: float) -> float:
    """The f32 nearest to a value."""
    try:
        (found,) = unpack("f", pack("f", value))
    except OverflowError:
        return copysign(inf, value)
    return float(found)
