"""Sums and products as C, made of texts and numbers: what adds 0 or multiplies by 1 is left out."""

from __future__ import annotations


def times(text: str, factor: int) -> str:
    if factor == 1 or text == "0":
        return text
    return f"({text}) * {factor}" if " " in text else f"{text} * {factor}"


def added(*terms: str) -> str:
    return " + ".join(term for term in terms if term != "0") or "0"
