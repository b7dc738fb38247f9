"""Numbers of things, as a reader of English expects them: `1 thread`, `2 threads`, `25.6 MB`."""

from __future__ import annotations


def plural(count: int, things: str) -> str:
    """A count and its noun, given as more than one is called."""
    return f"{count} {things.removesuffix('s') if count == 1 else things}"


def memory(count: int) -> str:
    """Bytes in the unit that fits them, with three digits."""
    value, unit = float(count), ""
    for larger in ("KB", "MB", "GB", "TB"):
        if float(f"{value:.3g}") < 1000:
            break
        value, unit = value / 1000, larger
    return f"{float(f'{value:.3g}'):g} {unit}" if unit else plural(count, "bytes")
