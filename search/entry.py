"""Starts programs and entry points, whose libraries take a moment to load and may be missing."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

OURS = ("tiling", "microkernels", "cpu", "gpu", "search")
_ROOT = Path(__file__).resolve().parent.parent


def run(main: Callable[[], int]) -> None:
    """Ends the program with the exit code of `main`. `main` imports the libraries when it is called."""
    try:
        with loading():
            code = main()
        sys.exit(code)
    except KeyboardInterrupt:  # while the libraries load
        print("interrupted before anything was done", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    except ModuleNotFoundError as error:
        print(f"{error}: run `make setup`, then `. .venv/bin/activate`", file=sys.stderr)
        sys.exit(1)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


@contextmanager
def loading() -> Iterator[None]:
    """Makes an import error name the file that Python found in the place of one of our packages.

    Such a file, for example `tiling.py`, usually lies in the current folder. A file `search.py` hides this package
    itself, so Python's own message stands.
    """
    try:
        yield
    except ImportError as error:
        hidden = _hidden()
        if hidden is None:
            raise
        raise ImportError(
            f"{hidden} stands in the place of Tilewright's package {hidden.stem!r}: rename it, or start elsewhere"
        ) from error


def _hidden() -> Path | None:
    """The first file that Python takes for one of our packages by mistake."""
    for name in OURS:
        spec = find_spec(name) if name not in sys.modules else sys.modules[name].__spec__
        found = spec and spec.origin and Path(spec.origin).resolve()
        if found and not found.is_relative_to(_ROOT / name):
            return found
    return None
