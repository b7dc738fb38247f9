"""Starts the commands of all packages, and keeps files of the current folder from standing in for packages.

`python -m` looks into the current folder first. A file `tiling.py` or `numpy.py` there would be taken for the package.
So each package that has commands imports this file before anything else, and nobody else has a file of this name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

OURS = ("tiling", "microkernels", "cpu", "gpu", "search", "graph", "bench")
LIBRARIES = ("numpy", "scipy", "cffi", "jinja2", "rich", "platformdirs", "filelock", "onnx")
_ROOT = Path(__file__).resolve().parent
_INTERRUPTED = 130  # the exit code of a program that Ctrl-C ends


def run(command: str) -> None:
    """Ends the program with the exit code of a command, named as `package.module:function`."""
    module, _, function = command.partition(":")
    try:
        with loading():
            code = getattr(import_module(module), function)()
        sys.exit(code)
    except KeyboardInterrupt:  # while the libraries load
        print("interrupted before anything was done", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except ModuleNotFoundError as error:
        print(f"{error}: run `make setup`, then `. .venv/bin/activate`", file=sys.stderr)
        sys.exit(1)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


@contextmanager
def loading() -> Iterator[None]:
    """Makes an error name the file that Python took for a package by mistake, as beside a script or in PYTHONPATH."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        hiding = _hiding()
        if hiding is None:
            raise
        raise ImportError(
            f"{hiding} stands in the place of the package {hiding.stem!r}: rename it, or start elsewhere"
        ) from error


def _hiding() -> Path | None:
    """The first file that Python takes for one of these packages by mistake: a single file, or one elsewhere."""
    for name in (*OURS, *LIBRARIES):
        spec = find_spec(name) if name not in sys.modules else sys.modules[name].__spec__
        found = spec and spec.origin and Path(spec.origin).resolve()
        elsewhere = name in OURS and found and not found.is_relative_to(_ROOT / name)
        if spec and found and (spec.submodule_search_locations is None or elsewhere):
            return found
    return None


def _leave_out_the_current_folder() -> None:
    """Takes from `sys.path` the current folder that `python -m` puts first. Our own root stays."""
    try:
        here = os.getcwd()
    except OSError:  # it is gone
        return
    searching = sys.argv[:1] == ["-m"]  # so Python has it while it looks for the module of `-m`
    if searching and sys.path[:1] == [here] and not getattr(sys.flags, "safe_path", False) and Path(here) != _ROOT:
        del sys.path[0]


_leave_out_the_current_folder()
