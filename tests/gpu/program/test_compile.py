"""The text of programs is CUDA: NVRTC compiles it, and no register is spilled."""

import pytest

from gpu.codegen.loops.emit import emit_program
from gpu.passes.threads import bind_points
from gpu.runtime.compiler.program import compile_program
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.programs import PROGRAMS, program_of


@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_compile_without_spills(name, architecture, monkeypatch):
    monkeypatch.setattr(bind_points, "MANY", 64)
    text = emit_program(program_of(name))
    compiled = compile_program(text, architecture)
    assert compiled.code[:4] == b"\x7fELF"
    assert set(compiled.registers) == {launch.symbol for launch in text.launches}
    assert set(compiled.spilled.values()) == {0}
    assert all(compiled.registers[each.symbol] * each.threads <= 65536 for each in text.launches)
