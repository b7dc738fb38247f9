"""Emitted kernels through NVRTC, which needs no GPU: machine code without spills; and what is said where
it cannot be.
"""

import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from cpu.cache import clear, entries, keep_limit
from cpu.host import host
from gpu import nvrtc
from gpu.calibrate import probes
from gpu.compile import compile_cubin, cuda_text
from gpu.devices import DEVICES
from gpu.emit import copier, emit
from gpu.nvrtc import CompileError
from gpu.pipeline import REGISTERS
from gpu.reading import pipeline_of
from gpu.space import candidates, limits, schedules, scheme_of
from tests.gpu_cases import product_scheme
from tiling.operators import conv2d, matmul


def nvrtc_missing() -> str:
    try:
        nvrtc.version()
    except CompileError as error:
        return f"needs the extra nvrtc: {error}"
    return ""


needs_nvrtc = pytest.mark.skipif(bool(nvrtc_missing()), reason=nvrtc_missing() or "-")
# Large enough for every schedule, of an alignment that all pipelines take.
LARGE = {
    (operator, dtype): problem
    for dtype in ("f16", "bf16", "tf32")
    for operator, problem in {
        "matmul": matmul(m=4096, n=4096, k=4096, dtype=dtype, transpose_b=True),
        "conv2d": conv2d(n=16, c=64, h=56, w=56, k=512, r=3, s=3, padding=1, dtype=dtype, filters="krsc"),
    }.items()
}
OTHERS = [
    matmul(m=4096, n=4096, k=4096, dtype="bf16"),
    matmul(m=1001, n=999, k=2039, dtype="f16", transpose_a=True),
    matmul(m=512, n=512, k=512, dtype="tf32", transpose_b=True),
    conv2d(c=3, h=224, w=224, k=64, r=7, s=7, stride=2, padding=3, dtype="bf16", filters="krsc"),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", LARGE, ids="-".join)
def test_every_schedule_is_a_candidate_unless_shared_memory_is_too_small(kind, device):
    problem = LARGE[kind]
    found = set(candidates(problem, DEVICES[device]))
    for schedule in schedules(problem.dtype):
        if schedule.instruction.worker != "warpgroup" or DEVICES[device].wgmma_flops:
            scheme = scheme_of(problem, schedule)
            assert scheme in found or "bytes of shared memory" in limits(scheme, DEVICES[device]), scheme.text


@pytest.fixture
def lasting_cache(request, monkeypatch, tmp_path):
    """A compile cache of this test's own that outlives the run, as far as pytest keeps anything."""
    kept = getattr(request.config, "cache", None)
    folder = kept.mkdir(f"cubins-{request.node.callspec.id}") if kept else tmp_path
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(folder))
    keep_limit(32 << 20)  # two generations of some 450 kernels


@needs_nvrtc
@pytest.mark.parametrize("kind", LARGE, ids="-".join)
def test_every_schedule_compiles_without_spills(kind, lasting_cache):
    """For each device's architecture: some two minutes of two cores, and seconds where no kernel's text has changed.

    Devices of one architecture share most kernels, and each is compiled once.
    """
    kernels = {}
    for device in DEVICES.values():
        for scheme in candidates(LARGE[kind], device):
            kernels[device.architecture, cuda_text(emit(scheme))] = scheme, device.name
    with ThreadPoolExecutor(host().cores) as pool:
        assert list(filter(None, pool.map(lambda kernel: fault(*kernel), kernels.values()))) == []


@needs_nvrtc
@pytest.mark.parametrize("device", ["A100", "H200"])
@pytest.mark.parametrize("problem", OTHERS, ids=str)
def test_schedules_of_other_problems_compile_without_spills(problem, device):
    """Every 29th of the space, a number that meets all tiles, steps and depths; the soak test takes all of them."""
    for scheme in candidates(problem, DEVICES[device])[::29]:
        check_compiles(scheme, device)


def check_compiles(scheme, device):
    assert fault(scheme, device) == ""


