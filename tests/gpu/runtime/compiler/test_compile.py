"""Emitted kernels through NVRTC, which needs no GPU: machine code without spills; and what is said where
it cannot be.
"""

import re
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from cpu.runtime.compiler.cache_folder import clear, entries
from cpu.runtime.compiler.toolchain import CompileError
from gpu.codegen.loops.scheme import emit_scheme
from gpu.model.devices import DEVICES
from gpu.model.schedules import schedules
from gpu.model.space import candidates, limits, scheme_of
from gpu.probes.calibrate import probes
from gpu.runtime.compiler.compile import compile_cubin
from tests.support.gpu.cases import product_scheme
from tests.support.gpu.compiling import check_compiles, fault, needs_nvrtc
from tests.support.gpu.large_problems import LARGE, OTHERS, check_schedules, kernels_of
from tests.support.sampled import in_turns
from tiling.operators import matmul


@pytest.mark.exhaustive
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", LARGE, ids="-".join)
def test_every_schedule_is_a_candidate_unless_shared_memory_is_too_small(kind, device):
    problem = LARGE[kind]
    found = set(candidates(problem, DEVICES[device]))
    for schedule in schedules(problem.dtype):
        if schedule.instruction.worker != "warpgroup" or DEVICES[device].wgmma_flops:
            scheme = scheme_of(problem, schedule)
            assert scheme in found or "bytes of shared memory" in limits(scheme, DEVICES[device]), scheme.text


def tile_of(scheme) -> tuple[str, ...]:
    """What a warp holds in registers: its instructions, and how many of them along every dim."""
    return tuple(re.findall(r"[UM]\(.*?\)", scheme.text))


def one_of_each_tile(kind) -> list:
    """One kernel for every tile in registers, with the device it is for: one of its architectures, in turns.

    The first tile has its first schedule here, the second its second, and so on: all depths, groups and clusters occur.
    """
    tiles: dict = {}
    for (architecture, _), (scheme, device) in kernels_of(kind).items():
        tiles.setdefault(tile_of(scheme), {}).setdefault(architecture, []).append((scheme, device))
    found = []
    for place, architectures in enumerate(tiles.values()):
        kernels = [*architectures.values()][place % len(architectures)]
        found.append(kernels[place % len(kernels)])
    assert {DEVICES[device].architecture for _, device in found} == {device.architecture for device in DEVICES.values()}
    return found


@pytest.mark.slow
@needs_nvrtc
@in_turns(12)
@pytest.mark.parametrize("kind", [kind for kind in LARGE if kind[1] != "f16"], ids="-".join)
def test_schedules_compile_without_spills(kind, turn, lasting_cache):
    """One of every tile in registers, which decides on spills; the soak test compiles every schedule for every
    architecture. `make test` takes every twelfth tile.

    Seconds where no kernel's text has changed.
    """
    lasting_cache("-".join(kind))
    check_schedules(one_of_each_tile(kind)[turn::12])


@pytest.mark.slow
@needs_nvrtc
@in_turns(12)
@pytest.mark.parametrize("operator", ["matmul", "conv2d"])
def test_f16_takes_the_registers_of_bf16(operator, turn, lasting_cache):
    """So the schedules of bf16 answer for those of f16, all of which took the same when all were compared.

    Here one schedule of every tile in registers is, of convolutions one of every third tile; the soak test compiles all
    of f16.
    """
    lasting_cache(f"{operator}-bf16")
    for device in DEVICES.values():
        f16, bf16 = (candidates(LARGE[operator, dtype], device) for dtype in ("f16", "bf16"))
        assert [scheme.text for scheme in f16] == [scheme.text for scheme in bf16]
    as_f16 = {
        scheme.text: scheme for device in DEVICES.values() for scheme in candidates(LARGE[operator, "f16"], device)
    }
    every = 1 if operator == "matmul" else 3
    some = one_of_each_tile((operator, "bf16"))[every * turn :: every * 12]  # the test above compiles them
    for scheme, device in some:
        both = map(emit_scheme, (as_f16[scheme.text], scheme))
        one, other = (compile_cubin(source, DEVICES[device].architecture) for source in both)
        assert (one.registers, one.spilled) == (other.registers, other.spilled), scheme.text


@pytest.mark.slow
@needs_nvrtc
@in_turns(3)
@pytest.mark.parametrize("device", ["A100", "H200"])
@pytest.mark.parametrize("problem", OTHERS, ids=str)
def test_schedules_of_other_problems_compile_without_spills(problem, device, turn):
    """Every 29th of the space, a number that meets all tiles, steps and depths; the soak test takes all of them."""
    for scheme in candidates(problem, DEVICES[device])[29 * turn :: 3 * 29]:
        check_compiles(scheme, device)


