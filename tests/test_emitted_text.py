"""The text of kernels: golden sources, and that compilers keep its sums in registers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cpu.emit import emit
from cpu.toolchain import BASE_FLAGS, find_compiler
from microkernels.isa import ISAS
from tests.test_kernels import CASES, EPILOGUE_CASES, TAIL
from tiling.epilogue import fused
from tiling.grouped import grouped2d
from tiling.notation import parse
from tiling.operators import conv2d, in_layout

GOLDEN = Path(__file__).with_name("golden")


def nearly_full(rows, vectors, taps):
    """A problem and scheme with one register tile of avx512f, whose steps hold `taps` taps of s."""
    problem = conv2d(c=16, h=3, w=rows, k=16 * vectors, r=3, s=3, padding=1)
    loops = f"T(h,3) S(y) T(r,3) T(s,{3 // taps}) T(c,16)"
    return problem, f"{loops} U(s,{taps}) U(w,{rows}) U(k,{vectors}) V(k,16)"


GOLDENS = {
    "conv2d_3x3_composed_avx512f": (CASES["composed rows"], "avx512f", {}),
    "conv2d_unrolled_taps_avx512f": (CASES["unrolled taps with a register full"], "avx512f", {}),
    "conv2d_taps_kept_apart_avx512f": (nearly_full(14, 2, taps=3), "avx512f", {}),
    "conv2d_stem_avx2": (CASES["stem"], "avx2", {}),
    "conv2d_streaming_avx2": (CASES["one window looped, one clipped"], "avx2", {"stream": True}),
    "conv2d_masked_portable": (CASES["masked last vector"], "portable", {}),
    "conv2d_cores_portable": (CASES["loops for cores"], "portable", {"threads": 2}),
    "conv2d_groups_portable": (CASES["groups and accumulated"], "portable", {}),
    "conv2d_channels_first_portable": (
        EPILOGUE_CASES["rows of two lines, arrays in one of them, channels first"],
        "portable",
        {},
    ),
    "depthwise2d_channels_first_avx2": (CASES["depthwise, for cores, channels first"], "avx2", {"threads": 2}),
    "depthwise2d_masked_avx2": (CASES["depthwise, taps looped"], "avx2", {}),
    "depthwise2d_unrolled_avx512f": (CASES["depthwise, taps unrolled"], "avx512f", {}),
    "grouped2d_unrolled_avx512f": (CASES["groups side by side, channels and taps unrolled"], "avx512f", {}),
    "grouped2d_one_exchange_portable": (
        CASES["groups side by side, registers for the weights of one exchange"],
        "portable",
        {},
    ),
    "pointwise2d_composed_avx512f": (CASES["pixels, composed rows"], "avx512f", {}),
    "pointwise2d_panel_avx2": (CASES["pixels, a panel for a core's tasks"], "avx2", {"threads": 2}),
    "pointwise2d_epilogue_avx2": (EPILOGUE_CASES["pixels, then arrays of planes"], "avx2", {}),
    "matmul_composed_avx512f": (CASES["matrix product"], "avx512f", {}),
    "conv2d_winograd_avx2": (
        (fused(TAIL, "relu(y + b)"), "F(2x2,3x3) B(6,24) T(n,3) S(c) T(k,5) U(m,6) V(n,{v})"),
        "avx2",
        {"threads": 2},
    ),
    "conv2d_epilogue_accumulated_avx2": (EPILOGUE_CASES["accumulated, then gelu"], "avx2", {}),
    "conv2d_epilogue_streaming_avx512f": (EPILOGUE_CASES["strided, then a residual"], "avx512f", {"stream": True}),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_golden_sources(name, update_golden, monkeypatch):
    """The emitted text itself: a change of it is reviewed as C, refreshed by `pytest --update-golden`."""
    monkeypatch.setattr("cpu.emit.VERSION", "VERSION")
    (problem, text), isa, options = GOLDENS[name]
    source = emit(parse(problem, text.format(v=ISAS[isa].lanes)), ISAS[isa], **options).text
    path = GOLDEN / f"{name}.c"
    if update_golden:
        path.write_text(source)
    assert source == path.read_text()


def test_every_golden_file_is_compared():
    assert {path.stem for path in GOLDEN.glob("*.c")} == set(GOLDENS)


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize(
    "rows, vectors, taps",
    [
        *[
            (14, 2, 1),
            (13, 2, 1),
            (9, 3, 1),
            (8, 3, 1),
            (6, 4, 1),
            (28, 1, 1),
            (9, 2, 3),
            (12, 2, 3),
            (27, 1, 3),
            (28, 1, 3),
        ],
        pytest.param(14, 2, 3, marks=pytest.mark.xfail(reason="gcc 12 spills one zmm a step in spite of KEEP_APART")),
    ],
)
def test_tiles_of_nearly_all_registers_do_not_spill(rows, vectors, taps, tmp_path):
    """No accumulator touches the stack: read off the assembly, whatever the compiler."""
    source = emit(parse(*nearly_full(rows, vectors, taps)), ISAS["avx512f"])
    fits = (rows + taps) * vectors + 1 < ISAS["avx512f"].registers
    assert ("    KEEP_APART;" in source.text) == (taps > 1 and not fits)
    assembly = assembly_of(source, tmp_path)
    assert len(re.findall(r"vfmadd\w+ps", assembly)) >= rows * vectors
    spills = spills_of(assembly)
    assert not spills, f"{len(spills)} spills, such as {spills[0].strip()}"


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("rows, vectors", [(14, 2), (28, 1), (8, 3), (6, 4)])
def test_transposing_a_tile_spills_nothing(rows, vectors, tmp_path):
    problem, text = nearly_full(rows, vectors, taps=1)
    source = emit(parse(in_layout(problem, "nchw"), text), ISAS["avx512f"])
    assert not spills_of(assembly_of(source, tmp_path))


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("tile, taps", [("U(w,21)", 9), ("U(h,2) U(w,10)", 9), ("U(w,27)", 3), ("U(w,6) U(c,2)", 9)])
def test_depthwise_tiles_of_nearly_all_registers_do_not_spill(tile, taps, tmp_path):
    rows = {dim: int(count) for dim, count in re.findall(r"U\((\w),(\d+)\)", tile)}
    channels = 16 * rows.get("c", 1)
    problem = conv2d(c=channels, k=channels, groups=channels, h=rows.get("h", 1) + 2, w=rows["w"] + 2, r=3, s=3)
    loops = "U(r,3) U(s,3)" if taps == 9 else "T(r,3) U(s,3)"
    source = emit(parse(problem, f"S(y) {loops} {tile} V(c,16)"), ISAS["avx512f"])
    assert "    KEEP_APART;" not in source.text
    assert not spills_of(assembly_of(source, tmp_path))


@pytest.mark.isa("avx512f")
@pytest.mark.parametrize("size, rows, vectors", [(2, 23, 1), (4, 14, 1), (4, 23, 1), (4, 9, 2), (8, 14, 1), (8, 10, 2)])
def test_tiles_of_groups_side_by_side_do_not_spill(size, rows, vectors, tmp_path):
    if find_compiler().kind == "clang":
        pytest.xfail(
            "clang 14 exchanges lanes of several x ahead and keeps weights on the stack for it: as fast, measured"
        )
    channels = 16 * vectors
    problem = grouped2d(conv2d(c=channels, k=channels, groups=channels // size, h=3, w=rows + 2, r=3, s=3))
    source = emit(parse(problem, f"S(y) T(r,3) U(s,3) U(c,{size}) U(w,{rows}) U(k,{vectors}) V(k,16)"), ISAS["avx512f"])
    assert ("    KEEP_APART;" in source.text) == ((rows + 3 * size) * vectors + 2 >= ISAS["avx512f"].registers)
    assembly = assembly_of(source, tmp_path)
    assert len(re.findall(r"vfmadd\w+ps", assembly)) >= 3 * size * rows * vectors
    assert not spills_of(assembly)


def assembly_of(source, folder):
    (folder / "k.c").write_text(source.text)
    command = [*find_compiler().command, *BASE_FLAGS, *source.compiler_flags, "-S", "k.c", "-o", "k.s"]
    subprocess.run([c for c in command if c != "-shared"], cwd=folder, check=True)
    return (folder / "k.s").read_text()


def spills_of(assembly):
    """The instructions that move a zmm register to or from the stack, or add a product with one that lies there."""
    # Without a frame pointer rbp is a register like any other, and may well point at the weights.
    base = "r[sb]p" if re.search(r"movq\s+%rsp, %rbp", assembly) else "rsp"
    slot = rf"-?\d*\(%{base}\)"
    moved = rf"vmov\w+\s+(?:%zmm\d+, {slot}|{slot}, %zmm\d+)"
    multiplied = rf"vfmadd\w+\s+{slot}, %zmm\d+, %zmm\d+"
    return re.findall(rf"^\s*(?:{moved}|{multiplied})", assembly, re.M)


def test_spills_are_recognised():
    assembly = """
        movq %rsp, %rbp
        vmovaps %zmm3, -112(%rbp)
        vmovups 64(%rsp), %zmm3
        vfmadd231ps (%rsp), %zmm1, %zmm0
        vmovups 64(%rsi), %zmm3
        vfmadd231ps 8(%rdi){1to16}, %zmm1, %zmm0
        movq 8(%rsp), %rax"""
    assert len(spills_of(assembly)) == 3
    assert len(spills_of(assembly.replace("movq %rsp, %rbp", ""))) == 2


def test_symbols_are_names():
    for problem, text in CASES.values():
        source = emit(parse(problem, text.format(v=4)), ISAS["portable"])
        assert re.fullmatch(r"[a-z][a-z0-9_]*", source.symbol)
