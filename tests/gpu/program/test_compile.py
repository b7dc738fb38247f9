"""The text of programs is CUDA: NVRTC compiles it, and no register is spilled."""

import pytest

from gpu.codegen.loops.emit import emit_program
from gpu.passes.threads import bind_points
from gpu.runtime.compiler.program import compile_program
from tests.support.gpu.compiling import needs_nvrtc
from tests.support.gpu.programs import PROGRAMS, program_of
from tests.support.programs.programs import SOFTMAX
from tiling.program.infer import sized
from tiling.program.read import read


@pytest.mark.exhaustive
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


@needs_nvrtc
@pytest.mark.parametrize("dtype, width", [("f64", 32768), ("f32", 24576)])
def test_long_rows_are_unrolled_no_further_than_registers_reach(dtype, width):
    program = sized(read(f"x: {dtype}; y: {dtype}; {SOFTMAX}"), {}, {"x": (64, width)})
    assert set(compile_program(emit_program(program), "sm_90a").spilled.values()) == {0}
