"""The reader of epilogues: short expressions, applied to every output before it is stored, `relu(y*scale + b + z)`.

The text becomes a tree (`tiling.value`), whose `str` parses back to an equal tree. `cpu.codegen.epilogue` turns the
tree into vector code, `cpu.reference.oracle` into its value.
"""

#     y                      the sum that the operator computes
#     6   0.5   1e-3         numbers
#     b[k]   z[n,h,w,k]      arrays, indexed by dims of the output, in the output's order
#     + - * /   -v   (v)     as in C
#     relu(v)   min(v, 6)    the functions of FUNCTIONS
#
# Without brackets the names of PER_CHANNEL mean one value a channel (b is b[k], for a product b[n]), those of FULL an
# array of the output's shape.

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tiling.choices import meant
from tiling.problem import Problem, ProblemError
from tiling.tokens import LARGEST_NUMBER, NAME, NUMBER, TokenReader
from tiling.value import Applied, Constant, Epilogue, EpilogueArray, Sum, Value, parts

# The functions and their numbers of arguments. Names and definitions are PyTorch's, as in clamp(v, low, high). gelu is
# the exact form with erf, gelu_tanh that of `approximate="tanh"`. Where |y*s| < 2^22,
# round_mul(y, s) is the whole number nearest to the exact y*s. For larger products it is y*s with an error of at most
# 2 ulp. A zero is +0.
FUNCTIONS = {
    **{"relu": 1, "relu6": 1, "leaky_relu": 2, "hardsigmoid": 1, "hardswish": 1},
    **{"abs": 1, "min": 2, "max": 2, "clamp": 3, "round_mul": 2},
    **{"exp": 1, "tanh": 1, "sigmoid": 1, "silu": 1, "gelu": 1, "gelu_tanh": 1},
}
PER_CHANNEL = ("b", "bias", "scale", "shift")
FULL = ("z", "residual")
RESERVED = ("y", "x", "w", "out")  # the names of a kernel's own arguments
MOST_ARRAYS = 4
LONGEST = 300  # characters
DEEPEST = 40  # levels of parentheses

_TOKEN = re.compile(rf"{NUMBER}|{NAME}|(?P<mark>[-+*/(),[\]])")


class EpilogueError(ProblemError):
    """An epilogue that cannot be read or computed. The message says which part, at which character, and why."""


def fused(problem: Problem, text: str | None) -> Problem:
    """The problem with this epilogue fused into its stores; None changes nothing. Raises EpilogueError."""
    if text is None:
        return problem
    if problem.epilogue is not None:
        raise EpilogueError(f"the problem has an epilogue already, {problem.epilogue}: give one")
    if problem.original is not problem:  # the text may name axes that are fused here
        raise EpilogueError(f"an epilogue is fused into a convolution before that becomes {problem.op}")
    return replace(problem, epilogue=parse(problem, text))


def parse(problem: Problem, text: str) -> Epilogue:
    """The epilogue that `text` spells for `problem`. Raises EpilogueError, which names the place and what is wrong."""
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
    axes: dict[str, EpilogueArray] = {}
    for array in epilogue.arrays:
        if axes.setdefault(array.name, array) != array:
            raise EpilogueError(f"epilogue {_quoted(text)} has both {axes[array.name]} and {array}: use two names")
    return epilogue


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:80]}…")


class _Reader(TokenReader):
    pattern = _TOKEN

    def __init__(self, problem: Problem, text: str):
        self.problem, self.axes, self.depth = problem, problem.output_axes, 0
        super().__init__(text)

    def blank(self, at: int) -> int:
        while at < len(self.text) and self.text[at].isspace():
            at += 1
        return at

    def wrong(self, why: str) -> EpilogueError:
        place = f"{self.token!r} at character {self.at + 1}" if self.token else "the end"
        return EpilogueError(f"epilogue {_quoted(self.text)}: {place} {why}")

    def whole(self) -> Value:
        value = self.sum()
        if self.token:
            raise self.wrong("follows a complete expression: an operator is missing, or there is one ')' too many")
        return value

    def sum(self) -> Value:
        return self._chain({"+": "add", "-": "sub"}, self.product)

    def product(self) -> Value:
        return self._chain({"*": "mul", "/": "div"}, self.signed)

    def _chain(self, operations: dict[str, str], part: Callable[[], Value]) -> Value:
        value = part()
        while self.token in operations:
            operation = operations[self.advance()]
            value = Applied(operation, (value, part()))
        return value

    def signed(self) -> Value:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"is inside more than {DEEPEST} parentheses and signs")
        if self.token == "-":
            self.advance()
            value: Value = Applied("neg", (self.signed(),))
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
            return Constant(float(self.advance()))
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
            raise self.wrong(f"is no function{meant(self.token, FUNCTIONS)}; there are {' '.join(FUNCTIONS)}")
        if bare != "[":
            channel = self.problem.vector_dim
            if name not in (*PER_CHANNEL, *FULL):
                raise self.wrong(
                    f"does not say its shape: write {name}[{channel}] for one value a channel, "
                    f"{name}[{','.join(self.axes)}] for an array of the output's shape"
                )
            self.advance()
            return EpilogueArray(name, (channel,) if name in PER_CHANNEL else self.axes)
        self.advance()
        return EpilogueArray(name, self.brackets(name, start))

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
        return Applied(function, tuple(arguments))
