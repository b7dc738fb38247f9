"""Does a device do what the twin does? One small program for each call of the device layer, run on both, bit for bit.

    python -m gpu.calibrate [--json FILE]

Each probe runs in a worker process: one that faults or waits for ever is a result like any other, and costs no other
one.

The twin follows the PTX ISA's text; only a device can confirm it. Each probe hands raw bits to a call, so that a
fragment laid out otherwise, another rounding or another zero fill shows in the output.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cpu.cache import CacheError
from cpu.numbers import to_bits
from cpu.toolchain import ToolchainError
from cpu.worker import CandidateError, Worker, WorkerError
from gpu.bulk_probes import bulk_probes
from gpu.compile import compiler_name
from gpu.instructions import INSTRUCTIONS, Instruction
from gpu.isolation import ADDRESSES, ending_on_a_fault
from gpu.kernel import DeviceError, current_device, driver_version, load_program
from gpu.nvrtc import CompileError
from gpu.probe import FILL, WORDS, Probe, copy_out, each_word, loop
from gpu.twin import Twin

# A probe's visit to a worker, its two compilers included; a wait that never ends is ended then.
PROBE_SECONDS = 20.0


def probes() -> tuple[Probe, ...]:
    """Every call of the layer at least once; the inputs are drawn from a fixed seed."""
    rng = np.random.default_rng(2024)
    words = rng.integers(0, 2**32, WORDS, np.uint64).astype(np.uint32)
    floats = _spread_floats(rng)
    found = [
        Probe("ldmatrix_x4", FILL + _ldmatrix("ldmatrix_x4"), words, words),
        Probe("ldmatrix_x4_trans", FILL + _ldmatrix("ldmatrix_x4_trans"), words, words),
        Probe("from_next_lane", each_word("from_next_lane(a[i])"), words, words),
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
    for size, dtype in ((1, "f32"), (2, "f16"), (2, "bf16")):
        load = f"load_{dtype}({'a' if size == 1 else '(const unsigned short *)a'} + i)"
        found.append(Probe(f"load_{dtype}", loop(WORDS, f"store_f32(c + i, {load});"), _no_f16_nan(floats), floats))
    for store in ("f16", "bf16"):
        single = loop(2 * WORDS, f"store_{store}((unsigned short *)c + i, as_float(a[i / 2]));")
        pair = loop(WORDS, f"store_{store}_pair(c + i, as_float(a[i]), as_float(b[i]));")
        found.append(Probe(f"store_{store}", single, floats, floats))
        found.append(Probe(f"store_{store}_pair", pair, floats, floats[::-1].copy()))
    pair = loop(WORDS // 2, "store_f32_pair(c + 2 * i, as_float(a[i]), as_float(b[i]));")
    found.append(Probe("store_f32_pair", pair, floats, floats[::-1].copy()))
    for name, threads, last in (("take_ticket", 128, _LAST_BLOCK), ("any_lane", 32, _LAST_WARP)):
        body = _sharing(_SHARING, threads, last)
        found.append(Probe(name, body, _integers(rng, "tf32"), words, threads, sharing=_SHARING))
    return (*found, *bulk_probes(words, floats))


_SHARING = 64  # blocks: on every device some run at the same time


# What ends all blocks, of four warps or of one, but the last to come.
_IS_LAST = f"lane == 0 && take_ticket(tickets, {_SHARING}) == {_SHARING - 1}"
_LAST_BLOCK = f"__syncthreads();\nif (!any_thread({_IS_LAST}))\n    return;\n"
_LAST_WARP = f"__syncwarp();\nif (!any_lane({_IS_LAST}))\n    return;\n__syncwarp();\n"


def _sharing(blocks: int, threads: int, last: str) -> str:
    """Each block stores the floats of a, times its number; the last one adds them all up."""
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


def _ldmatrix(call: str) -> str:
    """Sixteen loads, each of the rows at other places."""
    return (
        f"for (unsigned i = 0; i < {WORDS // 128}; ++i) {{\n    unsigned v[4];\n"
        f"    {call}(v, shared + 16 * ((lane * 5 + i * 32) % {WORDS // 4}));\n"
        "    for (unsigned r = 0; r < 4; ++r)\n        store_f32(c + 128 * i + 4 * lane + r, as_float(v[r]));\n}"
    )


def _copy(call: str, words: int) -> str:
    """Every third copy is outside and fills zeros; two groups, of which the first is waited for first."""
    count = WORDS // words
    return (
        f"for (unsigned i = lane; i < {count}; i += 32) {{\n"
        f"    if (i >= {count // 2} && i - 32 < {count // 2})\n        cp_async_commit();\n"
        f"    {call}(shared + {4 * words} * i, a + {words} * i, i % 3 != 0);\n}}\n"
        f"cp_async_commit();\ncp_async_wait(1);\n__syncthreads();\n{copy_out(0, WORDS // 2)}"
        f"cp_async_wait(0);\n__syncthreads();\n{copy_out(WORDS // 2, WORDS)}"
    )


def _gather() -> str:
    """Chunks from every alignment, cut at both ends in every way; a second one fills what the cut leaves of every
    other.
    """
    return (
        f"for (unsigned i = lane; i < {WORDS // 4}; i += 32) {{\n    unsigned chunk[4] = {{0, 0, 0, 0}};\n"
        f"    const unsigned short *from = (const unsigned short *)a + (i * 37 + i / 8) % {2 * WORDS - 8};\n"
        "    const int first = (int)(i % 11) - 1, end = 10 - (int)(i / 11 % 11);\n"
        "    gather_16(chunk, from, first, end);\n    if (i % 2)\n        gather_16(chunk, from, end > 0 ? end : 0, "
        "8);\n"
        f"    store_shared_16(shared + 16 * i, chunk);\n}}\n__syncthreads();\n{copy_out(0, WORDS)}"
    )


def _mma(call: str) -> str:
    """Sixteen products, each lane's registers straight from memory; the sums are chained through the accumulators."""
    return (
        "float d[4] = {0, 0, 0, 0};\n"
        f"for (unsigned i = 0; i < {WORDS // 128}; ++i) {{\n"
        f"    {call}(d, a + 128 * i + 4 * lane, b + 64 * i + 2 * lane);\n"
        "    for (unsigned r = 0; r < 4; ++r)\n        store_f32(c + 128 * i + 4 * lane + r, d[r]);\n}"
    )


