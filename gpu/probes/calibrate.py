"""Compares device and twin, bit for bit, by one small program for each call of the device layer.

    python -m gpu.calibrate [--json FILE]

The twin follows the PTX ISA's text, and only a device can confirm it. A probe gives raw bits to a call, so that another
fragment layout, rounding or zero fill shows. It runs in a worker process, so that a fault or a hang is a result too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.numbers import to_bits
from cpu.runtime.options import Parser
from cpu.runtime.processes.worker import CandidateError, Worker, WorkerError
from gpu.codegen.pipeline.instructions import INSTRUCTIONS, MatrixInstruction
from gpu.probes.probe import FILL, WORDS, Probe, copy_out, each_word, loop
from gpu.probes.tma_probes import tma_probes
from gpu.runtime.compiler.compile import compile_afresh, compiler_name
from gpu.runtime.machine.device import DeviceError, current_device, driver_version
from gpu.runtime.machine.isolation import ADDRESSES, ending_on_a_fault
from gpu.runtime.machine.loaded import load_program
from gpu.twin.launch import Twin

# The time limit of a probe in a worker, including both compilers. It ends a probe that hangs.
PROBE_SECONDS = 20.0
Found = dict[str, Any]  # what is known so far, as JSON
# The time limit for a worker to import CuPy, open the device and run both compilers once.
READY_SECONDS = 120.0


def probes() -> tuple[Probe, ...]:
    """Probes that make every call of the device layer at least once. Inputs are drawn from a fixed seed."""
    rng = np.random.default_rng(2024)
    words = rng.integers(0, 2**32, WORDS, np.uint64).astype(np.uint32)
    floats = _spread_floats(rng)
    found = [
        Probe("ldmatrix_x4", FILL + _ldmatrix("ldmatrix_x4"), words, words),
        Probe("ldmatrix_x4_trans", FILL + _ldmatrix("ldmatrix_x4_trans"), words, words),
        Probe("load_shared", FILL + each_word("load_shared(shared + 4 * ((i * 37 + lane) % 2048))"), words, words),
        Probe("round_tf32", each_word("round_tf32(a[i])"), floats, floats),
    ]
    for size, words_each in ((16, 4), (8, 2), (4, 1)):
        found.append(Probe(f"cp_async_{size}", _copy(f"cp_async_{size}", words_each), words, words))
    found.append(Probe("gather_16", _gather(), words, words))
    found.append(Probe("store_16", loop(WORDS // 4, "store_16(c + 4 * i, a + 4 * i);"), words, words))
    for instruction in (i for i in INSTRUCTIONS if i.worker == "warp"):
        first, second = (_integers(rng, instruction.dtype) for _ in "ab")
        found.append(Probe(instruction.call, _mma(instruction.call), first, second))
    for instruction in (i for i in INSTRUCTIONS if i.worker == "warpgroup"):
        first, second = (_integers(rng, instruction.dtype) for _ in "ab")
        for a_across, b_across in ((0, 0), (0, 1), (1, 0), (1, 1))[: 4 if instruction.reads_across else 1]:
            name = instruction.call + f"_across_{a_across}{b_across}" * (a_across | b_across)
            body = _wgmma(instruction, a_across, b_across)
            found.append(Probe(name, body, first, second, 128, 128 * (64 + instruction.columns)))
    found.append(Probe("move_registers", _move_registers(), words, words, 384))
    for size, dtype in ((1, "f32"), (2, "f16"), (2, "bf16")):
        load = f"load_{dtype}({'a' if size == 1 else '(const unsigned short *)a'} + i)"
        found.append(Probe(f"load_{dtype}", loop(WORDS, f"store_f32(c + i, {load});"), _no_f16_nan(floats), floats))
    for name, threads, barrier in (
        ("take_semaphore", 128, "__syncthreads();"),
        ("take_semaphore_of_a_warp", 32, "__syncwarp();"),
    ):
        body = _sharing(_SHARING, threads, _last(barrier))
        found.append(Probe(name, body, _integers(rng, "tf32"), words, threads, sharing=_SHARING))
    return (*found, *tma_probes(words, floats))


_SHARING = 64  # blocks: on every device some of them run at the same time


def _last(barrier: str) -> str:
    """Ends all blocks but the last one that takes a semaphore. barrier: has the threads of a block wait."""
    return (
        f"{barrier}\nif (lane == 0) {{\n    unsigned before[4] = {{take_semaphore(semaphores, {_SHARING})}};\n"
        f"    store_shared_16(shared, before);\n}}\n{barrier}\n"
        f"if (load_shared(shared) != {_SHARING - 1})\n    return;\n"
    )


def _sharing(blocks: int, threads: int, last: str) -> str:
    """Each block stores the floats of a times its number; the last block adds up the sums of all."""
    return (
        f"const unsigned block = blockIdx.x;\nfor (unsigned i = 4 * lane; i < {WORDS}; i += {4 * threads}) {{\n"
        "    float sums[4];\n    for (unsigned e = 0; e < 4; ++e)\n        sums[e] = as_float(a[i + e]) * "
        "(float)block;\n"
        f"    store_sums(partial_sums + block * {WORDS} + i, sums);\n}}\n{last}"
        f"for (unsigned i = 4 * lane; i < {WORDS}; i += {4 * threads}) {{\n    float sums[4] = {{0, 0, 0, 0}};\n"
        f"    for (unsigned other = 0; other < {blocks}; ++other)\n"
        f"        add_sums(sums, partial_sums + other * {WORDS} + i);\n"
        "    for (unsigned e = 0; e < 4; ++e)\n        store_f32(c + i + e, sums[e]);\n}"
    )


def _move_registers() -> str:
    """One warpgroup gives registers, two take them and copy the words."""
    return (
        "if (lane >= 256) {\n    give_registers(168, 40);\n} else {\n    take_registers(168, 232);\n"
        f"    for (unsigned i = lane; i < {WORDS}; i += 256)\n        store_f32(c + i, as_float(a[i]));\n}}"
    )


def _ldmatrix(call: str) -> str:
    """Sixteen loads, each of the rows at other places."""
    return (
        f"for (unsigned i = 0; i < {WORDS // 128}; ++i) {{\n    unsigned v[4];\n"
        f"    {call}(v, shared + 16 * ((lane * 5 + i * 32) % {WORDS // 4}));\n"
        "    for (unsigned r = 0; r < 4; ++r)\n        store_f32(c + 128 * i + 4 * lane + r, as_float(v[r]));\n}"
    )


def _copy(call: str, words: int) -> str:
    """Every third copy is outside and fills zeros; the first of two groups is waited for first."""
    count = WORDS // words
    return (
        f"for (unsigned i = lane; i < {count}; i += 32) {{\n"
        f"    if (i >= {count // 2} && i - 32 < {count // 2})\n        cp_async_commit();\n"
        f"    {call}(shared + {4 * words} * i, a + {words} * i, i % 3 != 0);\n}}\n"
        f"cp_async_commit();\ncp_async_wait(1);\n__syncthreads();\n{copy_out(0, WORDS // 2)}"
        f"cp_async_wait(0);\n__syncthreads();\n{copy_out(WORDS // 2, WORDS)}"
    )


def _gather() -> str:
    """Loads chunks at every alignment, cut at both ends in every way. Every second chunk also has its rest gathered."""
    return (
        f"for (unsigned i = lane; i < {WORDS // 4}; i += 32) {{\n    unsigned chunk[4] = {{0, 0, 0, 0}};\n"
        f"    const unsigned short *from = (const unsigned short *)a + (i * 37 + i / 8) % {2 * WORDS - 8};\n"
        "    const int first = (int)(i % 11) - 1, end = 10 - (int)(i / 11 % 11);\n"
        "    gather_16(chunk, from, first, end);\n    if (i % 2)\n        gather_16(chunk, from, end > 0 ? end : 0, "
        "8);\n"
        f"    store_shared_16(shared + 16 * i, chunk);\n}}\n__syncthreads();\n{copy_out(0, WORDS)}"
    )


def _mma(call: str) -> str:
    """Sixteen products, whose operands lanes load from memory. Each adds to the sums of the one before."""
    return (
        "float d[4] = {0, 0, 0, 0};\n"
        f"for (unsigned i = 0; i < {WORDS // 128}; ++i) {{\n"
        f"    {call}(d, a + 128 * i + 4 * lane, b + 64 * i + 2 * lane);\n"
        "    for (unsigned r = 0; r < 4; ++r)\n        store_f32(c + 128 * i + 4 * lane + r, d[r]);\n}"
    )


def _wgmma(instruction: MatrixInstruction, a_across: int, b_across: int) -> str:
    """A product with a depth of 128 bytes, in which each matrix lies along the depth or across it.

    a's tile is the words of `a`. b's tile repeats the words of `b`, shifted by a chunk every 8 KiB. Each thread stores
    sixteen of its sums; neighbouring threads store different ones.
    """
    columns, every = instruction.columns, instruction.columns // 32
    a, b = (
        f"wgmma_descriptor_across({tile}, 8192, 2048 * part)" if across else f"wgmma_descriptor({tile}, 32 * part)"
        for tile, across in (("shared", a_across), ("shared + 8192", b_across))
    )
    orientation = f"_across(d, {a}, {b}, {a_across}, {b_across})" if a_across or b_across else f"(d, {a}, {b})"
    return (
        f"float d[{columns // 2}];\nfor (unsigned r = 0; r < {columns // 2}; ++r) "
        f"{{\n    d[r] = 0;\n    pin(d + r);\n}}\n"
        f"for (unsigned i = lane; i < 512; i += 128)\n    cp_async_16(shared + 16 * i, a + 4 * i, 1);\n"
        f"for (unsigned i = lane; i < {8 * columns}; i += 128)\n"
        "    cp_async_16(shared + 8192 + 16 * i, b + 4 * ((i + i / 512) % 512), 1);\n"
        "cp_async_commit();\ncp_async_wait(0);\nfence_proxy_async();\n__syncthreads();\nwgmma_fence();\n"
        "#pragma unroll\nfor (unsigned part = 0; part < 4; ++part)\n"
        f"    {instruction.call}{orientation};\n"
        f"wgmma_commit();\nwgmma_wait(0);\n#pragma unroll\nfor (unsigned r = 0; r < {columns // 2}; ++r) "
        f"{{\n    pin(d + r);\n"
        f"    if (r % {every} == lane % {every})\n        store_f32(c + 16 * lane + r / {every}, d[r]);\n}}"
    )


def _integers(rng: np.random.Generator, dtype: str) -> np.ndarray:
    """Words that hold small integers of a dtype, so that all their sums are exact."""
    each = 4 if dtype == "tf32" else 2
    values = rng.integers(-8, 9, WORDS * 4 // each).astype(np.float32)
    return to_bits(values, dtype).view(np.uint32)


def _no_f16_nan(words: np.ndarray) -> np.ndarray:
    """Words whose halves are no NaN as f16, since the bits of a converted NaN are not specified."""
    halves = words.view(np.uint16)
    return np.where(halves & 0x7C00 == 0x7C00, halves & np.uint16(0xBFFF), halves).view(np.uint32)


def _spread_floats(rng: np.random.Generator) -> np.ndarray:
    """Floats of every magnitude, with halfway cases of f16, bf16, tf32, but no NaN, whose bits are not specified."""
    bits = rng.integers(0, 2**32, WORDS, np.uint64).astype(np.uint32)
    for start, low in ((0, 12), (512, 13), (1024, 16)):
        bits[start : start + 512] = bits[start : start + 512] >> np.uint32(low) << np.uint32(low)
    # Half of them near 1, where f16 has neither overflow nor subnormals.
    bits[::2] = bits[::2] & np.uint32(0x83FFFFFF) | np.uint32(0x3C000000)
    return np.where(bits & np.uint32(0x7F800000) == 0x7F800000, bits & np.uint32(0xBFFFFFFF), bits)


def on_twin(probe: Probe) -> np.ndarray:
    """The words that the twin gives. Raises TwinError."""
    return Twin(probe.program).launch(probe.first, probe.second, np.zeros(WORDS, np.uint32)).output


def on_device(probe: Probe) -> np.ndarray:
    """The words that this process's GPU gives. Raises DeviceError, CompileError."""
    import cupy

    output = cupy.zeros(WORDS, np.uint32)
    load_program(probe.program).launch(cupy.asarray(probe.first), cupy.asarray(probe.second), output)
    words: np.ndarray = cupy.asnumpy(output)
    return words