def fault(scheme, device) -> str:
    """What is wrong with a schedule's machine code; empty where nothing is."""
    source, pipeline = emit(scheme), pipeline_of(scheme)
    try:
        cubin = compile_cubin(source, DEVICES[device].architecture)
    except CompileError as error:
        return f"{scheme.text} on {device}: {error}"
    if source.copied and compile_cubin(copier(source), DEVICES[device].architecture).spilled:
        return f"{scheme.text} on {device}: what copies its inputs first spills"
    if cubin.symbol != source.symbol or cubin.code[:4] != b"\x7fELF":
        return f"{scheme.text} on {device} is no machine code"
    if cubin.spilled:
        return f"{scheme.text} on {device} spills {cubin.spilled} bytes"
    if cubin.registers * source.threads * pipeline.blocks_at_once > REGISTERS:
        blocks = f"{pipeline.blocks_at_once} blocks"
        return f"{scheme.text} on {device} takes {cubin.registers} registers: too many for {blocks}"
    # What some warpgroups take the other one gives: with fewer at the launch they would wait for ever.
    if pipeline.consumer_registers and cubin.registers != pipeline.registers:
        moves = f"moves as if with {pipeline.registers}"
        return f"{scheme.text} on {device} is launched with {cubin.registers} registers, and {moves}"
    return ""


@needs_nvrtc
@pytest.mark.parametrize("device", ["A100", "H200"])
def test_a_schedule_that_spills_is_at_fault(device):
    """256 sums are more than the 255 registers of a thread."""
    scheme = product_scheme(matmul(m=512, n=512, k=512, dtype="f16"), unrolled=(4, 16, 1))
    assert "spills" in fault(scheme, device)


@needs_nvrtc
@pytest.mark.soak
def test_every_schedule_of_other_problems_compiles_without_spills(soak_seconds, soak_seed):
    """In a random order, until the time is over; all of them take about three minutes."""
    everything = [
        (scheme, name) for p in OTHERS for name in ("A100", "H200") for scheme in candidates(p, DEVICES[name])
    ]
    random.Random(soak_seed).shuffle(everything)
    end, done = time.monotonic() + soak_seconds, 0
    for scheme, device in everything:
        check_compiles(scheme, device)
        done += 1
        if time.monotonic() > end:
            break
    print(f"{done} of {len(everything)} kernels compiled without spills")


@needs_nvrtc
def test_a_kernel_is_compiled_once(monkeypatch):
    source = emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16")))
    first = compile_cubin(source, "sm_80")
    monkeypatch.setattr("gpu.nvrtc.compiled", None)
    assert compile_cubin(source, "sm_80") == first


@needs_nvrtc
def test_text_that_nvrtc_refuses_is_quoted():
    source = emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16")))
    object.__setattr__(source, "text", source.text.replace("cp_async_commit();", "cp_async_comit();"))
    with pytest.raises(CompileError, match="cp_async_comit"):
        compile_cubin(source, "sm_80")


@needs_nvrtc
def test_registers_that_cannot_be_moved_are_refused():
    """How many there are at the launch is known from the launch bounds only."""
    probe = next(probe for probe in probes() if probe.name == "registers_take").program
    unbounded = replace(probe, text=probe.text.replace("KERNEL(384, 1)", 'extern "C" __global__ void'))
    with pytest.raises(
        CompileError, match="would move no registers between the warpgroups of probe: .*'setmaxnreg' ignored"
    ):
        compile_cubin(unbounded, "sm_90a")


@needs_nvrtc
def test_an_architecture_that_nvrtc_does_not_know():
    with pytest.raises(CompileError, match="does not compile for sm_999; it does for .*sm_90"):
        compile_cubin(emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_999")


@pytest.mark.parametrize("architecture", ["sm_75", "90", "compute_80", ""])
def test_architectures_that_lack_the_instructions_are_refused(architecture):
    with pytest.raises(CompileError, match="give one from sm_80 on"):
        compile_cubin(emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), architecture)


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100", "sm_100a"])
@pytest.mark.parametrize("bulk", [False, True], ids=["wgmma", "bulk"])
def test_what_only_hopper_has_is_compiled_for_hopper_only(bulk, architecture):
    hopper = (s for s in schedules("f16") if s.instruction.worker == "warpgroup" and bool(s.cluster) == bulk)
    scheme = scheme_of(matmul(m=512, n=512, k=512, dtype="f16", transpose_b=True), next(hopper))
    with pytest.raises(CompileError) as refused:
        compile_cubin(emit(scheme), architecture)
    assert str(refused.value) == (
        "matmul_f16_m512_n512_k512_trans_b1 uses instructions that only Hopper has: it needs the architecture sm_90a "
        f"and cannot be compiled for {architecture}"
    )


def test_without_the_bindings_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(CompileError, match=r"cuda-bindings is not installed.*tilewright\[nvrtc\]"):
        compile_cubin(emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_80")


@needs_nvrtc
def test_cubins_are_kept_where_libraries_are(data_folder):
    cubin = compile_cubin(emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_80")
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
        compile_cubin(emit(product_scheme(matmul(m=64, n=64, k=64, dtype="f16"))), "sm_80")
