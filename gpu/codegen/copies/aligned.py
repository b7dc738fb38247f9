"""Where copies of inputs (`tiling.rewrite.copied`) lie: in one piece of memory, one after another."""

from __future__ import annotations

from itertools import accumulate

from tiling.rewrite.copied import Copied


def slices(copies: tuple[Copied, ...]) -> list[slice]:
    """The bytes at which each copy lies in the memory of all copies."""
    sizes = [copy.size * copy.element_bytes for copy in copies]
    return [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes))]


def copied_bytes(copies: tuple[Copied, ...]) -> int:
    """Bytes of memory for all copies."""
    return sum(copy.size * copy.element_bytes for copy in copies)