def ready() -> None:
    """Opens the device and runs both compilers once, so that no probe's time includes that."""
    with ending_on_a_fault():
        _rehearse()


@lru_cache(maxsize=1)
def _rehearse() -> None:
    words = np.arange(WORDS, dtype=np.uint32)
    nothing = Probe("nothing", each_word("a[i]"), words, words)
    compile_afresh(nothing.program, current_device().architecture)
    on_device(nothing)
    on_twin(nothing)


def differing(*, name: str) -> int:
    """In how many words device and twin differ for the probe of that name. A worker calls this."""
    (probe,) = (probe for probe in probes() if probe.name == name)
    with ending_on_a_fault():
        return int((on_device(probe) != on_twin(probe)).sum())


def calibrate(report: Callable[[Found, str], object] = lambda found, name: None) -> Found:
    """For each probe, how many words differ between device and twin, or why it failed; also device and versions.

    After each probe `report` gets everything found so far and the probe's name, so that an early end loses nothing.
    Raises DeviceError, CompileError without NVRTC, and WorkerError, ToolchainError or CacheError where this machine is
    at fault.
    """
    device = current_device()
    versions = {"nvrtc": compiler_name(), "driver": driver_version()}
    about = {"device": device.name, "architecture": device.architecture, **versions}
    found: Found = {**about, "words_differ": {}, "failed": {}}
    with Worker(memory_bytes=ADDRESSES, packages=("gpu",)) as worker:
        for probe in probes():
            if probe.program.uses_wgmma and not device.wgmma_flops:
                continue
            _make_ready(worker)
            try:
                words = worker.call("gpu.probes.calibrate:differing", timeout=PROBE_SECONDS, name=probe.name)
                found["words_differ"][probe.name] = words
            except CandidateError as error:
                found["failed"][probe.name] = error.reason
            report(found, probe.name)
    return found


