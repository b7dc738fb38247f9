"""How a study ends that did not come to its end: with a sentence on standard error, and an exit code.

@ending("interrupted: no page is written")
def main(arguments: list[str] | None = None) -> int: ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import wraps

from bench.report.files import ReportError
from cpu.runtime.output import INTERRUPTED
from microkernels.scores.database import readable
from search.commands.options import FAILURES
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError

Main = Callable[[list[str] | None], int]


def ending(interrupted: str, *failures: type[Exception]) -> Callable[[Main], Callable[..., int]]:
    """Makes exceptions of a command exit codes: 2 for what cannot be asked, 1 for what failed, 130 for a Ctrl-C.

    interrupted: the sentence after a Ctrl-C. failures: what fails there beside reports, machines and compilers.
    """
    failing: Sequence[type[BaseException]] = (ReportError, *FAILURES, *failures)

    def with_ending(main: Main) -> Callable[..., int]:
        @wraps(main)
        def ended(arguments: list[str] | None = None) -> int:
            try:
                return main(arguments)
            except KeyboardInterrupt:
                print(interrupted, file=sys.stderr)
                return INTERRUPTED
            except (ProblemError, SchemeError) as error:
                print(readable(str(error)), file=sys.stderr)
                return 2
            except tuple(failing) as error:
                print(readable(str(error)), file=sys.stderr)
                return 1

        return ended

    return with_ending
