"""The text of schemes without a matrix instruction is CUDA: NVRTC compiles it, and no register is spilled."""

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from gpu.runtime.compiler.compile import compile_cubin, cuda_text
from tests.support.gpu.compiling import needs_nvrtc, ptx_of
from tests.support.gpu.schemes import SCHEMES, scheme_of
from tiling.operators import matmul
from tiling.text.notation import parse


@pytest.mark.exhaustive
@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_compile_without_spills(name, architecture):
    cubin = compile_cubin(emit_scheme(scheme_of(name)), architecture)
    assert cubin.code[:4] == b"\x7fELF" and cubin.spilled == 0


@needs_nvrtc
def test_a_large_register_tile_compiles_without_spills():
    """8 x 8 sums of each of 256 threads: as products of f32 without tensor cores are usually written."""
    text = "T(m,16)@block T(n,16)@block S(c) T(k,256) S(a) S(b) T(m,4)@warp T(n,2)@warp T(m,4)@lane T(n,8)@lane U(k,8)"
    cubin = compile_cubin(emit_scheme(parse(matmul(m=2048, n=2048, k=2048), f"{text} U(m,8) U(n,8)")), "sm_80")
    assert cubin.spilled == 0 and 256 * cubin.registers <= 65536


@needs_nvrtc
@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_threads_read_four_numbers_of_a_tile_at_once_and_convert_none(dtype):
    """The inner loop: 16 steps of 8 x 8 sums read 16 numbers each, in accesses of four."""
    text = "T(m,32)@block T(n,32)@block S(c) T(k,256) S(a) S(b) T(m,4)@warp T(n,2)@warp T(m,4)@lane T(n,8)@lane U(k,16)"
    scheme = parse(matmul(m=4096, n=4096, k=4096, dtype=dtype), f"{text} U(m,8) U(n,8)")
    ptx = ptx_of(cuda_text(emit_scheme(scheme)))
    reads = {width: ptx.count(f"ld.shared{width}.f32") for width in (".v4", ".v2", "")}
    assert ptx.count("fma.rn.f32") == 16 * 64 and 4 * reads[".v4"] + 2 * reads[".v2"] + reads[""] == 16 * 16
    # NVRTC 13.5 splits one access into three in some 12 % of its compilations, of one and the same text in one process.
    assert reads[".v4"] >= 16 * 16 // 4 - 1 and reads[""] <= 2
    assert ptx.count("cvt.f32.f16") <= 64  # of what is staged
    assert ptx.count("ld.global.nc.v4") == ptx.count("st.shared.v4.f32") > 0
