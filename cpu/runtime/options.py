"""The parser of every command line: what is wrong with one is told in a sentence, without the list of all options."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from cpu.runtime.output import readable

WRONG = 2  # the exit code of a command that cannot be done as asked


class Parser(argparse.ArgumentParser):
    """As argparse's, whose own messages begin with a dozen lines of options. Commands below it are `Parser`s too."""

    def error(self, message: str) -> NoReturn:
        """Ends the program."""
        self._print_message(f"{self.prog}: error: {readable(message)}; see --help\n", sys.stderr)
        sys.exit(WRONG)
