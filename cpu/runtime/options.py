"""The parser of every command line: what is wrong with one is told in a sentence, without the list of all options."""

from __future__ import annotations

import argparse
import re
import sys
from difflib import get_close_matches
from typing import NoReturn

from cpu.runtime.output import readable

WRONG = 2  # the exit code of a command that cannot be done as asked


class Parser(argparse.ArgumentParser):
    """As argparse's, whose own messages begin with a dozen lines of options. Commands below it are `Parser`s too."""

    def error(self, message: str) -> NoReturn:
        """Ends the program."""
        self._print_message(f"{self.prog}: error: {readable(message)}{self._meant(message)}; see --help\n", sys.stderr)
        sys.exit(WRONG)

    def _meant(self, message: str) -> str:
        """The options, or choices, that are like an unknown one."""
        if option := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            wanted, names = option[1], self._all_options()
        elif choice := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            wanted, names = choice[1], re.findall(r"[\w.-]+", choice[2])
        else:
            return ""
        close = get_close_matches(wanted, names, n=2)
        return f" (did you mean {' or '.join(close)}?)" if close else ""

    def _all_options(self) -> list[str]:
        """Those of the command line, and of the commands below it."""
        found = list(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += (option for below in action.choices.values() for option in below._all_options())
        return list(dict.fromkeys(found))