@needs_nvrtc
@pytest.mark.parametrize("device", ["A100", "H200"])
def test_a_schedule_that_spills_is_at_fault(device):
    """256 sums are more than the 255 registers of a thread."""
    scheme = product_scheme(matmul(m=512, n=512, k=512, dtype="f16"), unrolled=(4, 16, 1))
    assert "spills" in fault(scheme, device)


@needs_nvrtc
def test_a_kernel_is_compiled_once(monkeypatch):
    source = emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16")))
    first = compile_cubin(source, "sm_80")
    monkeypatch.setattr("gpu.runtime.compiler.nvrtc.compiled", None)
    assert compile_cubin(source, "sm_80") == first


@needs_nvrtc
def test_text_that_nvrtc_refuses_is_quoted():
    source = emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16")))
    source = replace(source, text=source.text.replace("cp_async_commit();", "cp_async_comit();"))
    with pytest.raises(CompileError, match="cp_async_comit"):
        compile_cubin(source, "sm_80")


@needs_nvrtc
@pytest.mark.parametrize(
    "written, instead, consequence",
    [
        ("wgmma_commit();", 'printf(""); wgmma_commit();', "run the wgmma of probe one after the other"),
        ("wgmma_wait(0);", "", "wait for the wgmma of probe where its text does not"),
    ],
    ids=["serialized", "injected"],
)
def test_wgmma_that_do_not_run_as_written_are_refused(written, instead, consequence):
    """Whatever the number of the advice: these two have C7519 and C7517."""
    probe = next(probe for probe in probes() if probe.name == "wgmma_m64n256k16_f16").program
    assert probe.text.count(written) == 1
    declared = 'extern "C" __device__ int printf(const char *, ...);\n'
    with pytest.raises(CompileError, match=rf"^ptxas would {consequence}: .*\(C75\d\d\)"):
        compile_cubin(replace(probe, text=declared + probe.text.replace(written, instead)), "sm_90a")


@needs_nvrtc
def test_an_architecture_that_nvrtc_does_not_know():
    with pytest.raises(CompileError, match=r"does not compile for sm_999; it does for .*sm_90"):
        compile_cubin(emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_999")


@pytest.mark.parametrize("architecture", ["sm_75", "90", "compute_80", ""])
def test_architectures_that_lack_the_instructions_are_refused(architecture):
    with pytest.raises(CompileError, match="give one from sm_80 on"):
        compile_cubin(emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), architecture)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100", "sm_100a"])
@pytest.mark.parametrize("tma", [False, True], ids=["wgmma", "tma"])
def test_what_only_hopper_has_is_compiled_for_hopper_only(tma, architecture):
    hopper = (s for s in schedules("f16") if s.instruction.worker == "warpgroup" and bool(s.cluster) == tma)
    scheme = scheme_of(matmul(m=512, n=512, k=512, dtype="f16", transpose_b=True), next(hopper))
    with pytest.raises(CompileError) as refused:
        compile_cubin(emit_scheme(scheme), architecture)
    assert str(refused.value) == (
        "matmul_f16_m512_n512_k512_trans_b1 uses instructions that only Hopper has: it needs the architecture sm_90a "
        f"and cannot be compiled for {architecture}"
    )


def test_without_the_bindings_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(CompileError, match=r"cuda-bindings is not installed.*tilewright\[nvrtc\]"):
        compile_cubin(emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_80")


@needs_nvrtc
def test_cubins_are_kept_where_libraries_are(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    cubin = compile_cubin(emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_80")
    (entry,) = entries()
    assert entry.path.suffix == ".cubin" and entry.path.read_bytes().startswith(cubin.code)
    assert cubin.symbol in entry.path.with_suffix(".cu").read_text()
    assert clear() == [entry]


def test_an_nvrtc_that_cannot_be_loaded_names_the_extra(monkeypatch):
    def broken():
        raise RuntimeError('Failure finding "libnvrtc.so.13"')

    bindings = ModuleType("cuda.bindings")
    bindings.nvrtc = SimpleNamespace(nvrtcVersion=broken)
    monkeypatch.setitem(sys.modules, "cuda", ModuleType("cuda"))
    monkeypatch.setitem(sys.modules, "cuda.bindings", bindings)
    with pytest.raises(CompileError, match=r"NVRTC cannot be loaded.*tilewright\[nvrtc\]"):
        compile_cubin(emit_scheme(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_80")
