"""The precompiled header of intrinsics: same machine code, and no harm where it cannot be had."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from operator import attrgetter

import pytest

from cpu.runtime.compiler import headers, library, toolchain
from cpu.runtime.compiler.cache_command import main
from cpu.runtime.compiler.cache_folder import clear, entries, keep_limit
from cpu.runtime.compiler.library import compiled
from cpu.runtime.compiler.toolchain import CompileError, ToolchainError, find_compiler
from microkernels.tile.isa import EVERY_ISA
from tests.support.sources import ROOT

FLAGS = ("-mavx2", "-mfma")
SOURCE = """/* Adds. */
#include <immintrin.h>
#include <stdint.h>
void add(const float *a, float *b) { _mm256_storeu_ps(b, _mm256_add_ps(_mm256_loadu_ps(a), _mm256_loadu_ps(b))); }
"""

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="immintrin.h is of x86-64"),
    pytest.mark.skipif(find_compiler().kind != "gcc", reason="gcc alone takes a precompiled header"),
]


class Everything(set):
    """A set that has all there is."""

    def __contains__(self, _):
        return True


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache of its own, in a process that has compiled a kernel with every set of flags."""
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(headers, "_ASKED", Everything())


@pytest.fixture
def short(monkeypatch) -> str:
    """A source whose header takes the place of `immintrin.h`: gcc reads it in a tenth of the time.

    What becomes of a header is the same for both; that gcc takes `immintrin.h` itself is tested with that one.
    """
    include = "#include <xmmintrin.h>\n"
    monkeypatch.setattr(headers, "INTRINSICS", "xmmintrin.h")
    monkeypatch.setattr(headers, "intrinsics", lambda _: include)
    body = "_mm_storeu_ps(b, _mm_add_ps(_mm_loadu_ps(a), _mm_loadu_ps(b)));"
    return f"/* Adds. */\n{include}#include <stdint.h>\nvoid add(const float *a, float *b) {{ {body} }}\n"


def kinds() -> str:
    return " ".join(sorted(entry.path.suffix for entry in entries()))


def given(tmp_path, source, flags=FLAGS, compiler=None) -> tuple[str, ...]:
    """The flags that a compilation gets. Each call has a folder of its own, as each compilation."""
    folder = tmp_path / f"build-{len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    return headers.precompiled(compiler or find_compiler(), headers.header_of(source, flags), flags, False, folder)


@pytest.mark.slow
def test_the_first_kernel_of_a_process_does_not_wait_for_it(short, monkeypatch):
    monkeypatch.setattr(headers, "_ASKED", set())
    compiled(short, FLAGS)
    assert kinds() == ".so"
    compiled(f"{short}int second;", FLAGS)
    assert kinds() == ".gch .so .so"


@pytest.fixture
def tried(monkeypatch) -> list[str]:
    """How each compilation went: `header` with one, `alone` without, or `failed`."""
    outcomes = []

    def compile_shared(*given):
        outcomes.append("failed")
        toolchain.compile_shared(*given)
        outcomes[-1] = "header" if "-I" in given[3] else "alone"

    monkeypatch.setattr(library, "compile_shared", compile_shared)
    return outcomes


# With these gcc fails where it leaves out a header that lies on its path. Then the kernel is compiled without.
STRICT = (*FLAGS, "-Winvalid-pch", "-Werror")


@pytest.mark.slow
def test_gcc_takes_it_and_the_machine_code_is_the_same(tried, monkeypatch):
    with_header = compiled(SOURCE, STRICT)
    assert tried == ["header"] and kinds() == ".gch .so"
    clear()
    monkeypatch.setattr(library, "precompiled", lambda *_: ())
    assert compiled(SOURCE, STRICT) == with_header
    assert tried == ["header", "alone"] and kinds() == ".so"


@pytest.mark.parametrize(
    "isa", [isa for isa in EVERY_ISA.values() if "immintrin.h" in isa.prologue], ids=attrgetter("name")
)
def test_its_parts_hold_all_that_kernels_use(isa):
    kernels = [path.read_text() for path in (ROOT / "tests" / "golden").rglob(f"*_{isa.name}.c")]
    used = {name for text in (str(isa), *kernels) for name in re.findall(r"\b(?:_mm|__m|_MM|_CMP)\w+", text)}
    given = [*find_compiler().command, *isa.compiler_flags, "-E", "-dD", "-x", "c", "-"]
    read = subprocess.run(
        given, input=headers.intrinsics(isa.compiler_flags), text=True, capture_output=True, check=True
    )
    assert len(used) > 10 and used <= set(re.findall(r"\w+", read.stdout))


