"""What a reader of a saved kernel relies on: its header, its files, and what a CPU must have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from cpu.kernel.export import ExportError, seal
from cpu.kernel.opened import CpuError
from cpu.kernel.saved import load
from cpu.runtime.compiler.toolchain import ToolchainError, find_compiler
from cpu.runtime.machine.timer import _library
from cpu.runtime.saved_files import of_others
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import ON_EVERY_ISA, kernel_of
from tests.support.kernels.guard import check_guarded
from tests.support.kernels.saved import LACKED, PROBLEM, TEXT, calling_program, example
from tests.support.running.own_cache import shared_object
from tilewright_entry import TilewrightWarning
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("isa", ON_EVERY_ISA)
@pytest.mark.parametrize("stream", [False, True])
def test_arrays_may_begin_anywhere_as_the_header_says(isa, stream, tmp_path):
    kernel = kernel_of(PROBLEM, TEXT, isa, stream=stream)
    header = next(path for path in kernel.save(tmp_path) if path.suffix == ".h").read_text()
    assert "may begin anywhere that their elements may" in header
    check_guarded(load(tmp_path), "unaligned")


@pytest.mark.parametrize("suffix", [".so", ".c", ".json"])
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(saved, suffix):
    saved[suffix].unlink()
    os.mkfifo(saved[suffix])
    with pytest.raises(ExportError, match="cannot be read \\(it is no regular file\\)"):
        load(saved[".json"])


@pytest.mark.parametrize("suffix", ["", ".json"])
def test_others_who_may_have_written_a_saved_kernel_are_told(saved, suffix):
    """Its library is a program, and runs when it is loaded."""
    changed = saved[".json"] if suffix else saved[".json"].parent
    assert not of_others(saved[".json"].parent, saved[".json"])
    changed.chmod(0o777)
    with pytest.warns(TilewrightWarning, match=f"everybody may write into {changed}: a saved .* only what you trust"):
        load(saved[".json"])
    changed.chmod(0o1777)
    assert not of_others(changed)  # the sticky bit


def test_a_folder_of_another_user_is_told(saved, monkeypatch):
    real = Path.stat
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for owner, told in ((1001, r"belongs to another user \(number 1001\)"), (1000, ""), (0, "")):
        monkeypatch.setattr(
            Path, "stat", lambda path, o=owner, **how: os.stat_result((*real(path, **how)[:4], o, *real(path)[5:10]))
        )
        assert re.search(told, of_others(saved[".json"])) and bool(of_others(saved[".json"])) == bool(told)


@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_readers_are_told_that_a_saved_kernel_is_a_program(page):
    assert "load only what you trust" in " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.slow
def test_a_directory_in_place_of_a_record_is_refused_and_closed(tmp_path):
    (tmp_path / "x.json").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ExportError):
        load(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.slow
def test_timing_a_loaded_kernel_says_that_it_needs_a_compiler(saved, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("cpu.runtime.machine.timer._library", _library.__wrapped__)
    kernel = load(saved[".json"])
    assert kernel.timing.seconds > 0
    monkeypatch.setenv("CC", "no-such-compiler")
    kernel = load(saved[".json"])
    with pytest.raises(ToolchainError, match="the kernel runs, but timing it needs a C compiler: CC names"):
        _ = kernel.timing


def test_a_kernel_that_this_cpu_lacks_is_not_built():
    with pytest.raises(CpuError, match=r"this CPU does not run portable, which conv2d_.* was compiled for"):
        build(parse(PROBLEM, TEXT.format(v=4)), LACKED)


def test_a_saved_kernel_that_this_cpu_lacks_is_not_loaded(saved):
    source = emit(parse(PROBLEM, TEXT.format(v=4)), LACKED)
    saved[".so"].unlink()
    shutil.copyfile(shared_object(source.text, ()), saved[".so"])
    with pytest.raises(ExportError, match="was not written together with"):
        load(saved[".json"])
    record = json.loads(saved[".json"].read_text())
    record["sha256"] = seal(record, saved[".c"].read_bytes(), saved[".so"].read_bytes())
    saved[".json"].write_text(json.dumps(record))
    with pytest.raises(CpuError, match="generate the kernel on this machine"):
        load(saved[".json"])
    ended = subprocess.run([example(saved[".so"].parent, saved[".so"])], capture_output=True, text=True)
    assert ended.returncode == 1 and "this CPU does not run portable" in ended.stderr


def test_a_call_that_this_cpu_cannot_run_ends_in_a_sentence(tmp_path):
    ended = subprocess.run(
        [calling_program(parse(PROBLEM, TEXT.format(v=4)), LACKED, tmp_path)], capture_output=True, text=True
    )
    assert ended.returncode == -6 and ended.stderr.endswith("this CPU lacks avx9\n")


@pytest.mark.parametrize("given, what", [(0, "transformed weights"), (1, "what it computes in between")])
def test_a_call_without_memory_ends_in_a_sentence(given, what, tmp_path):
    """The program packs first, which asks for memory once, and so does the call."""
    scheme = parse(PROBLEM, "F(2x2,3x3) B(4,40) R(m) R(n) S(c) T(k,5) V(n,4)")
    before = "#include <stdlib.h>\nstatic int asked;\n"
    before += f"#define aligned_alloc(line, n) (asked++ < {given} ? (aligned_alloc)(line, n) : 0)\n"
    ended = subprocess.run(
        [calling_program(scheme, ISAS["portable"], tmp_path, before)], capture_output=True, text=True
    )
    assert ended.returncode == -6 and ended.stderr.endswith(f"portable: no memory for {what}\n")
    assert ended.stderr.count("\n") == 1


def test_a_header_says_whether_a_call_needs_memory(tmp_path):
    texts = ("F(2x2,3x3) B(4,40) R(m) R(n) S(c) T(k,5) V(n,4)", TEXT.format(v=4))
    headers = [
        next(
            path for path in build(parse(PROBLEM, text), ISAS["portable"]).save(tmp_path) if path.suffix == ".h"
        ).read_text()
        for text in texts
    ]
    depthwise = conv2d(c=5, k=5, groups=5, h=3, w=3, r=1, s=1, layout="nchw")
    written = build(parse(depthwise, "R(c) T(h,3) T(w,3) S(y) V(c,4)"), ISAS["portable"]).save(tmp_path)
    headers += [path.read_text() for path in written if path.suffix == ".h"]
    assert ["where there is none" in header for header in headers] == [True, False, True]


def test_parameters_have_the_names_of_the_arrays_that_a_header_lists(tmp_path):
    problem = fused(matmul(m=2, n=4, k=3), "y + b[n]")
    build(parse(problem, "R(m) R(n) S(c) T(k,3) V(n,4)"), ISAS["portable"]).save(tmp_path, "layer")
    header = (tmp_path / "layer.h").read_text()
    assert re.findall(r"^ \*     (\w+): ", header, re.M) == ["a", "b", "c", "e_b"]
    assert "void layer_pack(const float *b, float *packed);" in header
    assert "void layer(const float *a, const float *packed, float *c, const float *e_b);" in header
    assert "void layer_run(const float *a, const float *packed, float *c, const float *e_b);" in header


OWN_TEAM = """
#include "{symbol}.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static float x[{x}], w[{w}], packed[{packed}], y[{y}], z[{y}];
int main(void)
{{
    for (int i = 0; i < {x}; ++i) x[i] = i % 5 - 2;
    for (int i = 0; i < {w}; ++i) w[i] = i % 7 - 3;
    {symbol}_pack(w, packed);
    {symbol}(x, packed, y);
    {packs}
    char *const scratch = aligned_alloc(64, {capitals}_SCRATCH + 64);
    memset(scratch + {capitals}_SCRATCH, 99, 64);
    for (int team = 1; team <= 3; ++team) {{
        memset(z, 0, sizeof z);
        #pragma omp parallel num_threads(team)
        {symbol}_run({arguments});
        if (memcmp(y, z, sizeof y)) return team;
    }}
    for (int i = 0; i < 64; ++i) if (scratch[{capitals}_SCRATCH + i] != 99) return 9;
    puts(y[0] == y[1] && y[1] == y[2] ? "all the same" : "numbers");
    return 0;
}}
"""
PACKS = """
    static float shared[{packed}];
    for (int team = 1; team <= 4; ++team) {{
        memset(shared, 99, sizeof shared);
        #pragma omp parallel num_threads(team)
        {symbol}_pack_run(w, shared, omp_get_thread_num(), omp_get_num_threads());
        if (memcmp(packed, shared, sizeof packed)) return 8;
    }}
