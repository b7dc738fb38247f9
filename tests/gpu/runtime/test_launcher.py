"""The header and the C file that launch an emitted GPU kernel: compiled against CUDA's own header where there is one,
and run on a driver that prints what it is asked.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from cpu.runtime.compiler.toolchain import find_compiler
from gpu.codegen.copies.aligned import copied_bytes, slices
from gpu.codegen.copies.tensor_map import MAP_TYPES, WRONG_BIT
from gpu.codegen.loops.copier import copier
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.program import CudaSource
from gpu.model.devices import DEVICES
from gpu.model.predict import rank
from gpu.runtime.export import launcher
from gpu.runtime.machine.driver import _PROMOTE_TO_128, _SWIZZLE_128
from search.tuner.dtypes import on_gpu
from tests.support.gpu.cases import SPLIT, wgmma_scheme
from tests.support.gpu.driver import OWN, STAND_IN, WARNINGS, headers
from tests.support.gpu.schemes import scheme_of
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul

ADDRESSES = [4096 * (i + 1) for i in range(5)]  # made up: what a device's memory would give
MULTIPROCESSORS = 100


@cache
def source_of(case: str) -> CudaSource:
    """An emitted kernel of one kind."""
    if case == "shared sums":
        return emit_scheme(SPLIT)
    if case == "no matrix instruction":
        return emit_scheme(scheme_of("bf16, epilogue"))
    if case == "blocks of pixels":
        return emit_scheme(scheme_of("warpgroups, blocks of pixels"))
    if case == "a warp copies boxes":
        return emit_scheme(wgmma_scheme(fused(matmul(m=256, n=256, k=256, dtype="f16"), "relu(y + b)")))
    device, problem = {
        "threads copy": ("A100", matmul(m=40, n=24, k=56)),
        "TMA copies": ("H200", matmul(m=4096, n=4096, k=4096)),
        "copied first": ("H200", matmul(m=4095, n=4095, k=4096)),
        "pixels by TMA": ("H200", conv2d(n=64, c=64, h=28, w=28, k=64, r=3, s=3, padding=1)),
        "epilogue": ("H200", fused(matmul(m=512, n=512, k=512), "relu(y + b + z)")),
    }[case]
    ranked = [prediction.scheme for prediction in rank(on_gpu(problem, "f16"), DEVICES[device])]
    if case == "pixels by TMA":
        return next(source for source in map(emit_scheme, ranked) if any(each.pixels for each in source.maps))
    return emit_scheme(ranked[0])


CASES = (
    "threads copy",
    "TMA copies",
    "copied first",
    "pixels by TMA",
    "blocks of pixels",
    "epilogue",
    "shared sums",
    "no matrix instruction",
    "a warp copies boxes",
)


def written(source: CudaSource, folder: Path) -> Path:
    """The launcher's C file in a folder."""
    for name, text in launcher(source, "sm_90a").items():
        (folder / name).write_text(text)
    return folder / f"{source.symbol}_launch.c"


@pytest.mark.parametrize("case", CASES)
def test_a_launcher_compiles_without_a_warning_in_c_and_its_header_in_cpp(case, tmp_path):
    source = source_of(case)
    file = written(source, tmp_path)
    (tmp_path / "program.cpp").write_text(
        f'#include "{source.symbol}.h"\nint main() {{ return sizeof({source.symbol}_kernel) == 0; }}\n'
    )
    for header in headers():
        for language, name in (("c", file.name), ("c++", "program.cpp")):
            command = [
                *find_compiler().command,
                "-x",
                language,
                "-fsyntax-only",
                *WARNINGS,
                "-isystem",
                str(header),
                name,
            ]
            ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert ended.returncode == 0, ended.stderr


PROGRAM = """
#include "{symbol}.h"
#include <stdio.h>
extern int arguments_of_launch[8];
int main(int count, char **words)
{{
    (void)count;
    {symbol}_kernel kernel;
    arguments_of_launch[0] = {first}, arguments_of_launch[1] = {second};
    CUresult error = {symbol}_load(&kernel, words[1]);
    if (!error) error = {symbol}_launch(&kernel, {addresses}, 0);
    if (!error) error = {symbol}_unload(&kernel);
    printf("error %d\\n", error);
    return 0;
}}
"""


