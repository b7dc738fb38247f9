"""The tree of an epilogue's expression: the sum, numbers and arrays, and operations on them.

`tiling.epilogue` reads it from a text and lists the functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_WHOLE = {"add", "sub", "mul", "neg", "relu", "relu6", "leaky_relu", "abs", "min", "max", "clamp", "round_mul"}


@dataclass(frozen=True)
class Sum:
    """`y`: the sum that the operator computes."""

    def __str__(self) -> str:
        return "y"


@dataclass(frozen=True)
class Constant:
    """A number, rounded to f32 where it is used."""

    value: float

    def __str__(self) -> str:
        return repr(self.value).removesuffix(".0")


@dataclass(frozen=True)
class EpilogueArray:
    """A named array over some dims of the output: `b[k]`."""

    name: str
    axes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}[{','.join(self.axes)}]"


@dataclass(frozen=True)
class Applied:
    """An operation on values: add, sub, mul, div, neg, or one of FUNCTIONS."""

    operation: str
    arguments: tuple[Value, ...]

    def __str__(self) -> str:
        if self.operation == "neg":
            (value,) = self.arguments
            return f"-({value})" if _binding(value) < _binding(self) else f"-{value}"
        if self.operation not in _SYMBOLS:
            return f"{self.operation}({','.join(map(str, self.arguments))})"
        left, right = self.arguments
        before = f"({left})" if _binding(left) < _binding(self) else str(left)
        # - and / associate to the left: an operand right of them needs parentheses even where it binds alike.
        after = f"({right})" if _binding(right) <= _binding(self) else str(right)
        return f"{before}{_SYMBOLS[self.operation]}{after}"


Value = Sum | Constant | EpilogueArray | Applied


def _binding(value: Value) -> int:
    """How tightly the outermost operation binds: 1 a sum, 2 a product, 3 a sign, 4 a value without operators."""
    operation = value.operation if isinstance(value, Applied) else ""
    return {"add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 3}.get(operation, 4)


@dataclass(frozen=True)
class Epilogue:
    """An expression over the sum y, numbers and named arrays. `tiling.epilogue.parse` makes it."""

    value: Value

    def __str__(self) -> str:
        return str(self.value)

    @cached_property
    def arrays(self) -> tuple[EpilogueArray, ...]:
        """Each array once, in the order of first use. Kernels take them in this order."""
        return tuple(dict.fromkeys(part for part in parts(self.value) if isinstance(part, EpilogueArray)))

    @cached_property
    def keeps_integers(self) -> bool:
        """Whether whole numbers give whole numbers. float32 computes those exactly while they are small."""
        numbers = (part.value for part in parts(self.value) if isinstance(part, Constant))
        return self.operations <= _WHOLE and all(number == int(number) for number in numbers)

    @cached_property
    def operations(self) -> frozenset[str]:
        """The names of all operations and functions in the expression."""
        return frozenset(part.operation for part in parts(self.value) if isinstance(part, Applied))


def parts(value: Value) -> Iterator[Value]:
    """The value itself and all its parts."""
    yield value
    for argument in getattr(value, "arguments", ()):
        yield from parts(argument)
