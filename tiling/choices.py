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
    return asked(like(wanted, names))


def like(wanted: str, names: Iterable[str]) -> list[str]:
    """The names that are like an unknown one, the nearest first. Case and the dashes of options do not count."""
    bare = {_bare(name): name for name in names}
    return [bare[name] for name in get_close_matches(_bare(wanted), bare, n=3)]


def asked(names: Iterable[str]) -> str:
    """The question whether one of these names was meant; nothing without any."""
    text = " or ".join(names)
    return f" (did you mean {text}?)" if text else ""


def _bare(name: str) -> str:
    return name.lstrip("-").casefold()
