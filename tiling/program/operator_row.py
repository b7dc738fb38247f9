"""A row of the table of operators: the text of one for given shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Row:
    """An operator for given shapes: its text, the names of its inputs, and the extents that no shape tells."""

    text: str
    inputs: tuple[str, ...]
    extents: Mapping[str, int] = field(default_factory=dict)
