"""The fixture of tile registers: the CPU's own, or those of a twin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cpu.runtime.machine.host import supports
from microkernels.tile.isa import EVERY_ISA, isa_named
from tests.support.kernels.matrix_cases import ISA

TWIN = (Path(__file__).parents[2] / "support" / "microkernels" / "twin_tiles.h").read_text()


@pytest.fixture(params=["cpu", "twin"])
def row(request, monkeypatch):
    """A dtype's row of matrix instructions, which the CPU runs, or the twin."""

    def of(dtype: str):
        isa = isa_named(ISA[dtype])
        if request.param == "cpu":
            missing = [flag for flag in isa.cpu_flags if not supports([flag])]
            if missing:
                pytest.skip(f"this CPU lacks {', '.join(missing)}")
            return isa
        vectors = isa_named(isa.vectors)
        if not supports(vectors.cpu_flags):
            pytest.skip(f"needs {vectors.name}")
        definition = TWIN.replace("MULTIPLY", f"multiply_{dtype}")
        twin = replace(
            isa,
            matrix=replace(isa.matrix, definition=definition),
        )
        monkeypatch.setitem(EVERY_ISA, isa.name, twin)
        return twin

    return of
