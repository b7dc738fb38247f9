"""What is done to every output just before it is stored, as a short expression: `relu(y*scale + b + z)`.

    y                      the sum that the operator computes
    6   0.5   1e-3         numbers
    b[k]   z[n,h,w,k]      arrays, indexed by dims of the output, in the output's order
    + - * /   -v   (v)     as everywhere
    relu(v)   min(v, 6)    the functions of FUNCTIONS

Without brackets the names of PER_CHANNEL stand for one value a channel (b is b[k], of a product b[n]), those of FULL
for an array of the output's shape. The tree says what is meant and nothing of how it is computed: `cpu.epilogue` turns
it into vector code, `cpu.oracle` into its value. `str` is the canonical text, which parses back to an equal tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tiling.problem import Problem, ProblemError

# Functions and how many arguments they take, named and defined as PyTorch's: relu6, hardswish and clamp(v, low, high)
# included; gelu is the exact form with erf, gelu_tanh the one that `approximate="tanh"` asks for.
FUNCTIONS = {
    **{"relu": 1, "relu6": 1, "leaky_relu": 2, "hardsigmoid": 1, "hardswish": 1},
    **{"abs": 1, "min": 2, "max": 2, "clamp": 3},
    **{"exp": 1, "tanh": 1, "sigmoid": 1, "silu": 1, "gelu": 1, "gelu_tanh": 1},
}
PER_CHANNEL = ("b", "bias", "scale", "shift")
FULL = ("z", "residual")
RESERVED = ("y", "x", "w", "out")  # what a kernel's own arguments are called
MOST_ARRAYS = 4
LONGEST = 300  # characters
DEEPEST = 40  # parentheses inside each other
LARGEST_NUMBER = 3.4e38  # an f32

_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>[-+*/(),[\]])"
)
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_WHOLE = {"add", "sub", "mul", "neg", "relu", "relu6", "leaky_relu", "abs", "min", "max", "clamp"}


class EpilogueError(ProblemError):
    """An epilogue that cannot be read or computed: which part of it, at which character, and why."""


@dataclass(frozen=True)
class Sum:
    """`y`: what the operator computes."""

    def __str__(self) -> str:
        return "y"


@dataclass(frozen=True)
class Number:
    """A number, rounded to f32 where it is used."""

    value: float

    def __str__(self) -> str:
        return repr(self.value).removesuffix(".0")


@dataclass(frozen=True)
class Array:
    """A named array over some dims of the output: `b[k]`."""

    name: str
    axes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}[{','.join(self.axes)}]"


@dataclass(frozen=True)
class Apply:
    """An operation on values: add, sub, mul, div, neg, or one of FUNCTIONS."""

    operation: str
    arguments: tuple["Value", ...]

    def __str__(self) -> str:
        if self.operation == "neg":
            (value,) = self.arguments
            return f"-({value})" if _binding(value) < _binding(self) else f"-{value}"
        if self.operation not in _SYMBOLS:
            return f"{self.operation}({','.join(map(str, self.arguments))})"
        left, right = self.arguments
        before = f"({left})" if _binding(left) < _binding(self) else str(left)
        # - and / are read from the left, so what stands right of them needs parentheses even where it binds alike.
        after = f"({right})" if _binding(right) <= _binding(self) else str(right)
        return f"{before}{_SYMBOLS[self.operation]}{after}"


Value = Sum | Number | Array | Apply


def _binding(value: Value) -> int:
    """How tightly the outermost operation of a value binds: sums, products, signs, and what needs no parentheses."""
    operation = value.operation if isinstance(value, Apply) else ""
    return {"add": 1, "sub": 1, "mul": 2, "div": 2, "neg": 3}.get(operation, 4)


@dataclass(frozen=True)
class Epilogue:
    """An expression over the sum y, numbers and named arrays; made by `parse`."""

    value: Value

    def __str__(self) -> str:
        return str(self.value)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """Each array once, in the order of first use: the order in which kernels take them."""
        return tuple(dict.fromkeys(part for part in parts(self.value) if isinstance(part, Array)))

    @cached_property
    def keeps_integers(self) -> bool:
        """Whether whole numbers give whole numbers, which float32 computes without an error while they are small."""
        numbers = (part.value for part in parts(self.value) if isinstance(part, Number))
        return self.operations <= _WHOLE and all(number == int(number) for number in numbers)

    @cached_property
    def operations(self) -> frozenset[str]:
        """The names of all operations and functions in it."""
        return frozenset(part.operation for part in parts(self.value) if isinstance(part, Apply))


def parts(value: Value) -> Iterator[Value]:
    """The value itself and all that it is made of."""
    yield value
    for argument in getattr(value, "arguments", ()):
        yield from parts(argument)


def fused(problem: Problem, text: str | None) -> Problem:
    """The problem with this epilogue fused into its stores; None changes nothing. Raises EpilogueError."""
    if text is None:
        return problem
    if problem.epilogue is not None:
        raise EpilogueError(f"the problem has an epilogue already, {problem.epilogue}: give one")
    if problem.asked is not problem:  # of which some axes are one here, that the text may name
        raise EpilogueError(f"an epilogue is fused into a convolution before that becomes {problem.op}")
    return replace(problem, epilogue=parse(problem, text))


def parse(problem: Problem, text: str) -> Epilogue:
    """The epilogue that `text` spells for `problem`. Raises EpilogueError naming the place and what is wrong there."""
    if not isinstance(text, str):
        raise EpilogueError(f"epilogue={text!r} must be a text such as 'relu(y + b)'")
    if len(text) > LONGEST:
        raise EpilogueError(f"the epilogue has {len(text)} characters, {LONGEST} are the most supported")
    reader = _Reader(problem, text)
    epilogue = Epilogue(reader.whole())
    if Sum() not in parts(epilogue.value):
        raise EpilogueError(f"epilogue {_quoted(text)} does not use y, the sum that the operator computes")
    if len(epilogue.arrays) > MOST_ARRAYS:
        count = len(epilogue.arrays)
        raise EpilogueError(f"epilogue {_quoted(text)} names {count} arrays, {MOST_ARRAYS} are the most supported")
    axes: dict[str, Array] = {}
    for array in epilogue.arrays:
        if axes.setdefault(array.name, array) != array:
            raise EpilogueError(f"epilogue {_quoted(text)} has both {axes[array.name]} and {array}: use two names")
    return epilogue


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")


class _Reader:
    """Recursive descent over one text; `token` is the one ahead, `at` where it starts."""

    def __init__(self, problem: Problem, text: str):
        self.problem, self.text = problem, text
        self.axes = problem.output_axes
        self.at = self.end = self.depth = 0
        self.kind: str | None = None
        self.token = ""
        self.advance()

    def advance(self) -> str:
        """Steps to the next token and returns the one before it."""
        passed, self.at = self.token, self.end
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        match = _TOKEN.match(self.text, self.at)
        if self.at == len(self.text):
            self.kind, self.token, self.end = None, "", self.at
        elif match is None:
            self.token = self.text[self.at]
            raise self.wrong("cannot be read")
        else:
            self.kind, self.token, self.end = match.lastgroup, match[match.lastgroup], match.end()
        return passed

    def wrong(self, why: str) -> EpilogueError:
        place = f"{self.token!r} at character {self.at + 1}" if self.token else "the end"
        return EpilogueError(f"epilogue {_quoted(self.text)}: {place} {why}")

    def expect(self, mark: str, why: str) -> None:
        if self.token != mark:
            raise self.wrong(f"stands where {mark!r} is expected, {why}")
        self.advance()

    def whole(self) -> Value:
        value = self.sum()
        if self.token:
            raise self.wrong("follows a complete expression: an operator is missing, or there is one ')' too many")
        return value

    def sum(self) -> Value:
        return self._chain({"+": "add", "-": "sub"}, self.product)

    def product(self) -> Value:
        return self._chain({"*": "mul", "/": "div"}, self.signed)

    def _chain(self, operations: dict[str, str], part) -> Value:
        value = part()
        while self.token in operations:
            operation = operations[self.advance()]
            value = Apply(operation, (value, part()))
        return value

    def signed(self) -> Value:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"is inside more than {DEEPEST} parentheses and signs")
        if self.token == "-":
            self.advance()
            value: Value = Apply("neg", (self.signed(),))
        else:
            value = self.single()
        self.depth -= 1
        return value

    def single(self) -> Value:
        if self.token == "(":
            self.advance()
            value = self.sum()
            self.expect(")", "which closes the parenthesis")
            return value
        if self.kind == "number":
            if not float(self.token) <= LARGEST_NUMBER:
                raise self.wrong("is larger than any f32")
            return Number(float(self.advance()))
        if self.kind == "name":
            return self.named()
        raise self.wrong("stands where a value is expected")

    def named(self) -> Value:
        if self.token in FUNCTIONS:
            return self.call()
        if self.token == "y":
            self.advance()
            return Sum()
        if self.token in RESERVED:
            raise self.wrong("is an argument of the kernel already: give the array another name")
        name = self.token
        start = self.at
        bare = self.text[self.end :].lstrip()[:1]
        if bare == "(":
            raise self.wrong(f"is no function; there are {' '.join(FUNCTIONS)}")
        if bare != "[":
            channel = self.problem.vector_dim
            if name not in (*PER_CHANNEL, *FULL):
                raise self.wrong(
                    f"does not say its shape: write {name}[{channel}] for one value a channel, "
                    f"{name}[{','.join(self.axes)}] for an array of the output's shape"
                )
            self.advance()
            return Array(name, (channel,) if name in PER_CHANNEL else self.axes)
        self.advance()
        return Array(name, self.brackets(name, start))

    def brackets(self, name: str, start: int) -> tuple[str, ...]:
        self.advance()
        axes = [self.axis()]
        while self.token == ",":
            self.advance()
            axes.append(self.axis())
        self.expect("]", f"after the dims of {name}")
        if axes != [axis for axis in self.axes if axis in axes]:
            raise EpilogueError(
                f"epilogue {_quoted(self.text)}: {name}[{','.join(axes)}] at character {start + 1} must name dims once "
                f"each, in the output's order {','.join(self.axes)}"
            )
        return tuple(axes)

    def axis(self) -> str:
        if self.token not in self.axes:
            raise self.wrong(f"is no dim of the output; its dims are {' '.join(self.axes)}")
        return self.advance()

    def call(self) -> Value:
        function = self.advance()
        self.expect("(", f"after {function}")
        arguments = [self.sum()]
        while self.token == ",":
            self.advance()
            arguments.append(self.sum())
        if len(arguments) != FUNCTIONS[function]:
            wanted = f"{FUNCTIONS[function]} argument{'s' if FUNCTIONS[function] > 1 else ''}"
            raise self.wrong(f"ends {function} after {len(arguments)}: it takes {wanted}")
        self.expect(")", f"which closes {function}")
        return Apply(function, tuple(arguments))
