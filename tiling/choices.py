"""Names to choose from, as a sentence lists them: `f16, bf16 or tf32`."""

from __future__ import annotations

from collections.abc import Iterable


def either(names: Iterable[str]) -> str:
    """The names with commas, and `or` before the last."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last
