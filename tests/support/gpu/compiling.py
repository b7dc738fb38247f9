"""Compiling CUDA text in a test, where NVRTC is installed."""

import re

import pytest

from cpu.runtime.compiler.toolchain import CompileError
from gpu.codegen.loops.copier import copier
from gpu.codegen.loops.scheme import emit_scheme
from gpu.limits.multiprocessor import blocks_for_registers
from gpu.model.devices import DEVICES
from gpu.runtime.compiler import nvrtc
from gpu.runtime.compiler.compile import compile_cubin


def nvrtc_missing() -> str:
    try:
        nvrtc.version()
    except CompileError as error:
        return f"needs the extra nvrtc: {error}"
    return ""


needs_nvrtc = pytest.mark.skipif(bool(nvrtc_missing()), reason=nvrtc_missing() or "-")


def check_compiles(scheme, device):
    assert fault(scheme, device) == ""


def fault(scheme, device) -> str:
    """What is wrong with a schedule's machine code; empty where nothing is."""
    source = emit_scheme(scheme)
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
    asked = int(re.search(r"KERNEL\(\d+, (\d+)[,)]", source.text)[1])
    if blocks_for_registers(source.threads, cubin.registers) < asked:
        return f"{scheme.text} on {device} takes {cubin.registers} registers: too many for {asked} blocks"
    return ""


def ptx_of(text: str, architecture: str = "compute_80") -> str:
    """NVRTC's PTX of a CUDA text."""
    from cuda.bindings import nvrtc

    _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernel.cu", 0, [], [])
    options = [f"-arch={architecture}".encode(), b"--std=c++17", b"-default-device"]
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    assert not result
    _, size = nvrtc.nvrtcGetPTXSize(program)
    room = bytearray(size)
    nvrtc.nvrtcGetPTX(program, room)
    nvrtc.nvrtcDestroyProgram(program)
    return room.decode()
