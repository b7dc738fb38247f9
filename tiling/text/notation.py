"""The text form of a scheme: `T(w,136) L(h, 2x11 + 1x12) S(y) T(c,128) U(h,λ) U(k,2) V(k,16)`.

`parse(problem, scheme.text) == scheme` for every scheme. White space is free; `lambda` and `l` may stand for λ. A text
that begins with `F(4x4,3x3) B(28,64)` means Winograd's algorithm (`tiling.rewrite.winograd.algorithm`), and goes on
with the scheme of one product.
"""

from __future__ import annotations

import re

from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import Winograd, check_block, product_problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import (
    LAMBDA,
    DotGroup,
    Lambda,
    Matrix,
    PixelBlock,
    Rest,
    SchemeError,
    Specifier,
    Stage,
    Tile,
    Unroll,
    Vector,
)

_ITEM = re.compile(r"\s*([A-Z])\s*\(([^()]*)\)\s*(?:@\s*([a-z]+))?")
_NUMBER = re.compile(r"[0-9]{1,9}\Z")
_WINOGRAD = re.compile(
    r"\s*F\(\s*([0-9]{1,4})\s*x\s*\1\s*,\s*3\s*x\s*3\s*\)\s*B\(\s*([0-9]{1,9})\s*,\s*([0-9]{1,9})\s*\)"
)


def parse(problem: Problem, text: str) -> Scheme | Winograd:
    """The scheme that `text` spells for `problem`.

    Raises SchemeError, which names the part that does not parse or the rule that it breaks.
    """
    if text.lstrip().startswith("F"):
        return _winograd(problem, text)
    specifiers, position, text = [], 0, text.rstrip()
    while position < len(text):
        match = _ITEM.match(text, position)
        if not match:
            raise SchemeError(f"cannot read {text[position:].strip()[:40]!r}: expected a specifier such as T(w,4)")
        specifiers.append(_specifier(*match.groups()))
        position = match.end()
    return Scheme(problem, tuple(specifiers))


def _winograd(problem: Problem, text: str) -> Winograd:
    head = _WINOGRAD.match(text)
    if not head:
        raise SchemeError(
            f"cannot read {text.strip()[:40]!r}: expected such as F(4x4,3x3) B(28,64) and a product's scheme"
        )
    m, block, channels = map(int, head.groups())
    check_block(problem, m, block, channels)
    product = parse(product_problem(problem, block, channels), text[head.end() :])
    assert isinstance(product, Scheme)  # Winograd's algorithm takes no matrix product
    return Winograd(problem, m, block, channels, product)


def _specifier(letter: str, inside: str, worker: str | None) -> Specifier:
    arguments = [part.strip() for part in inside.split(",")]
    # repr, since control characters would reach the terminal of whoever reads the message.
    text = f"{letter}({repr(inside[:60])[1:-1]})" + (f"@{worker[:20]}" if worker else "")
    if letter not in "MP" and not re.fullmatch("[a-z]*", arguments[0]):
        raise SchemeError(f"{text}: {arguments[0][:40]!r} is not the name of a dim or tensor")
    if worker and letter != "T":
        raise SchemeError(f"{text}: only a tile loop T can be bound to workers")

    def expect(count: int, form: str) -> None:
        if len(arguments) != count or not all(arguments):
            raise SchemeError(f"{text}: expected {form}")

    if letter == "R":
        expect(1, "R(dim)")
        return Rest(arguments[0])
    if letter == "T":
        expect(2, "T(dim,iterations)")
        return Tile(arguments[0], _number(text, arguments[1]), worker)
    if letter == "U":
        expect(2, "U(dim,factor) or U(dim,λ)")
        factor = None if arguments[1] in (LAMBDA, "lambda", "l") else _number(text, arguments[1])
        return Unroll(arguments[0], factor)
    if letter == "V":
        expect(2, "V(dim,lanes)")
        return Vector(arguments[0], _number(text, arguments[1]))
    if letter == "D":
        expect(2, "D(dim,points)")
        return DotGroup(arguments[0], _number(text, arguments[1]))
    if letter == "L":
        expect(2, "L(dim, 2x11 + 1x12)")
        branches = []
        for part in arguments[1].split("+"):
            count, cross, size = part.partition("x")
            if not cross:
                raise SchemeError(f"{text}: {part.strip()[:40]!r} is not COUNTxSIZE")
            branches.append((_number(text, count.strip()), _number(text, size.strip())))
        return Lambda(arguments[0], tuple(branches))
    if letter == "S":
        if len(arguments) not in (1, 2) or not all(arguments):
            raise SchemeError(f"{text}: expected S(tensor) or S(tensor, depth)")
        return Stage(arguments[0], _number(text, arguments[1]) if len(arguments) == 2 else 1)
    if letter == "P":
        expect(1, "P(2x8)")
        high, _, wide = arguments[0].partition("x")
        return PixelBlock(_number(text, high.strip()), _number(text, wide.strip()))
    if letter == "M":
        expect(1, "M(shape)")
        if not re.fullmatch(r"([a-z]{1,4}[1-9][0-9]{0,4}){1,6}", arguments[0]):
            raise SchemeError(f"{text}: a matrix instruction is named like m16n8k16")
        return Matrix(arguments[0])
    raise SchemeError(f"{text}: unknown specifier {letter!r}; known are P R T L U D V M S")


def _number(text: str, part: str) -> int:
    if not _NUMBER.match(part):
        raise SchemeError(f"{text}: {part[:40]!r} is not a whole number of at most 9 digits")
    return int(part)
