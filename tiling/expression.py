"""Sums and products as C text, without terms of 0 and factors of 1. Emitters and task maps use them."""

from __future__ import annotations


def added(*terms: str | int) -> str:
    """`a + b`; "0" where every term is 0."""
    return " + ".join(str(term) for term in terms if str(term) != "0") or "0"


def times(text: str, factor: str | int) -> str:
    """`text * 3`, with brackets around a sum or a quotient; "0" for the text "0"."""
    if str(factor) == "1" or text == "0":
        return text
    if any(operator in str(factor) for operator in (" + ", " - ", " / ", " % ")):
        factor = f"({factor})"
    return f"({text}) * {factor}" if " " in text else f"{text} * {factor}"
