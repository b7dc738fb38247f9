"""Sums and products as C text, which both emitters and task maps are written in: what adds 0 or multiplies by 1 is left
out.
"""

from __future__ import annotations


def added(*terms: str | int) -> str:
    """`a + b`; "0" where every term is."""
    return " + ".join(str(term) for term in terms if str(term) != "0") or "0"


def subtracted(text: str, less: str) -> str:
    """`a - b`, a sum b in brackets; "0" where both are the same."""
    if text == less:
        return "0"
    if less == "0":
        return text
    return f"{text} - ({less})" if " " in less else f"{text} - {less}"


def times(text: str, factor: str | int) -> str:
    """`text * 3`, a sum in brackets; "0" for the text "0"."""
    if str(factor) == "1" or text == "0":
        return text
    return f"({text}) * {factor}" if " " in text else f"{text} * {factor}"