@pytest.mark.parametrize("flags", [("-O0",), ("-O3", "-ffp-contract=off")], ids=str)
def test_a_text_before_sources_is_precompiled_and_changes_no_code(flags, tried):
    before = "#include <math.h>\nstatic float twice(float x) { return 2 * fabsf(x); }\n"
    source = "float of(float x) { return twice(x); }\n"
    flags = (*flags, "-Winvalid-pch", "-Werror")
    code = compiled(source, flags, before=before)
    assert tried == ["header"] and kinds() == ".gch .so"
    assert compiled(before + source, flags) == code and tried == ["header"]  # it is the same kernel
    clear()
    assert compiled(before + source, flags) == code and tried == ["header", "alone"] and kinds() == ".so"
    with pytest.raises(ToolchainError, match="no_such_type"):
        compiled(source + "no_such_type x;", flags, before=before)


@pytest.mark.slow
def test_where_gcc_does_not_take_it_the_kernel_is_compiled_without(short, tried):
    assert compiled(short, STRICT) and tried == ["header"]
    header = next(entry.path for entry in entries() if not entry.is_kernel)
    header.write_bytes(b"another compiler's" + header.read_bytes())
    assert compiled(short + "/* anew */", STRICT) and tried == ["header", "failed", "alone"]
    with pytest.raises(ToolchainError, match="no_such_type"):
        compiled(short + "no_such_type x;", FLAGS)


@pytest.mark.slow
def test_each_set_of_flags_has_its_own(short, tmp_path):
    own = (FLAGS, ("-mavx512f",), (*FLAGS, "-S"), (*FLAGS, "-c"), FLAGS)
    assert all(given(tmp_path, short, flags)[0] == "-I" for flags in own)
    assert kinds() == ".gch .gch"


@pytest.mark.slow
def test_threads_make_it_once(short, monkeypatch):
    made = []
    monkeypatch.setattr(
        headers, "compile_header", lambda *given: made.append(given) or toolchain.compile_header(*given)
    )
    with ThreadPoolExecutor(4) as pool:
        objects = list(pool.map(lambda number: compiled(f"{short}int n = {number};", (*FLAGS, "-c")), range(4)))
    assert len(made) == 1 and len(set(objects)) == 4


@pytest.mark.parametrize(
    "source",
    ["void f(void) {}\n", "#include <math.h>\n#include <immintrin.h>\n", "#include <stdint.h>\n", '#include "x.h"\n'],
)
def test_a_source_that_begins_with_another_header_gets_none(tmp_path, source):
    assert given(tmp_path, source) == () and kinds() == ""


def test_other_compilers_get_none(tmp_path):
    assert given(tmp_path, SOURCE, compiler=replace(find_compiler(), kind="clang")) == () and kinds() == ""


@pytest.mark.parametrize("full", ["limit", "disk"])
def test_it_pushes_no_kernel_out(full, short, monkeypatch):
    """Where the cache or the disk is small, kernels are compiled as ever."""
    if full == "limit":
        keep_limit(64 << 20)
    else:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1 << 30, 1 << 30, 1 << 20))
    compiled(short, FLAGS)
    assert kinds() == ".so"


@pytest.mark.slow
def test_where_it_cannot_be_made_or_is_deleted_the_kernel_is_compiled_without(short, tmp_path):
    assert given(tmp_path, short)
    clear()
    assert given(tmp_path, short) == (), "the process believed it to be there still"
    assert given(tmp_path, short), "and makes it again"
    failing = replace(find_compiler(), arguments=("-include", "no-such-file.h"))
    assert given(tmp_path, short, compiler=failing) == ()


@pytest.mark.slow
def test_where_gcc_cannot_place_it_the_kernel_is_compiled_without(short, monkeypatch):
    tried = []

    def compile_shared(compiler, source, path, flags, *rest):
        tried.append("-I" in flags)
        if tried[-1]:
            raise CompileError("the compiler failed: kernel.c: fatal error: had to relocate PCH")
        toolchain.compile_shared(compiler, source, path, flags, *rest)

    monkeypatch.setattr(library, "compile_shared", compile_shared)
    assert compiled(short, FLAGS) and tried == [True, False]


@pytest.mark.slow
def test_the_command_counts_kernels_alone(short, capsys):
    compiled(short, FLAGS)
    assert main(["status"]) == 0
    assert "kernels      1, " in capsys.readouterr().out
    assert main(["clear"]) == 0
    assert capsys.readouterr().out.startswith("deleted 1 compiled kernel, ")
