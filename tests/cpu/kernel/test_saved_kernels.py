"""Kernels that were saved: called from C, loaded again, and refused by a CPU or a record that does not fit."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cpu.codegen.emit import emit
from cpu.kernel.callable import build
from cpu.kernel.export import ExportError, seal
from cpu.kernel.opened import CpuError
from cpu.kernel.saved import load
from cpu.reference.oracle import integers, reference
from cpu.runtime.compiler.library import shared_object
from cpu.runtime.compiler.toolchain import ToolchainError, find_compiler
from cpu.runtime.machine.timer import _library
from microkernels.tile.isa import ISAS
from search import load_kernel
from search.conv import main as conv_command
from tests.support.kernels.cases import CASES, ON_EVERY_ISA, kernel_of
from tests.support.kernels.guard import check_guarded
from tests.support.kernels.saved import LACKED, calling_program
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse

PROBLEM, TEXT = CASES["masked last vector"]
OTHER = (
    "T(c,5) R(k) T(h,7) S(y) T(r,3) T(s,3) U(w,7) V(k,{v})"  # of the same problem; it reads weights in another order
)


@pytest.fixture
def saved(tmp_path):
    """The paths of a saved kernel by suffix."""
    written = kernel_of(PROBLEM, TEXT, "portable").save(tmp_path / "saved")
    return {path.suffix: path for path in written if not path.stem.endswith("_example")}


def example(folder, library):
    """Compiles the example program that `save` wrote; its path."""
    command = [*find_compiler().command, "-O1", f"{library.stem}_example.c", library.name, "-Wl,-rpath,$ORIGIN"]
    subprocess.run([*command, "-o", "example"], cwd=folder, check=True)
    return folder / "example"


def test_a_saved_kernel_needs_no_python(saved):
    assert set(saved) == {".c", ".h", ".so", ".json"}
    folder = saved[".so"].parent
    program = example(folder, saved[".so"])
    x = (np.arange(PROBLEM.broadcast.elements) % 5 - 2).astype(np.float32).reshape(PROBLEM.broadcast.shape)
    w = (np.arange(PROBLEM.vector.elements) % 7 - 3).astype(np.float32).reshape(PROBLEM.vector.shape)
    y = reference(PROBLEM, x, w).ravel()
    for arguments in ([], ["0.05"]):
        printed = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
        assert f"checksum {np.sum(y * (np.arange(y.size) % 3 + 1)):.0f}" in printed


def test_a_file_beside_the_record_is_refused_with_what_to_give(saved):
    with pytest.raises(ExportError, match=r"give its folder, or the .json beside it"):
        load(saved[".so"])


def test_a_record_nested_without_end_is_refused(saved):
    saved[".json"].write_text("[" * 100_000)
    with pytest.raises(ExportError, match="is no record of a saved kernel"):
        load(saved[".json"])


def test_kernels_saved_side_by_side_keep_their_examples(saved):
    """A second kernel in the folder changes nothing of the first: each has its own example, which calls it."""
    before = {path.name: path.read_bytes() for path in saved[".so"].parent.iterdir()}
    folder = saved[".so"].parent
    others = kernel_of(*CASES["strided pointwise"], "portable").save(folder)
    assert not {path.name for path in others} & set(before)
    assert all((folder / name).read_bytes() == content for name, content in before.items())
    for library in (saved[".so"], next(path for path in others if path.suffix == ".so")):
        example(folder, library).rename(folder / library.stem)
        assert "checksum" in subprocess.run([folder / library.stem], check=True, capture_output=True, text=True).stdout


def test_a_saved_kernel_loads_without_a_compiler(saved, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    for path in (saved[".so"].parent, saved[".json"]):
        kernel = load_kernel(path)
        x, w = integers(PROBLEM)
        assert np.array_equal(kernel(x, kernel.pack(w)), reference(PROBLEM, x, w))
        assert (kernel.scheme.text, kernel.source) == (TEXT.format(v=4), saved[".c"].read_text())


def test_a_kernel_of_planes_is_saved_with_the_shapes_that_were_asked_for(tmp_path):
    asked, text = CASES["pixels, rows of weights"]
    problem = pointwise2d(fused(asked.original, "relu(y + b) + z"))
    header = next(
        path for path in kernel_of(problem, text, "portable").save(tmp_path) if path.suffix == ".h"
    ).read_text()
    assert "x: 2 x 12 x 9 x 11" in header and "y: 2 x 18 x 9 x 11" in header and "may be e_z itself" in header
    loaded, inputs = load(tmp_path), integers(problem)
    assert np.array_equal(loaded(*inputs), reference(problem, *inputs))
    assert np.array_equal(loaded(*inputs, out=inputs[-1]), reference(problem, *integers(problem)))


def resaved(saved):
    """The kernel in a folder, loaded before and after another scheme of the same problem is saved there."""
    first = load(saved[".json"])
    # The two schemes want different orders of the packed weights, so the code of one is wrong for the other.
    kernel_of(PROBLEM, OTHER, "portable").save(saved[".so"].parent)
    return first, load(saved[".json"])


def test_a_kernel_that_is_saved_over_another_is_the_one_that_is_loaded(saved):
    x, w = integers(PROBLEM)
    for kernel, text in zip(resaved(saved), (TEXT, OTHER)):
        assert kernel.scheme.text == text.format(v=4)
        assert np.array_equal(kernel(x, kernel.pack(w)), reference(PROBLEM, x, w))
    alone = kernel_of(PROBLEM, OTHER, "portable").pack(w).data
    assert np.array_equal(kernel.pack(w).data, alone)
    assert not np.array_equal(resaved(saved)[0].pack(w).data, kernel_of(PROBLEM, TEXT, "portable").pack(w).data)


def test_a_loaded_kernel_is_saved_as_it_was_loaded(saved, tmp_path):
    _, w = integers(PROBLEM)
    resaved(saved)[0].save(tmp_path / "again")
    kernel = load(tmp_path / "again")
    assert kernel.scheme.text == TEXT.format(v=4)
    assert np.array_equal(kernel.pack(w).data, kernel_of(PROBLEM, TEXT, "portable").pack(w).data)


@pytest.mark.parametrize("writable", range(5))
def test_a_folder_that_fills_up_keeps_the_kernel_that_is_in_it(saved, monkeypatch, writable):
    before = {path: path.read_bytes() for path in saved[".so"].parent.iterdir()}
    real, written = Path.write_bytes, []

    def write_bytes(path, content):
        if len(written) == writable:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return real(path, content)

    with monkeypatch.context() as patch, pytest.raises(ExportError, match="No space left"):
        patch.setattr(Path, "write_bytes", write_bytes)
        kernel_of(PROBLEM, OTHER, "portable").save(saved[".so"].parent)
    assert {path: path.read_bytes() for path in saved[".so"].parent.iterdir()} == before
    assert load(saved[".json"]).scheme.text == TEXT.format(v=4)


def test_kernels_load_where_no_program_may_be_loaded_from_memory(saved, monkeypatch):
    def refused(name):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "memfd_create", refused)
    x, w = integers(PROBLEM)
    for kernel in resaved(saved):
        assert np.array_equal(kernel(x, kernel.pack(w)), reference(PROBLEM, x, w))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda record: record | {"isa": "avx9"}, "unknown instruction set 'avx9'"),
        (lambda record: record | {"scheme": "T(h,7)"}, "no specifier is on dim k, which has 37 points"),
        (lambda record: record | {"shape": "c=0"}, "the shape lacks"),
        (lambda record: record | {"op": "sort"}, "there is no operator 'sort'"),
        (lambda record: record | {"symbol": "../other"}, "its symbol"),
        (lambda record: record | {"symbol": "x(void); int y"}, "its symbol"),
        (lambda record: record | {"threads": 0}, "its number of threads"),
        (lambda record: record | {"threads": 2}, "its symbol is not"),
        (lambda record: record | {"shape": "c=5,h=7,w=7,k=40,r=3,s=3,pad=1"}, "its symbol is not"),
        (lambda record: record | {"scheme": record["scheme"].replace("V(k,4)", "V(k,16)")}, "its symbol is not"),
        (lambda record: record | {"threads": "2"}, "its fields are"),
        (lambda record: record | {"sha256": "0" * 64}, "was not written together with"),
        (lambda record: record | {"version": "0"}, "was not written together with"),
        (lambda record: record | {"scheme": OTHER.format(v=4)}, "was not written together with"),
        (lambda record: {key: value for key, value in record.items() if key != "isa"}, "its fields are"),
        (lambda record: [record], "its fields are"),
    ],
)
def test_a_record_that_does_not_validate_is_refused(saved, change, message):
    saved[".json"].write_text(json.dumps(change(json.loads(saved[".json"].read_text()))))
    with pytest.raises(ExportError, match=message):
        load(saved[".json"])


def test_a_library_that_is_not_the_saved_one_is_refused(saved, tmp_path):
    other = kernel_of(*CASES["single rows"], "portable").save(tmp_path / "other")
    saved[".so"].unlink()
    shutil.copyfile(next(path for path in other if path.suffix == ".so"), saved[".so"])
    with pytest.raises(ExportError, match="was not written together with"):
        load(saved[".json"])
    saved[".so"].unlink()
    with pytest.raises(ExportError, match="cannot be read"):
        load(saved[".json"])


def test_a_source_that_is_not_the_saved_one_is_refused(saved):
    saved[".c"].write_text(saved[".c"].read_text() + "/* changed */\n")
    with pytest.raises(ExportError, match="was not written together with"):
        load(saved[".json"])


def test_what_is_no_saved_kernel_is_refused(saved, tmp_path):
    (tmp_path / "empty").mkdir()
    for path, message in [(tmp_path / "empty", "is not the folder of one"), (tmp_path / "nothing", "cannot be read")]:
        with pytest.raises(ExportError, match=message):
            load(path)
    (tmp_path / "empty" / "product.so").touch()
    with pytest.raises(ExportError, match="a library lies there without its record, as of a program"):
        load(tmp_path / "empty")
    (tmp_path / "empty" / "model.json").write_text("{}")
    with pytest.raises(ExportError, match="not the folder of one saved kernel, but that of a whole model: load_model"):
        load(tmp_path / "empty")
    saved[".json"].write_text("{")
    with pytest.raises(ExportError, match="is no record"):
        load(saved[".json"])
    kernel_of(*CASES["single rows"], "portable").save(saved[".json"].parent)
    with pytest.raises(ExportError, match="but 2: conv2d"):
        load(saved[".json"].parent)


# ---- names


def test_a_kernel_is_saved_under_a_name(tmp_path, monkeypatch):
    """Its file names, its C functions and its macro; loaded by its folder, and saved again as it was."""
    paths = kernel_of(PROBLEM, TEXT, "portable").save(tmp_path / "saved", name="my_conv")
    (tmp_path / "saved" / "package.json").write_text('{"other": "program"}')
    assert [path.name for path in paths] == [f"my_conv{end}" for end in (".c", ".h", "_example.c", ".so", ".json")]
    header = paths[1].read_text()
    assert "void my_conv_pack(" in header and "MY_CONV_PACKED" in header and "conv2d_f32" not in header
    assert (
        "checksum"
        in subprocess.run([example(tmp_path / "saved", paths[3])], check=True, capture_output=True, text=True).stdout
    )
    monkeypatch.setenv("CC", "no-such-compiler")
    again = load(tmp_path / "saved").save(tmp_path / "again")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    x, w = integers(PROBLEM)
    assert np.array_equal(load(tmp_path / "again")(x, w), reference(PROBLEM, x, w))
    record = json.loads(again[-1].read_text())
    again[-1].write_text(json.dumps(record | {"name": "other"}))
    with pytest.raises(ExportError, match=r"other.c cannot be read"):
        load(again[-1])


NO_NAMES = ["", "1x", "a-b", "int", "my conv", "x" * 101, "a\nb", "é", "class", "main", 7]
TAKEN_NAMES = ["memcpy", "printf", "uint8_t", "size_t", "sinf", "index", "stderr", "NULL", "omp_go", "array"]


@pytest.mark.parametrize("name", [*NO_NAMES, *TAKEN_NAMES])
def test_a_name_that_no_function_can_have_is_refused(name, tmp_path):
    with pytest.raises(ExportError, match="cannot be the name of a C function of yours"):
        kernel_of(PROBLEM, TEXT, "portable").save(tmp_path / "saved", name=name)
    assert not (tmp_path / "saved").exists()


def test_a_name_that_the_c_text_uses_is_refused(tmp_path):
    kernel = kernel_of(PROBLEM, TEXT, "portable")
    (function,) = set(re.findall(r"^static \w+ (\w+)\(", kernel.source, re.MULTILINE)[:1])
    for name in (function, "X"):
        with pytest.raises(ExportError, match=f"name='{name}' stands for something else in the kernel's C text"):
            kernel.save(tmp_path / "saved", name=name)


@pytest.mark.slow
def test_the_command_line_names_what_it_emits(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("search.commands.products.rank_first", lambda *_: None)  # name does not depend on the scheme
    words = ["--shape", "c=4,h=5,w=5,k=4,r=1,s=1", "--isa", "portable", "--model-only"]
    assert conv_command([*words, "--emit", str(tmp_path), "--name", "first"]) == 0
    assert (tmp_path / "first.so").exists()
    assert conv_command([*words, "--name", "first"]) == 2
    assert "give --emit DIR too" in capsys.readouterr().err
    for option, value, said in [
        ("--name", "a b", "name of a C function"),
        ("--emit", "", "folder to save into is empty"),
    ]:
        with pytest.raises(SystemExit, match="2"):
            conv_command([*words, option, value])
        assert said in capsys.readouterr().err


@pytest.mark.parametrize("folder", [3, None, b"kernel"])
def test_what_is_no_path_is_refused(folder):
    problem, text = CASES["single rows"]
    with pytest.raises(ExportError, match="is not the name of a folder"):
        kernel_of(problem, text, "portable").save(folder)
    with pytest.raises(ExportError, match="is not the name of a folder"):
        load(folder)


@pytest.mark.parametrize("folder, said", [("", "is empty: give one"), ("a\0b", "has a NUL in it")])
def test_a_folder_that_cannot_be_is_refused(folder, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExportError, match=said):
        kernel_of(PROBLEM, TEXT, "portable").save(folder)
    assert not list(tmp_path.iterdir())


# ---- what a reader relies on


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


@pytest.mark.slow
def test_a_directory_in_place_of_a_record_is_refused_and_closed(tmp_path):
    (tmp_path / "x.json").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ExportError):
        load(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_timing_a_loaded_kernel_says_that_it_needs_a_compiler(saved, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "empty"))
    monkeypatch.setattr("cpu.runtime.machine.timer._library", _library.__wrapped__)
    kernel = load(saved[".json"])
    assert kernel.timing.seconds > 0
    monkeypatch.setenv("CC", "no-such-compiler")
    kernel = load(saved[".json"])
    with pytest.raises(ToolchainError, match="the kernel runs, but timing it needs a C compiler: CC names"):
        _ = kernel.timing


# ---- a CPU without the instruction set


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


@pytest.mark.parametrize("text, threads", [("T(c,2)@core T(h,9)@core T(w,7) S(y) T(r,3) T(s,3) V(c,4)", 3), (None, 3)])
def test_a_program_with_a_team_and_memory_of_its_own_runs_a_kernel(text, threads, tmp_path):
    """A team of any size up to the kernel's own runs it: with a copy of x in front, and by Winograd's algorithm."""
    if not find_compiler().openmp:
        pytest.skip("the compiler has no OpenMP")
    problem = conv2d(c=8, k=8, groups=8, h=9, w=7, r=3, s=3, padding=1, layout="nchw") if text else PROBLEM
    scheme = parse(problem, text or "F(2x2,3x3) B(4,40) R(m) R(n) S(c) T(k,5) V(n,4)")
    kernel = build(scheme, ISAS["portable"], threads)
    kernel.save(tmp_path)
    source = kernel.emitted
    assert source.threads == threads and source.scratch
    facts = {"x": problem.broadcast.elements, "w": problem.vector.elements, "y": problem.output.elements}
    arguments = "x, packed, z, scratch, omp_get_thread_num(), omp_get_num_threads()"
    names = {"symbol": source.symbol, "capitals": source.symbol.upper(), "packed": source.packed}
    (tmp_path / "main.c").write_text(OWN_TEAM.format(**facts, **names, arguments=arguments))
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
