"""The header and the C file that launch an emitted program: compiled without Python, run on a driver that prints."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from math import prod
from pathlib import Path

import pytest

from cpu.runtime.compiler.toolchain import find_compiler
from gpu.codegen.loops.emit import emit_program
from gpu.codegen.loops.launches import ProgramText
from gpu.runtime import export_program
from gpu.runtime.compiler.nvrtc import CompilerMissing
from gpu.runtime.compiler.program import CompiledProgram
from gpu.runtime.export_program import program_files
from search.evaluator.gpu.programs import TwinProgramKernel
from tests.support.gpu.driver import OWN, STAND_IN, WARNINGS, headers
from tests.support.gpu.programs import program_of
from tiling.program.dtypes import WIDTH
from tiling.program.infer import sized
from tiling.program.read import read

CASES = ("rows", "one long sum", "gather", "extents of a call")
EXTENTS = (33, 70)  # of the last case


def program(case: str):
    if case == CASES[-1]:
        text = "s[i] = sum[j] x[i,j]; y[i,j] = x[i,j] * s[i]"
        return sized(read(text), {"i": "<=40", "j": "<=300"})
    return program_of(case)


@pytest.fixture
def compiled(monkeypatch):
    """Machine code that no compiler has made: the stand-in's driver only asks whether the file is there."""
    monkeypatch.setattr(export_program, "compile_program", lambda *_: CompiledProgram(b"code", {}, {}))


def written(case: str, folder: Path) -> ProgramText:
    text = emit_program(program(case))
    for name, content in program_files(text, str(program(case).program), "sm_90a").items():
        (folder / name).write_bytes(content)
    return text


def compiler(*words: object) -> list[str]:
    return [*find_compiler().command, *map(str, words)]


@pytest.mark.parametrize("case", CASES)
def test_a_launcher_compiles_without_a_warning_in_c_and_its_header_in_cpp(case, tmp_path, compiled):
    symbol = written(case, tmp_path).symbol
    (tmp_path / "program.cpp").write_text(
        f'#include "{symbol}.h"\nint main() {{ return sizeof({symbol}_kernel) == 0; }}\n'
    )
    for header in headers():
        for language, name in (("c", f"{symbol}_launch.c"), ("c++", "program.cpp")):
            options = ["-x", language, "-fsyntax-only", *WARNINGS, "-isystem", header, name]
            ended = subprocess.run(compiler(*options), cwd=tmp_path, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr


PROGRAM = """
#include "{symbol}.h"
#include <cstdio>
extern "C" {{ extern int arguments_of_launch[8]; }}
int main(int, char **words)
{{
    {symbol}_kernel kernel;
    {counts}
    CUresult error = {symbol}_load(&kernel, words[1]);
    if (!error) error = {symbol}_launch(&kernel, {given}, 0);
    if (!error) error = {symbol}_unload(&kernel);
    std::printf("error %d\\n", error);
}}
"""


@dataclass(frozen=True)
class Asked:
    """What the driver was asked."""

    lines: list[str]

    def after(self, word: str) -> list[str]:
        return [line.removeprefix(f"{word} ") for line in self.lines if line.startswith(f"{word} ")]


def asked(text: ProgramText, folder: Path, given: list[int]) -> Asked:
    """What a C++ program that loads, calls and unloads a kernel asks of the driver."""
    counts = (len(each.arrays) + len(text.numbers) + each.reports for each in text.launches)
    lines = " ".join(f"arguments_of_launch[{n}] = {count};" for n, count in enumerate(counts))
    words = {"symbol": text.symbol, "counts": lines, "given": ", ".join(map(str, given))}
    (folder / "program.cpp").write_text(PROGRAM.format(**words))
    for language, name in (("c", f"{text.symbol}_launch.c"), ("c", STAND_IN / "driver.c"), ("c++", "program.cpp")):
        into = Path(name).with_suffix(".o").name
        subprocess.run(compiler("-I", STAND_IN, "-x", language, "-c", name, "-o", into), cwd=folder, check=True)
    objects = ("program.o", f"{text.symbol}_launch.o", "driver.o")
    subprocess.run(compiler(*objects, "-lstdc++", "-o", "program"), cwd=folder, check=True)
    ended = subprocess.run([folder / "program", folder], check=True, capture_output=True, text=True)
    return Asked(ended.stdout.splitlines())


@pytest.mark.parametrize("case", CASES)
def test_a_cpp_program_launches_what_the_twin_runs(case, tmp_path, compiled):
    text = written(case, tmp_path)
    extents = list(EXTENTS[: len(text.numbers)])
    known = dict(zip((name for name, _ in text.numbers), extents))
    places = {array.name: 4096 * (n + 1) for n, array in enumerate(text.arrays)}
    found = asked(text, tmp_path, [*places.values(), *extents])
    assert found.lines[-1] == "error 0"
    assert found.after("attribute") == [f"{each.symbol} 8 {each.shared_bytes}" for each in text.launches]
    reports, at = any(each.reports for each in text.launches), OWN
    if reports:
        places["outside"] = at
        at += 256
        assert found.after("set") == ["0 0 1"]
    for buffer in text.between:
        places[buffer.name] = at
        at += -(-prod(buffer.shape) * WIDTH[buffer.dtype] // 256) * 256
    assert found.after("memory") == [str(at - OWN)] * (at > OWN) and found.after("free") == ["0"] * (at > OWN)
    wanted = []
    for each in text.launches:
        arguments = [places[name] for name in each.arrays] + extents + [places.get("outside", 0)] * each.reports
        head = f"{each.symbol} {each.grid.at(known)} {each.threads} {each.shared_bytes}:"
        wanted.append(" ".join([head, *map(str, arguments)]))
    assert found.after("launch") == wanted
    assert found.after("unload") == ["1"]


def test_missing_machine_code_is_the_drivers_error_and_leaves_nothing_loaded(tmp_path, compiled):
    text = written("one long sum", tmp_path)
    (tmp_path / f"{text.symbol}.cubin").unlink()
    found = asked(text, tmp_path, [4096, 8192])
    assert found.lines == ["error 301"]


def test_without_a_compiler_only_the_text_is_written(tmp_path, monkeypatch):
    def missing(*_):
        raise CompilerMissing("no NVRTC")

    monkeypatch.setattr(export_program, "compile_program", missing)
    kernel = TwinProgramKernel(program("rows"))
    assert [path.suffix for path in kernel.save(tmp_path)] == [".cu"]
