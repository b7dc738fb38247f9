"""The text of schemes without a matrix instruction is CUDA: NVRTC compiles it, and no register is spilled."""

import pytest

from gpu.codegen.loops.scheme import emit_loops
from gpu.runtime.compile import compile_cubin
from tests.support.gpu_compiling import needs_nvrtc
from tests.support.gpu_schemes import SCHEMES, scheme_of
from tiling.operators import matmul
from tiling.text.notation import parse


@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_compile_without_spills(name, architecture):
    cubin = compile_cubin(emit_loops(scheme_of(name)), architecture)
    assert cubin.code[:4] == b"\x7fELF" and cubin.spilled == 0


@needs_nvrtc
def test_a_large_register_tile_compiles_without_spills():
    """8 x 8 sums of each of 256 threads: as products of f32 without tensor cores are usually written."""
    text = "T(m,16)@block T(n,16)@block S(c) T(k,256) S(a) S(b) T(m,4)@warp T(n,2)@warp T(m,4)@lane T(n,8)@lane U(k,8)"
    cubin = compile_cubin(emit_loops(parse(matmul(m=2048, n=2048, k=2048), f"{text} U(m,8) U(n,8)")), "sm_80")
    assert cubin.spilled == 0 and 256 * cubin.registers <= 65536
