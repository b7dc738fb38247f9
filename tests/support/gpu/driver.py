"""The stand-in for CUDA's driver, by which emitted launchers are compiled and run without a GPU."""

from __future__ import annotations

import site
from pathlib import Path

STAND_IN = Path(__file__).parent / "stand_in" / "driver"
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-variable", "-Werror"]
OWN = 1 << 20  # where the stand-in's own memory begins


def headers() -> list[Path]:
    """Folders with a cuda.h: that of the stand-in, and CUDA's own where a package has brought it."""
    found = [path.parent for folder in site.getsitepackages() for path in Path(folder).glob("nvidia/*/include/cuda.h")]
    return [STAND_IN, *found[:1]]
