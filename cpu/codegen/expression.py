"""Blocks of C as text."""

from __future__ import annotations

INDENT = "    "


def indented(lines: list[str]) -> list[str]:
    """The lines, indented by one level."""
    return [INDENT + line for line in lines]
