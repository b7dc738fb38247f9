"""A text read token by token: what the readers of epilogues and of programs have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import ClassVar

from tiling.problem import ProblemError

NUMBER = r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
NAME = r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
LARGEST_NUMBER = (2 - 2**-23) * 2.0**127  # the largest f32


class TokenReader(ABC):
    """A recursive descent over one text. `token` is the next token, `at` is where it starts, `end` where it ends.

    pattern: the tokens of the language; `kind` is the group of it that the token matches, None at the end of the text.
    """

    pattern: ClassVar[re.Pattern[str]]

    def __init__(self, text: str):
        self.text = text
        self.at = self.end = 0
        self.kind: str | None = None
        self.token = ""
        self.advance()

    @abstractmethod
    def blank(self, at: int) -> int:
        """Where the next token starts, from a place on."""

    @abstractmethod
    def wrong(self, why: str) -> ProblemError:
        """The error that names the token and its place."""

    def advance(self) -> str:
        """Steps to the next token and returns the one before it."""
        passed, self.at = self.token, self.blank(self.end)
        match = self.pattern.match(self.text, self.at)
        if self.at == len(self.text):
            self.kind, self.token, self.end = None, "", self.at
        elif match is None:
            self.token = self.text[self.at]
            raise self.wrong("cannot be read")
        else:
            self.kind, self.token, self.end = match.lastgroup, match.group(), match.end()
        return passed

    def expect(self, mark: str, why: str) -> None:
        """Steps over a mark. Raises the error where another token stands."""
        if self.token != mark:
            raise self.wrong(f"stands where {mark!r} is expected, {why}")
        self.advance()
