"""Each pass has a docstring that shows loops before and after it: what it makes of a small kernel now."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from gpu.passes import order
from gpu.passes.order import COPIES, PROGRAM, SCHEME, copy_forms, program_forms, scheme_forms
from gpu.passes.threads import bind_points
from tests.support.loops.examples import check_example
from tiling.epilogue import fused
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO, constant, variable
from tiling.loops.kernel import Kernel
from tiling.loops.language import For, Load, Store
from tiling.operators import conv2d, matmul
from tiling.problem import Problem
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.text.notation import parse

SOFTMAX = "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
BACKWARDS = "e[i,j] = exp(x[i,j]); s[i] = sum[j] e[i,j]; y[i,j] = e[i,1535-j] * s[i]"
PROGRAMS: dict[str, tuple[str, dict]] = {
    "split launches": ("m[] = max[j] x[j]; y[j] = x[j] - m[]", {"x": (9,)}),
    "guard gathers": ("y[i] = x[t[i]]; t: s32", {"x": (9,), "t": (20,)}),
    "transpose tiles": ("y[i,j] = 2 * x[j,i]", {"x": (100, 76)}),
    "bind points": ("y[i,j] = 2 * x[i,j]", {"x": (100, 76)}),
    "widen": ("y[i,j] = 2 * x[i,j]", {"x": (8, 64)}),
    "bind rows": (SOFTMAX, {"x": (100, 768)}),
    "share rows": (SOFTMAX, {"x": (100, 1536)}),
    "unroll turns": (SOFTMAX, {"x": (100, 1536)}),
    "keep rows": (SOFTMAX, {"x": (100, 1536)}),
    "deal neighbours": (SOFTMAX, {"x": (100, 2048)}),
    "place rows": (BACKWARDS, {"x": (3, 1536)}),
    "combine lanes": (SOFTMAX, {"x": (100, 1536)}),
    "elect threads": ("m[i] = max[j] x[i,j]", {"x": (100, 1536)}),
    "allocate shared": (BACKWARDS, {"x": (3, 1536)}),
    "place barriers": (BACKWARDS, {"x": (3, 1536)}),
    "begin registers": ("y[i] = sum[r] x[i,r]", {"x": (1000, 4)}),
    "guard workers": ("m[i] = max[j] x[i,j]", {"x": (100, 1536)}),
}
DEALT = "T(m,8)@block S(c) T(k,8) S(a) S(b) T(m,2)@lane T(n,16)@lane U(k,8) U(m,8) U(n,8)"
TILES = "T(m,2)@block T(n,2)@block S(c) T(k,8) S(a) S(b) T(m,4)@warp T(m,8)@lane T(n,4)@lane U(k,8) U(m,2) U(n,16)"
MATRICES = "T(m,2)@block T(n,2)@block S(c) T(k,2) S(a) S(b) T(m,2)@warp T(n,2)@warp U(k,2) U(m,2) U(n,4) M(m16n8k16)"
OF_MATRICES = ("copy asynchronously", "multiply matrices", "load matrices", "swizzle")
ONE_PART = "T(m,2)@block T(n,2)@block S(c) T(k,16) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(m,4) U(n,8) M(m16n8k16)"
RING = "T(m,2)@block T(n,2)@block S(c) T(k,8) S(a, 3) S(b, 3) T(m,2)@warp T(n,2)@warp U(k,2) U(m,4) U(n,8) M(m16n8k16)"
PRODUCT = matmul(m=128, n=128, k=64)
SHARED = matmul(m=128, n=32, k=128, dtype="f16")
PARTS = "T(k,2)@block T(m,4)@block S(c) T(k,2) S(a, 2) S(b, 2) T(m,2)@warp T(n,2)@warp U(k,2) U(n,2) M(m16n8k16)"
WARPGROUPS = "T(m,2)@block T(n,2)@block S(c) T(k,4) S(a, 3) S(b, 3) T(m,2)@warpgroup U(k,4) M(m64n128k16)"
IN_TURNS = "T(m,2)@cluster T(n,2)@cluster S(c) T(k,4) S(a, 3) S(b, 3) T(m,2)@warpgroup U(k,4) M(m64n128k16)"
OF_WARPGROUPS = ("copy boxes", "multiply warpgroups", "specialise warps", "state parities")
CLUSTERS = WARPGROUPS.replace("T(m,2)@block T(n,2)@block", "T(m,2)@cluster T(n,3)@cluster T(m,2)@block")
OF_CLUSTERS = ("bind clusters", "share copies")
SCHEMES: dict[str, tuple[Problem, str]] = {
    **{name: (matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True), WARPGROUPS) for name in OF_WARPGROUPS},
    **{name: (matmul(m=512, n=384, k=256, dtype="f16", transpose_b=True), CLUSTERS) for name in OF_CLUSTERS},
    "store boxes": (matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True), IN_TURNS),
    "prefetch maps": (matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True), IN_TURNS),
    "take turns": (
        matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True),
        IN_TURNS.replace("T(m,2)@warpgroup", "T(m,1)@warpgroup").replace("S(c)", "T(m,2)@warpgroup S(c)"),
    ),
    "skip turns": (
        matmul(m=192, n=256, k=256, dtype="f16", transpose_b=True),
        IN_TURNS.replace("T(m,2)@warpgroup", "T(m,1)@warpgroup").replace("S(c)", "T(m,2)@warpgroup S(c)"),
    ),
    "load residual": (
        fused(matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True), "relu(y + bias[n] + z[m,n])"),
        IN_TURNS.replace("T(m,2)@warpgroup U(k,4)", "T(m,1)@warpgroup U(k,4) U(m,2)"),
    ),
    "move registers": (
        fused(matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True), "y + z[m,n] * q[m,n]"),
        IN_TURNS.replace("m64n128k16", "m64n256k16").replace("T(n,2)", "T(n,1)"),
    ),
    "round stores": (matmul(m=128, n=128, k=64, dtype="f16"), TILES),
    "compute in f32": (matmul(m=128, n=128, k=64, dtype="f16"), TILES),
    "bind blocks": (PRODUCT, TILES),
    "interleave points": (PRODUCT, DEALT),
    "bind threads": (PRODUCT, TILES),
    "stage tiles": (PRODUCT, TILES),
    "widen copies": (PRODUCT, TILES),
    "stage matrices": (
        conv2d(n=2, c=8, h=7, w=8, k=16, r=3, s=3, padding=1, dtype="bf16", filters="krsc"),
        "T(nhw,2)@block S(y) T(rsc,3) S(x) S(w) T(nhw,2)@warp T(k,1)@warp U(rsc,2) U(nhw,2) U(k,2) M(nhw16k8rsc16)",
    ),
    **{name: (matmul(m=128, n=128, k=64, dtype="f16"), MATRICES) for name in OF_MATRICES},
    **{name: (matmul(m=256, n=256, k=256, dtype="f16"), RING) for name in ("fill ahead", "load ahead", "keep loops")},
    "cut tiles": (matmul(m=256, n=256, k=250, dtype="f16"), WARPGROUPS),
    "multiply beside": (
        conv2d(n=1, c=64, h=16, w=16, k=128, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
        "T(nhw,2)@block S(y) T(rsc,9) S(x, 4) S(w, 4) T(nhw,2)@warpgroup U(rsc,4) M(nhw64k128rsc16)",
    ),
    "join steps": (
        conv2d(n=1, c=128, h=16, w=16, k=128, r=3, s=3, padding=1, dtype="f16", filters="krsc"),
        "T(nhw,2)@block S(y) T(r,3) T(s,3) T(c,2) S(x, 4) S(w, 4) T(nhw,2)@warpgroup U(c,4) M(nhw64k128c16)",
    ),
    "gather rows": (matmul(m=256, n=256, k=255, dtype="f16"), RING),
    "load first": (matmul(m=256, n=256, k=256, dtype="f16"), ONE_PART),
    **{name: (SHARED, PARTS) for name in ("state conditions", "share sums")},
    "unroll copies": (matmul(m=256, n=256, k=256, dtype="f16", transpose_b=True), RING),
    "load once": (
        fused(matmul(m=40, n=44, k=64, dtype="bf16"), "relu(y * scale[n]) + z[m,n]"),
        "T(m,2)@block S(c) T(k,4) S(a) S(b) T(m,1)@warp U(m,2) U(n,6) M(m16n8k16)",
    ),
    "skip blocks": (
        matmul(m=300, n=64, k=32, dtype="f16"),
        "T(m,2)@block T(n,2)@block T(m,8)@block S(c) T(k,1) S(a) S(b) T(m,2)@warp U(k,2) U(n,4) M(m16n8k16)",
    ),
    "store pairs": (
        fused(matmul(m=40, n=44, k=64, dtype="bf16"), "relu(y + bias[n]) + z[m,n]"),
        "T(m,2)@block S(c) T(k,4) S(a) S(b) T(m,2)@warp U(n,6) M(m16n8k16)",
    ),
    "add zeros": (
        conv2d(n=1, c=4, h=6, w=8, k=8, r=3, s=3, padding=1),
        "T(h,3)@block S(y) T(c,2) T(r,3) S(x) S(w) T(w,8)@lane T(k,4)@lane U(s,3) U(c,2) U(h,2) U(k,2)",
    ),
}


def test_every_pass_is_on_the_page():
    page = (Path(__file__).parents[3] / "docs" / "gpu-passes.md").read_text(encoding="utf-8")
    page = " ".join(page.split())
    passes = [*PROGRAM, *SCHEME, *COPIES]
    assert len(passes) > 15 and [each.name for each in passes if f"`{each.name}`" not in page] == []


def docstring(name: str) -> str:
    """The docstring of the file that is called as the pass."""
    file = name.replace(" ", "_")
    for found in Path(order.__file__).parent.rglob(f"{file}.py"):
        return import_module(f"gpu.passes.{found.parent.name}.{file}").__doc__ or ""
    return import_module(f"tiling.program.lowering.{file}").__doc__ or ""  # of programs on any machine


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_pass_of_programs_does_what_its_docstring_shows(name, monkeypatch):
    if name == "widen":
        monkeypatch.setattr(bind_points, "MANY", 64)
    text, shapes = PROGRAMS[name]
    check_example(docstring(name), name, dict(program_forms(sized(read(text), {}, shapes))))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_pass_of_schemes_does_what_its_docstring_shows(name):
    check_example(docstring(name), name, dict(scheme_forms(parse(*SCHEMES[name]))))


def test_launches_are_joined_as_the_docstring_shows():
    arrays = [Buffer(name, (count,), ("i",)) for name, count in {"x": 2048, "a": 2048, "y": 2304, "b": 2304}.items()]
    one, other = (
        For("i", ZERO, constant(count), 1, (Store(to, (variable("i"),), Load(of, (variable("i"),))),))
        for to, of, count in (("a", "x", 2048), ("b", "y", 2304))
    )
    forms = dict(copy_forms(Kernel(tuple(arrays), (one, other))))
    check_example(docstring("join launches"), "join launches", forms)
    assert {*PROGRAMS, *SCHEMES, "join launches"} >= {each.name for each in COPIES}


def test_every_pass_is_compared():
    assert {*PROGRAMS, *SCHEMES} == {each.name for each in (*PROGRAM, *SCHEME)}
