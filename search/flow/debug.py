"""`TILEWRIGHT_DEBUG=N`: what a search prints on standard error while it works.

1 choices, 2 timings, 3 schemes, 4 source, 5 assembly. Each level includes the lower levels.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache

VARIABLE = "TILEWRIGHT_DEBUG"
CHOICES, TIMINGS, SCHEMES, SOURCE, ASSEMBLY = range(1, 6)


def tell(level: int, text: Callable[[], str]) -> None:
    """Prints a text if the level is wanted; otherwise the text is not even made.

    A text that cannot be made or printed costs no result: a compiler may refuse it, or its reader may be gone.
    """
    if level > wanted(os.environ.get(VARIABLE, "")):
        return
    try:
        told = text()
    except (OSError, RuntimeError) as error:
        told = f"nothing can be told: {error}"
    with suppress(OSError):
        print(told, file=sys.stderr, flush=True)


@cache
def wanted(value: str) -> int:
    """The level that the variable asks for. 0 where it is missing or no number; the latter is said once."""
    if value.isdecimal():
        return int(value)
    if value:
        print(f"{VARIABLE}={value!r:.40} is not a number from 0 to 5: nothing is told", file=sys.stderr)
    return 0
