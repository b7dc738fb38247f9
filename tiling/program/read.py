"""The reader of programs: a text becomes a `Program`, or an error that names the place.

Operators are those of `tiling.program.functions`. Inside brackets a new line ends nothing, and `#` begins a comment.

    program     := part { (";" | new line) part }
    part        := NAME "[" dims "]" "=" value    |    NAME ":" [dtype] ["[" extents "]"]
    value       := reduction "[" dims "]" expression    |    expression
    element     := NAME "[" indices "]" ["else" number]
    index       := dims and whole numbers with + - * // %, min, max, and elements of arrays of whole numbers
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from tiling.choices import like, meant
from tiling.dtypes.formats import format_of
from tiling.program.functions import FUNCTIONS, NAMED, SYMBOLS
from tiling.program.language import (
    COMPARISONS,
    DTYPES,
    REDUCTIONS,
    Access,
    Apply,
    Declaration,
    Dim,
    Expression,
    Number,
    Program,
    Reduce,
    Statement,
)
from tiling.program.names import ProgramError, checked
from tiling.tokens import LARGEST_NUMBER, NAME, NUMBER, TokenReader

LONGEST = 20_000  # characters
DEEPEST = 40  # levels of brackets and signs
MOST_TERMS = 100  # of one sum or product: each is a level of the tree
Part = TypeVar("Part")
RESERVED = frozenset((*NAMED, *REDUCTIONS, *DTYPES, "and", "or", "not", "else", "inf", "lane"))

_TOKEN = re.compile(rf"{NUMBER}|{NAME}|(?P<end>[;\n])|(?P<mark>//|[<>=!]=|[-+*/%(),:=<>[\]])")
_BLANK = re.compile(r"(?:[ \t\r]|#[^\n]*)*")
_OF_SYMBOL = {symbol.strip(): name for name, symbol in SYMBOLS.items() if name != "neg"}


def read(text: str) -> Program:
    """The program that `text` spells. Raises ProgramError."""
    if not isinstance(text, str):
        raise ProgramError(f"a program is a text such as 'y[i] = 2 * x[i]', not {text!r:.40}")
    if len(text) > LONGEST:
        raise ProgramError(f"the program has {len(text)} characters, {LONGEST} are the most supported")
    return _Reader(text).program()


def _reduction_meant(before: list[Statement]) -> str:
    """What a message adds where the statement before it may be the first part of a reduction, misspelt: `summ[j]`."""
    value = before[0].value if before else None
    if not isinstance(value, Access) or not like(value.array, REDUCTIONS):
        return ""
    return f", or {value.array!r} is to be a reduction{meant(value.array, REDUCTIONS)}"


class _Reader(TokenReader):
    pattern = _TOKEN

    def __init__(self, text: str):
        self.brackets = self.signs = 0  # how many are open around the token
        super().__init__(text)

    def blank(self, at: int) -> int:
        """Where the next token starts, from a place on. Inside brackets a new line ends nothing."""
        match = _BLANK.match(self.text, at)
        assert match
        if self.brackets and self.text[match.end() : match.end() + 1] == "\n":
            return self.blank(match.end() + 1)
        return match.end()

    def wrong(self, why: str) -> ProgramError:
        shown = "the end of the line" if self.token == "\n" else repr(self.token)
        place = f"{shown} at character {self.at + 1}" if self.token else "the end"
        line = self.text.count("\n", 0, self.at)
        return ProgramError(f"program: {place}{f' (line {line + 1})' if line else ''} {why}")

    def open(self, mark: str, why: str) -> None:
        self.brackets += 1
        self._check_depth()
        self.expect(mark, why)

    def close(self, mark: str, why: str) -> None:
        self.brackets -= 1
        self.expect(mark, why)

    def _check_depth(self) -> None:
        if self.brackets + self.signs > DEEPEST:
            raise self.wrong(f"is inside more than {DEEPEST} brackets and signs")

    # --- statements

    def program(self) -> Program:
        statements: list[Statement] = []
        declarations: list[Declaration] = []
        while self.token:
            if self.kind == "end":
                self.advance()
                continue
            array = self.name("an array")
            if self.token == ":":
                declarations.append(self.declaration(array, {d.array for d in declarations}))
            else:
                statements.append(self.statement(array, statements))
            if self.token and self.kind != "end":
                missing = "an operator, a ';' or a new line is missing" + _reduction_meant(statements[-1:])
                raise self.wrong(f"follows a complete statement: {missing}")
        if not statements:
            raise self.wrong("comes before any statement such as 'y[i] = 2 * x[i]'")
        return checked(Program(tuple(statements), tuple(declarations)))

    def declaration(self, array: str, declared: set[str]) -> Declaration:
        if array in declared:
            raise self.wrong(f"declares {array} again")
        self.advance()
        dtype = format_of(self.advance()) if format_of(self.token) in DTYPES else None
        if dtype is None and self.token != "[":
            raise self.wrong(f"stands where a dtype is expected ({' '.join(DTYPES)}), or extents in brackets")
        extents: tuple[int | str, ...] | None = None
        if self.token == "[":
            extents = self.listed(self.extent, "extents")
        return Declaration(array, dtype, extents)

    def statement(self, array: str, before: list[Statement]) -> Statement:
        if any(statement.array == array for statement in before):
            raise self.wrong(f"begins a second assignment of {array}: use another name")
        dims = self.dims(array) if self.token == "[" else ()
        self.expect("=", f"after {array}[{','.join(dims)}]")
        if self.token in REDUCTIONS and self.blank(self.end) == self.text.find("[", self.end):
            kind = self.advance()
            over = self.dims(kind)
            if not over:
                raise self.wrong(f"follows {kind}[], which names no dim to reduce over")
            if kind.startswith("arg") and len(over) > 1:
                raise self.wrong(f"follows {kind} over {len(over)} dims: it gives the position along one")
            for dim in over:
                if dim in dims:
                    raise self.wrong(f"follows {kind} over {dim}, which is a dim of {array} too")
            return Statement(array, dims, Reduce(kind, over, self.expression()))
        return Statement(array, dims, self.expression())

    def dims(self, of: str) -> tuple[str, ...]:
        dims = self.listed(lambda: self.name("a dim"), f"dims of {of}")
        if len(set(dims)) < len(dims):
            raise self.wrong(f"follows {of}[{','.join(dims)}], which names a dim twice")
        return dims

    def listed(self, part: Callable[[], Part], what: str) -> tuple[Part, ...]:
        """The parts between brackets, none included."""
        self.open("[", f"before the {what}")
        found: list[Part] = []
        while self.token != "]":
            found.append(part())
            if self.token != "]":
                self.expect(",", f"between {what}")
        self.close("]", f"after the {what}")
        return tuple(found)

    def name(self, what: str) -> str:
        if self.kind != "name":
            raise self.wrong(f"stands where {what} is expected")
        if self.token in RESERVED:
            raise self.wrong(f"is a word of the language: give {what} another name")
        return self.advance()

    def extent(self) -> int | str:
        if self.kind != "number":
            return self.name("a dim")
        if not self.token.isdecimal() or int(self.token) < 1:
            raise self.wrong("is no extent: a whole number of at least 1")
        return int(self.advance())

    # --- expressions, from the operator that binds least

    def expression(self) -> Expression:
        return self._chain(("or",), self.conjunction)

    def conjunction(self) -> Expression:
        return self._chain(("and",), self.negation)

    def negation(self) -> Expression:
        if self.token != "not":
            return self.comparison()
        return self._applied("not", self.negation)

    def comparison(self) -> Expression:
        value = self.sum()
        if self.token not in COMPARISONS:
            return value
        value = Apply(_OF_SYMBOL[self.advance()], (value, self.sum()))
        if self.token in COMPARISONS:
            raise self.wrong("compares a comparison: write 'a < b and b < c'")
        return value

    def sum(self) -> Expression:
        return self._chain(("+", "-"), self.product)

    def product(self) -> Expression:
        return self._chain(("*", "/", "//", "%"), self.signed)

    def _chain(self, symbols: tuple[str, ...], part: Callable[[], Expression]) -> Expression:
        value = part()
        terms = 1
        while self.token in symbols:
            terms += 1
            if terms > MOST_TERMS:
                raise self.wrong(f"comes after {MOST_TERMS} terms in a row: split them into several statements")
            value = Apply(_OF_SYMBOL[self.advance()], (value, part()))
        return value

    def _applied(self, function: str, part: Callable[[], Expression]) -> Expression:
        """The function of the current token, a sign, applied to what follows it."""
        self.signs += 1
        self._check_depth()
        self.advance()
        value = Apply(function, (part(),))
        self.signs -= 1
        return value

    def signed(self) -> Expression:
        if self.token != "-":
            return self.single()
        if self._number_follows():
            self.advance()
            return Number(-self.number())
        return self._applied("neg", self.signed)

    def _number_follows(self) -> bool:
        match = _TOKEN.match(self.text, self.blank(self.end))
        return match is not None and (match.lastgroup == "number" or match.group() == "inf")

    def number(self) -> int | float:
        if self.token == "inf":
            self.advance()
            return float("inf")
        if not float(self.token) <= LARGEST_NUMBER:
            raise self.wrong("is larger than any f32")
        if self.token.isdecimal() and int(self.token) >= 1 << 63:
            raise self.wrong("is a whole number of more than 64 bits; a float has a point, as in 1e20")
        text = self.advance()
        return int(text) if text.isdecimal() else float(text)

    def single(self) -> Expression:
        if self.token == "(":
            self.open("(", "")
            value = self.expression()
            self.close(")", "which closes the bracket")
            return value
        if self.kind == "number" or self.token == "inf":
            return Number(self.number())
        if self.kind != "name":
            raise self.wrong("stands where a value is expected")
        if self.token in NAMED:
            return self.call()
        if self.token in REDUCTIONS:
            raise self.wrong("begins no value inside an expression: give the reduction a statement of its own")
        following = self.text[self.blank(self.end) :][:1]
        if following == "(":
            raise self.wrong(f"is no function{meant(self.token, NAMED)}; there are {' '.join(NAMED)}")
        name = self.name("an array or a dim")
        return self.access(name) if following == "[" else Dim(name)

    def access(self, array: str) -> Access:
        at = self.listed(self.expression, f"indices of {array}")
        if self.token != "else":
            return Access(array, at)
        self.advance()
        negative = self.token == "-"
        if negative:
            self.advance()
        if self.kind != "number" and self.token != "inf":
            raise self.wrong(f"stands where the number is expected that {array} has outside")
        value = self.number()
        return Access(array, at, -value if negative else value)

    def call(self) -> Expression:
        function = self.advance()
        self.open("(", f"after {function}")
        arguments = [self.expression()]
        while self.token == ",":
            self.advance()
            arguments.append(self.expression())
        wanted = FUNCTIONS[function].arguments
        if len(arguments) != wanted:
            raise self.wrong(f"ends {function} after {len(arguments)}: it takes {wanted}")
        self.close(")", f"which closes {function}")
        return Apply(function, tuple(arguments))