def _wgmma(instruction: Instruction, a_across: int, b_across: int) -> str:
    """A depth of 64, 32 of 32-bit elements, each matrix along or across it: a's tile is the words of `a`, b's those of
    `b` over and over, turned by a chunk every 8 KiB.

    Each thread stores sixteen of its sums, others for each of its neighbours.
    """
    columns, every = instruction.columns, instruction.columns // 32
    a, b = (
        f"wgmma_descriptor_across({tile} + 2048 * part, 8192)" if across else f"wgmma_descriptor({tile} + 32 * part)"
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
    """Small whole numbers of a dtype, as words: every sum of them is exact."""
    each = 4 if dtype == "tf32" else 2
    values = rng.integers(-8, 9, WORDS * 4 // each).astype(np.float32)
    return to_bits(values, dtype).view(np.uint32)


def _no_f16_nan(words: np.ndarray) -> np.ndarray:
    """Words whose halves are no NaN as f16: what becomes of a NaN's bits is nobody's business."""
    halves = words.view(np.uint16)
    return np.where(halves & 0x7C00 == 0x7C00, halves & np.uint16(0xBFFF), halves).view(np.uint32)


def _spread_floats(rng: np.random.Generator) -> np.ndarray:
    """Floats of every magnitude, halfway cases of f16, bf16 and tf32 among them; no NaN, whose bits are nobody's."""
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
    return cupy.asnumpy(output)


def differing(*, name: str) -> int:
    """In how many words device and twin differ for the probe of that name: what a worker runs."""
    (probe,) = (probe for probe in probes() if probe.name == name)
    with ending_on_a_fault():
        return int((on_device(probe) != on_twin(probe)).sum())


def calibrate(report: Callable[[dict, str], object] = lambda found, name: None) -> dict:
    """For each probe how many words differ between device and twin, or why it failed, and what they were taken on.

    `report` is told of all that is found so far, and of the probe, whenever one is done: who ends this early keeps
    that much. Raises DeviceError, CompileError without NVRTC, WorkerError, ToolchainError and CacheError where this
    machine is at fault.
    """
    device = current_device()
    versions = {"nvrtc": compiler_name(), "driver": driver_version()}
    about = {"device": device.name, "architecture": device.architecture, **versions}
    found = {**about, "words_differ": {}, "failed": {}}
    with Worker(memory_bytes=ADDRESSES, packages=("gpu",)) as worker:
        for probe in probes():
            if probe.program.uses_wgmma and not device.wgmma_flops:
                continue
            try:
                words = worker.call("gpu.calibrate:differing", timeout=PROBE_SECONDS, name=probe.name)
                found["words_differ"][probe.name] = words
            except CandidateError as error:
                found["failed"][probe.name] = error.reason
            report(found, probe.name)
    return found


def main(arguments: list[str] | None = None) -> int:
    """0 if device and twin agree in everything, 1 if they do not, 2 if nothing could be compared."""
    parser = argparse.ArgumentParser(
        prog="python -m gpu.calibrate", description="Compares this GPU with the CPU twin, call by call."
    )
    parser.add_argument("--json", metavar="FILE", help="write the result there too, after every probe")
    options = parser.parse_args(arguments)

    def report(found: dict, name: str) -> None:
        if options.json:
            Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        print(_line(found, name), flush=True)

    try:
        if options.json:
            Path(options.json).parent.mkdir(parents=True, exist_ok=True)
        found = calibrate(report)
    except (DeviceError, CompileError, ToolchainError, CacheError, WorkerError, OSError) as error:
        print(f"gpu.calibrate: {error}", file=sys.stderr)
        return 2
    wrong = sum(map(bool, found["words_differ"].values())) + len(found["failed"])
    print(f"{len(found['words_differ']) + len(found['failed'])} probes, {wrong} not as the twin")
    return int(wrong > 0)


def _line(found: dict, name: str) -> str:
    if name in found["failed"]:
        return f"{name:<40} failed: {found['failed'][name]}"
    words = found["words_differ"][name]
    return f"{name:<40} {'as the twin' if not words else f'differs from the twin in {words} of {WORDS} words'}"


if __name__ == "__main__":
    sys.exit(main())
