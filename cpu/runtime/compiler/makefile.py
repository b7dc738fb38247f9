"""The makefile of a saved kernel, program or model, which builds it from its C texts without Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from cpu.runtime.compiler.toolchain import BASE_FLAGS, GCC_ALONE, GCC_FLAGS
from cpu.runtime.frames import frames

_TEMPLATES = frames(Path(__file__).with_name("templates"))
# The makefile has the first in CFLAGS, which whoever builds may set, and the second where it links.
_SAID_BY_THE_MAKEFILE = ("-O2", "-shared")

# Builds all that is saved in a folder. It is the same for any kernels, so that saving another one need not change it.
OF_A_FOLDER = """\
# Builds what is saved here, without Python: each by its own file, as `make -f NAME.mk` does.
SAVED := $(wildcard *.mk)

all clean: $(SAVED)

$(SAVED):
	@$(MAKE) --no-print-directory -f $@ $(MAKECMDGOALS)

.PHONY: all clean $(SAVED)
"""


def makefile(
    name: str, texts: Mapping[str, Sequence[str]], openmp: bool, goals: Sequence[str], example: str = ""
) -> str:
    """Builds NAME.so, and the program `example` where there is one, from C texts that need no header but NAME.h.

    texts: the compiler's flags for each text, SYMBOL.c, besides those of all. goals: what `make` builds if not told.
    """
    parts = [
        {
            "symbol": symbol,
            "others": " ".join(flag for flag in flags if flag not in GCC_ALONE),
            "gcc": " ".join(flag for flag in flags if flag in GCC_ALONE),
        }
        for symbol, flags in texts.items()
    ]
    text: str = _TEMPLATES.get_template("saved.mk.j2").render(
        name=name,
        parts=parts,
        openmp=openmp,
        goals=goals,
        example=example,
        flags=" ".join(flag for flag in BASE_FLAGS if flag not in _SAID_BY_THE_MAKEFILE),
        gcc_flags=" ".join(GCC_FLAGS),
    )
    return text
