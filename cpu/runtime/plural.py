"""Numbers of things, as a reader of English expects them: `1 thread`, `2 threads`."""

from __future__ import annotations


def plural(count: int, things: str) -> str:
    """A count and its noun, given as more than one is called."""
    return f"{count} {things.removesuffix('s') if count == 1 else things}"
