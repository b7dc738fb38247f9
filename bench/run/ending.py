"""How a study ends early: as other commands do, and with a sentence where a report could not be written."""

from __future__ import annotations

from collections.abc import Callable

from bench.report.files import ReportError
from search.commands.ending import ending as of_commands

Main = Callable[..., int]


def ending(interrupted: str, *failures: type[Exception]) -> Callable[[Main], Main]:
    """As `search.commands.ending.ending`; a report that cannot be written fails."""
    return of_commands(interrupted, ReportError, *failures)