"""


@pytest.mark.parametrize("text, threads", [("T(c,2)@core T(h,9)@core T(w,7) S(y) T(r,3) T(s,3) V(c,4)", 3), (None, 3)])
def test_a_program_with_a_team_and_memory_of_its_own_runs_a_kernel(text, threads, tmp_path):
    """A team of any size up to the kernel's own runs it: with a copy of x in front, and by Winograd's algorithm. One of
    any size packs the weights, but Winograd's.
    """
    if not find_compiler().openmp:
        pytest.skip("the compiler has no OpenMP")
    problem = conv2d(c=8, k=8, groups=8, h=9, w=7, r=3, s=3, padding=1, layout="nchw") if text else PROBLEM
    scheme = parse(problem, text or "F(2x2,3x3) B(4,40) R(m) R(n) S(c) T(k,5) V(n,4)")
    kernel = build(scheme, ISAS["portable"], threads)
    kernel.save(tmp_path)
    source = kernel.emitted
    assert source.threads == threads and source.scratch
    header = (tmp_path / f"{source.symbol}.h").read_text()
    team = f"void {source.symbol}_pack_run(const float *w, float *packed, long thread, long threads);"
    assert (team in header) == bool(text) == ("_pack_run" in header)
    load(tmp_path).save(tmp_path / "again")
    assert (tmp_path / "again" / f"{source.symbol}.h").read_text() == header
    facts = {"x": problem.broadcast.elements, "w": problem.vector.elements, "y": problem.output.elements}
    arguments = "x, packed, z, scratch, omp_get_thread_num(), omp_get_num_threads()"
    names = {"symbol": source.symbol, "capitals": source.symbol.upper(), "packed": source.packed}
    packs = PACKS.format(**names) if text else ""
    (tmp_path / "main.c").write_text(OWN_TEAM.format(**facts, **names, arguments=arguments, packs=packs))
    command = [*find_compiler().command, "-O1", "-fopenmp", "main.c", f"{source.symbol}.so", "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, "-o", "main"], cwd=tmp_path, check=True)
    ended = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout == "numbers\n"


@pytest.mark.isa("avx2")
def test_the_cache_serves_no_binary_of_another_instruction_set():
    """The same C text compiled for two is two files."""
    text = "float twice(float x) { return 2 * x; }"
    files = {shared_object(text, flags) for flags in ((), ISAS["avx2"].compiler_flags, ("-mavx",))}
    assert len(files) == 3 and len({file.read_bytes() for file in files}) > 1


@pytest.mark.parametrize("isa", [isa for isa in ISAS.values() if isa.cpu_flags], ids=lambda isa: isa.name)
def test_the_c_condition_asks_for_the_flags_that_the_table_lists(isa):
    assert isa.supported == " && ".join(f'__builtin_cpu_supports("{flag}")' for flag in isa.cpu_flags)
