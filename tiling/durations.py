"""Times as readers see them: with few digits, and without exponents."""

from __future__ import annotations

from decimal import Decimal


def milliseconds(seconds: float) -> str:
    """`0.00154`, `1.54`, `154`: three digits, and all before the point. Tables have the unit at their head."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{Decimal(f'{value:#.3g}'):f}"


def microseconds(seconds: float) -> str:
    """`0.034 µs`, `1.5 µs`, `154.3 µs`: a digit after the point, and two digits below 1."""
    value = 1e6 * seconds
    return f"{value:.1f} µs" if value >= 1 else f"{Decimal(f'{value:.2g}'):f} µs"