def _make_ready(worker: Worker) -> None:
    """Prepares the worker, a new one after a fault, before a probe's time begins."""
    try:
        worker.call("gpu.probes.calibrate:ready", timeout=READY_SECONDS)
    except CandidateError as error:
        raise WorkerError(f"the device cannot be used: {error.reason}") from error


def main(arguments: list[str] | None = None) -> int:
    """Returns 0 if device and twin agree, 1 if they do not or if nothing could be compared."""
    parser = Parser(
        prog="python -m gpu.calibrate",
        description="Compares this GPU with the CPU twin, call by call.",
        epilog="It needs a GPU of NVIDIA and CuPy: pip install 'tilewright[gpu]'.",
    )
    parser.add_argument("--json", metavar="FILE", help="write the result there too, after every probe")
    options = parser.parse_args(arguments)

    def report(found: Found, name: str) -> None:
        if options.json:
            Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        print(_line(found, name), flush=True)

    try:
        if options.json:
            Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        found = calibrate(report)
    except (DeviceError, ToolchainError, CacheError, WorkerError, OSError) as error:
        print(f"gpu.calibrate: {error}", file=sys.stderr)
        return 1
    wrong = sum(map(bool, found["words_differ"].values())) + len(found["failed"])
    print(f"{len(found['words_differ']) + len(found['failed'])} probes, {wrong} not as the twin")
    return int(wrong > 0)


def _line(found: Found, name: str) -> str:
    if name in found["failed"]:
        return f"{name:<40} failed: {found['failed'][name]}"
    words = found["words_differ"][name]
    return f"{name:<40} {'as the twin' if not words else f'differs from the twin in {words} of {WORDS} words'}"
