"""The twin's device layer. Its functions are compiled once; the text of a kernel comes behind their declarations.

So a kernel takes a third of the time to compile. Functions of the layer begin with `static` or `DEVICE` at the start of
a line, and their bodies end with `}` there. Those of `DEVICE` are small, and each kernel has its own.
"""

from __future__ import annotations

import ctypes
import re
import threading
from functools import cache
from importlib.resources import files
from typing import Any

from cpu.runtime.compiler.library import load

_PARTS = ("twin.h", "twin_elements.h", "twin_wgmma.h", "twin_tma.h", "twin_split_k.h")
RUNNING = threading.Lock()  # the layer holds the state of one run
_STATIC = re.compile(r"^(__attribute__\(\(.*\)\) )?static ", re.MULTILINE)
_FUNCTION = re.compile(_STATIC.pattern + r"([^;{=]*\))(?: \{.*\}|\n\{\n(?:.*\n)*?\})$", re.MULTILINE)


@cache  # asked for each run of a kernel
def text_of(parts: tuple[str, ...], folder: str = "twin") -> str:
    """The text of parts of a layer."""
    return "\n".join(files(f"gpu.{folder}").joinpath(part).read_text(encoding="utf-8") for part in parts)


@cache
def declared(layer: str) -> str:
    """Parts of the layer with declarations in place of functions and variables that are compiled once."""
    return re.sub(r"^static ", "extern ", _FUNCTION.sub(r"\1\2;", layer), flags=re.MULTILINE)


def load_behind(layer: str, text: str) -> ctypes.CDLL:
    """Compiles and loads a text behind declarations of the layer. Raises as `cpu...library.load` does."""
    _load_layer()
    # Without contraction, sums of reals are the same on every machine. Sums of integers are exact either way. -O0 takes
    # two thirds of the time of -Og to compile, and nearly all of a run is spent in the layer.
    return load(text, ("-O0", "-ffp-contract=off"), ctypes.CDLL, before=layer)


@cache
def _load_layer() -> Any:
    """All of the layer. Libraries that are loaded later find its functions, which all have names with `twin_`."""
    flags = ("-O3", "-ffp-contract=off", "-fno-semantic-interposition")
    return load(_STATIC.sub(r"\1", text_of(_PARTS)), flags, lambda path: ctypes.CDLL(path, ctypes.RTLD_GLOBAL))
