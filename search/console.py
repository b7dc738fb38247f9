"""The command `tilewright conv | matmul | program | model | …`: runs the command of a package."""

from __future__ import annotations

import runpy
import sys

from cpu.runtime.output import OutputError, readers_may_leave, write
from cpu.runtime.version import VERSION
from tiling.choices import meant

# For each word after `tilewright`: the module that it runs, and a line of help.
COMMANDS = {
    "conv": ("search.conv", "find a fast kernel for a convolution"),
    "matmul": ("search.matmul", "find a fast kernel for a matrix product"),
    "program": ("search.program", "make a kernel for a program of maps, reductions and products"),
    "model": ("graph.compile", "make one C library of an ONNX model"),
    "microkernels": ("microkernels", "rank this machine's microkernels, show and plot them"),
    "bench": ("bench", "time suites of layers beside other libraries"),
    "cache": ("cpu.cache", "look after the compiled kernels on disk"),
    "calibrate": ("gpu.calibrate", "compare a GPU with what its CPU emulation does"),
}


def main() -> int:
    """Runs the command line and returns the exit code. 2: no such command. A command exits with its own code."""
    word, *rest = sys.argv[1:] or ["--help"]
    if word in COMMANDS:
        # The module's messages name it as `python -m …`, which can be typed too.
        sys.argv[1:] = rest
        runpy.run_module(COMMANDS[word][0], run_name="__main__", alter_sys=True)
        return 0
    if word in ("-h", "--help"):
        return told(_usage())
    if word == "--version":
        return told(f"tilewright {VERSION}")
    print(
        f"tilewright has no command {word[:40]!r}{meant(word, COMMANDS)}; there are {', '.join(COMMANDS)}",
        file=sys.stderr,
    )
    return 2


def told(text: str) -> int:
    """Prints a text and returns the exit code. 1: nothing can be written."""
    try:
        with readers_may_leave():
            write(text)
        return 0
    except OutputError as error:
        print(error, file=sys.stderr)
        return 1


def _usage() -> str:
    lines = [f"  {name:<13} {what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(["usage: tilewright COMMAND …  (COMMAND --help says more; --version)", "", *lines])
