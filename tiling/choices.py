"""Names to choose from, as a sentence lists them: `f16, bf16 or tf32`."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def either(names: Iterable[str]) -> str:
    """The names with commas, and `or` before the last."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def meant(wanted: str, names: Iterable[str]) -> str:
    """What follows an unknown name: ` (did you mean f16 or bf16?)`, or nothing where no name is like it."""
    folded = {name.casefold(): name for name in names}
    close = [folded[name] for name in get_close_matches(wanted.casefold(), folded, n=3)]
    return f" (did you mean {' or '.join(close)}?)" if close else ""
