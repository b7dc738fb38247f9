"""How a command ends: with a sentence on standard error where it does not come to its end, and an exit code.

@ending("interrupted before there was a result")
def main(arguments: list[str] | None = None) -> int: ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from cpu.runtime.output import INTERRUPTED, OutputError, readable
from search.evaluator.interface.errors import FAILURES, CandidateError
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError

P = ParamSpec("P")
Errors = tuple[type[Exception], ...]


def ending(
    interrupted: str, *failures: type[Exception], wrong: Errors = ()
) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Makes exceptions exit codes: 2 for what cannot be done as asked, 1 for what failed, 130 for a Ctrl-C.

    interrupted: the sentence after a Ctrl-C, unless the interruption brings one. failures: what fails there beside
    machines, compilers and output. wrong: what cannot be done as asked, beside problems and schemes.
    """

    refused: tuple[type[BaseException], ...] = (ProblemError, SchemeError, *wrong)
    failed: tuple[type[BaseException], ...] = (OutputError, *FAILURES, *failures)

    def with_ending(main: Callable[P, int]) -> Callable[P, int]:
        @wraps(main)
        def ended(*arguments: P.args, **named: P.kwargs) -> int:
            try:
                return main(*arguments, **named)
            except KeyboardInterrupt as error:
                print(error if error.args else interrupted, file=sys.stderr)
                return INTERRUPTED
            except refused as error:
                print(readable(str(error)), file=sys.stderr)
                return 2
            except CandidateError as error:
                print(f"the kernel failed: {readable(error.reason)}", file=sys.stderr)
                return 1
            except failed as error:
                print(readable(str(error)), file=sys.stderr)
                return 1

        return ended

    return with_ending
