"""Indices and conditions as text that C and CUDA both read: what their printers share."""

from __future__ import annotations

from tiling.loops.index import Index, Operation
from tiling.loops.language import Aligned, Condition, Flag


def number(index: Index) -> str:
    """An index as C."""
    text = ""
    for term, c in index.terms:
        sign, size = ("-" if c < 0 else "+"), abs(c)
        one = _operation(term) if isinstance(term, Operation) else term
        if size != 1:
            one = f"{size} * ({one})" if isinstance(term, Operation) and term.operation in "/%" else f"{size} * {one}"
        text += f" {sign} {one}" if text else (f"-{one}" if c < 0 else one)
    if not text:
        return str(index.offset)
    return f"{text} {'-' if index.offset < 0 else '+'} {abs(index.offset)}" if index.offset else text


def _operation(one: Operation) -> str:
    left, right = number(one.left), number(one.right)
    if one.operation == "^":
        return f"({' ^ '.join(f'({side})' if ' ' in side else side for side in (left, right))})"
    right = f"({right})" if one.operation in "*/%" and " " in right else right
    if one.operation in ("min", "max"):
        return f"({left} {'<' if one.operation == 'min' else '>'} {right} ? {left} : {right})"
    return f"({left}) {one.operation} {right}" if " + " in left or " - " in left else f"{left} {one.operation} {right}"


def test(condition: Condition) -> str:
    """A condition as C."""
    if isinstance(condition, Flag):
        return condition.name
    if isinstance(condition, Aligned):
        return f"(uintptr_t){condition.buffer} % {condition.bytes} {'==' if condition.does else '!='} 0"
    text, low, high = number(condition.index), condition.low, condition.high
    if low is not None and high == low + 1:
        return f"{text} == {low}"
    tests = [f"{text} >= {low}"] * (low is not None) + [f"{text} < {high}"] * (high is not None)
    return " && ".join(tests)
