"""How `python -m search.conv` and `search.matmul` start: loading the libraries takes a moment and may fail."""

from __future__ import annotations

import sys
from collections.abc import Callable


def run(main: Callable[[], int]) -> None:
    """Ends the program with the exit code of `main`, which imports what it needs when it is called."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:  # while the libraries load
        print("interrupted before anything was done", file=sys.stderr)
        sys.exit(130)
    except ModuleNotFoundError as error:
        print(f"{error}: run `make setup`, then `. .venv/bin/activate`", file=sys.stderr)
        sys.exit(1)
