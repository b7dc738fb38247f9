"""A CUDA file holds what its kernels use of the device layer, and nothing else. NVRTC compiles such files elsewhere."""

import re
from functools import cache

import pytest

from gpu.codegen.loops.emit import emit_program
from gpu.codegen.loops.scheme import emit_scheme
from gpu.runtime.compiler.compile import cuda_text
from gpu.runtime.compiler.device_layer import layer
from gpu.runtime.compiler.program import program_cuda_text
from tests.support.gpu.schemes import SCHEMES, scheme_of
from tests.support.programs.programs import SOFTMAX
from tiling.operators import matmul
from tiling.program.infer import sized
from tiling.program.read import read
from tiling.text.notation import parse

TENSOR_CORES = "T(m,2)@block T(n,2)@block S(c) T(k,2) S(a,3) S(b,3) T(m,2)@warp T(n,2)@warp U(m,2) U(n,2) M(m16n8k16)"
HOPPER = "T(m,2)@block T(n,2)@block S(c) T(k,2) S(a,3) S(b,3) T(m,2)@warpgroup U(n,1) U(k,4) M(m64n128k16)"


NAMES = [*SCHEMES, "program", "tensor cores", "hopper"]


@cache
def text_of(name):
    """Emitted by the first test that asks: every process of a run collects this file."""
    if name == "program":
        return program_cuda_text(emit_program(sized(read(SOFTMAX), {"i": 64, "j": 100})))
    if name == "tensor cores":
        return cuda_text(emit_scheme(parse(matmul(m=128, n=64, k=32, dtype="f16"), TENSOR_CORES)))
    if name == "hopper":
        return cuda_text(emit_scheme(parse(matmul(m=256, n=256, k=128, dtype="f16"), HOPPER)))
    return cuda_text(emit_scheme(scheme_of(name)))


@pytest.mark.parametrize("name", NAMES)
def test_every_function_of_its_own_is_used(name):
    """Those that one macro defines for a dtype come together."""
    code = re.sub(r"/\*.*?\*/", "", text_of(name), flags=re.S)
    defined = re.findall(r"^DEVICE [^({]*?(\w+)\(", code, re.M) + re.findall(r"^#define (\w+)", code, re.M)
    assert len(defined) > 2
    made = re.findall(r"\b(\w+_)##", code)  # macros make the end of such a name
    unused = [name for name in defined if len(re.findall(rf"\b{name}\b", code)) < 2]
    assert [name for name in unused if not name.startswith(tuple(made))] == []


@pytest.mark.parametrize("name", NAMES)
def test_instructions_of_tensor_cores_are_where_they_are_used(name):
    text = text_of(name)
    kernel = text[re.search(r"^(CLUSTER_)?KERNEL\(\d", text, re.M).start() :]
    assert ("mma.sync" in text) == ("mma_m16n8k" in kernel.replace("wgmma_", ""))
    assert ("wgmma.mma_async" in text) == ("wgmma_m64" in kernel)
    assert ("cp.async" in text) == ("copy_async" in kernel or "cp_async" in kernel or "copy_box" in kernel)
    assert text.count("KERNEL(threads, blocks)") == 1, "what all kernels need"


CLUSTERS = "T(m,2)@cluster T(m,2)@block S(c) T(k,2) S(a,3) S(b,3) T(m,1)@warpgroup U(n,1) U(k,4) M(m64n64k16)"


@pytest.mark.parametrize("name", [*NAMES, "clusters"])
def test_what_a_comment_says_of_kernels_stands_before_the_macro_that_begins_them(name):
    clusters = parse(matmul(m=256, n=64, k=128, dtype="f16"), CLUSTERS)
    text = cuda_text(emit_scheme(clusters)) if name == "clusters" else text_of(name)
    macros = re.findall(r"/\* A kernel with blocks of[^/]*\*/\n#define (\w+)\(", text)
    assert macros == ["CLUSTER_KERNEL" if name == "clusters" else "KERNEL"]
    assert text.count("A kernel with blocks of") == 1


def test_headings_stand_over_what_is_there():
    """The file's own comment, one over several functions, and what a macro's functions call."""
    found = layer(["ptx.cuh", "elements.cuh", "values.cuh"], "round_bf16(or_bool(1, member_number()))")
    assert "f32_of_bf16(unsigned short bits)" in found and "round_f16" not in found and "ELEMENTS" not in found
    assert "/* The nearest" in found or "round_bf16(float v)" in found
    assert "of floats: f is what" not in found and "across the lanes" not in found
    across = layer(["ptx.cuh", "elements.cuh", "values.cuh"], "across_or_bool(1)")
    assert "ACROSS(or, bool, int)" in across and "FROM_MEMBER(bool, int)" in across and "ACROSS(and" not in across
    assert "/* ---- across the lanes of a warp" in across and "or_bool(int a, int b)" in across
