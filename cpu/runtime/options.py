"""The parser of every command line: what is wrong with one is told in a sentence, without the list of all options."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NoReturn

from cpu.runtime.output import readable, readers_may_leave
from tiling.choices import asked, like, meant

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

WRONG = 2  # the exit code of a command that cannot be done as asked


class Parser(argparse.ArgumentParser):
    """As argparse's, whose own messages begin with a dozen lines of options. Commands below it are `Parser`s too."""

    def error(self, message: str) -> NoReturn:
        """Ends the program."""
        self._print_message(f"{self.prog}: error: {readable(message)}{self._meant(message)}; see --help\n", sys.stderr)
        sys.exit(WRONG)

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Prints the help. Raises OSError where it cannot be written, which argparse ignores."""
        with readers_may_leave():
            (file or sys.stdout).write(self.format_help())

    def _meant(self, message: str) -> str:
        """The options, or choices, that are like an unknown one."""
        if unknown := re.match(r"unrecognized arguments: (.*)", message, re.DOTALL):
            # Words without a dash may be values of the unknown options.
            words = [word.partition("=")[0] for word in unknown[1].split() if word.startswith("-")]
            names = self._all_options()
            return asked(dict.fromkeys(name for word in words for name in like(word, names)))
        if choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            return meant(choice[1], re.findall(r"[\w.-]+", choice[2]))
        return ""

    def _all_options(self) -> list[str]:
        """Those of the command line, and of the commands below it."""
        found = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += (option for below in action.choices.values() for option in below._all_options())
        return list(dict.fromkeys(found))