def ran(source: CudaSource, folder: Path, machine_code: Path) -> list[str]:
    """What the stand-in's driver prints of a program that loads, launches and unloads a kernel."""
    count = source.arrays + 2 * source.shares_sums
    copying = len(source.copied) + 1
    (folder / "program.c").write_text(
        PROGRAM.format(
            symbol=source.symbol,
            first=copying if source.copied else count,
            second=count,
            addresses=", ".join(map(str, ADDRESSES[: source.arrays])),
        )
    )
    files = ["program.c", written(source, folder).name, str(STAND_IN / "driver.c")]
    command = [*find_compiler().command, "-I", str(STAND_IN), *files, "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run([folder / "program", machine_code], check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )[:-1]


@pytest.mark.parametrize("case", CASES)
def test_a_launcher_asks_the_driver_for_what_the_python_function_asks(case, tmp_path):
    source = source_of(case)
    programs = (source, copier(source)) if source.copied else (source,)
    for program in programs:
        (tmp_path / f"{program.symbol}.cubin").touch()
    printed = ran(source, tmp_path, tmp_path)
    assert printed[: len(programs)] == [f"attribute {p.symbol} 8 {p.shared_bytes}" for p in programs]
    arguments = ADDRESSES[: source.arrays]
    if source.copied:
        inputs = [arguments[copy.array] for copy in source.copied]
        copying = f"launch {programs[1].symbol} {programs[1].grid} {programs[1].threads} {programs[1].shared_bytes}:"
        assert " ".join([copying, *map(str, inputs), str(OWN)]) in printed
        for copy, place in zip(source.copied, slices(source.copied)):
            arguments[copy.array] = OWN + place.start
    maps = [line for line in printed if line.startswith("map ")]
    assert len(maps) == len(source.maps)
    words = [int(line.split()[-1], 16) for line in printed if line.startswith("second word")]
    assert words == [2**64 - 1 - (tensor.small << WRONG_BIT) for tensor in source.maps]
    for tensor, line in zip(source.maps, maps):
        kind = "im2col" if tensor.pixels else "tiled"
        assert line.startswith(" ".join(map(str, ("map", kind, MAP_TYPES[tensor.dtype][0], *tensor.dims))))
        assert all(f" /{stride}" in line for stride in tensor.strides)
        assert line.endswith(f" 0 {_SWIZZLE_128} {_PROMOTE_TO_128} 0")
        if tensor.pixels:
            pixels = tensor.pixels
            corners = [f"[{corner[0]} {corner[1]}]" for corner in (pixels.lower, pixels.upper)]
            steps = (1, *pixels.steps, 1)
            assert " ".join(map(str, (*corners, tensor.box[0], pixels.count, *steps))) in line
        else:
            assert all(f" [{size} 1]" in line for size in tensor.box)
    launch = f"launch {source.symbol} {source.blocks_on(MULTIPROCESSORS)} {source.threads} {source.shared_bytes}:"
    (found,) = (line for line in printed if line.startswith(launch))
    given = list(map(int, found[len(launch) :].split()))
    assert given[: source.arrays] == arguments
    if source.shares_sums:
        semaphores, sums = (address - OWN for address in given[source.arrays :])
        assert f"set {semaphores} 0 {source.semaphores}" in printed
        (memory,) = (int(line.split()[1]) for line in printed if line.startswith("memory"))
        assert copied_bytes(source.copied) <= semaphores and semaphores + 4 * source.semaphores <= sums
        assert memory == sums + 4 * source.partial_sums and sums % 16 == 0
    assert printed[-1] == "error 0" and printed.count("free 0") == (source.shares_sums or bool(source.copied))
    assert [line for line in printed if line.startswith("unload")] == [f"unload {i + 1}" for i in range(len(programs))]


def test_missing_machine_code_is_the_drivers_error_and_leaves_nothing_loaded(tmp_path):
    source = source_of("copied first")
    (tmp_path / f"{source.symbol}.cubin").touch()
    printed = ran(source, tmp_path, tmp_path)
    assert printed[-2:] == ["unload 1", "error 301"]
    assert ran(source, tmp_path, tmp_path / ("x" * 5000))[-1] == "error 1"


def test_a_header_says_what_the_arrays_are():
    text = launcher(source_of("epilogue"), "sm_90a")["".join((source_of("epilogue").symbol, ".h"))]
    assert "a: 512 x 512, 262144 of f16" in text and "e_b: 512, 512 of f16" in text and "for sm_90a" in text
    assert "CUdeviceptr a, CUdeviceptr b, CUdeviceptr e_b, CUdeviceptr e_z, CUdeviceptr c, CUstream stream" in text
