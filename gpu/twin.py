"""A kernel's text run on a CPU, one fibre for each CUDA thread: `device/twin.h` says what it checks."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np

from cpu.library import load
from cpu.numbers import from_bits, to_bits
from gpu.aligned import copied_bytes, slices
from gpu.emit import copier
from gpu.program import Program, Source
from gpu.tensor_map import TensorMap
from tiling.problem import DTYPE_BYTES

# Of the devices that a twin stands for, by the seed: most have so few that a persistent kernel's blocks take several
# tiles, one so many that different blocks have the parts of a tile, whose sums a ticket is to publish.
_MULTIPROCESSORS = (1, 1, 4, 2)


class TwinError(RuntimeError):
    """What the twin found wrong with a kernel: which thread, what it did, and what is missing."""


class _Report(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 512)] + [
        (name, ctypes.c_long) for name in ("conflicts", "switches", "blocks")
    ]


class _Map(ctypes.Structure):
    """`tensor_map` of device/twin_bulk.h."""

    _fields_ = [
        ("base", ctypes.c_void_p),
        ("dims", ctypes.c_int64 * 5),
        ("strides", ctypes.c_int64 * 5),
        ("box", ctypes.c_int32 * 5),
        *((name, ctypes.c_int32 * 2) for name in ("lower", "upper", "steps")),
        *((name, ctypes.c_int32) for name in ("rank", "element_bytes", "swizzled", "pixels", "rounded")),
    ]

    @classmethod
    def of(cls, tensor: TensorMap, pointer: int) -> "_Map":
        pixels = tensor.pixels
        windows = (pixels.lower, pixels.upper, pixels.steps) if pixels else ((), (), ())
        counts = (len(tensor.dims), DTYPE_BYTES[tensor.dtype], 1, pixels.count if pixels else 0, tensor.dtype == "tf32")
        return cls(pointer, tensor.dims, (0, *tensor.strides), tensor.box, *windows, *counts)


@dataclass(frozen=True)
class Run:
    """The output of one run, and the extra cycles that bank conflicts cost."""

    output: np.ndarray
    conflicts: int


@dataclass(frozen=True)
class Twin:
    """A program compiled for the CPU. Raises ToolchainError and CacheError as `cpu.cache` does."""

    program: Program

    def launch(self, *arrays: np.ndarray, seed: int = 0) -> Run:
        """One launch on arrays of bits, the last of them the output. The order of the threads, the delays of copies and
        how many multiprocessors there are follow from `seed`.

        Raises TwinError with what went wrong.
        """
        placed = [_aligned(array) for array in self._with_copies(list(arrays), seed)]
        pointers = (ctypes.c_void_p * len(placed))(*(array.ctypes.data for array in placed))
        maps = (_Map * max(1, len(self.program.maps)))(
            *(_Map.of(tensor, placed[tensor.array].ctypes.data) for tensor in self.program.maps)
        )
        sizes = (ctypes.c_long * len(placed))(*(array.nbytes for array in placed))
        blocks = self.program.blocks_on(_MULTIPROCESSORS[seed % len(_MULTIPROCESSORS)])
        report = _Report()
        if self._entry(blocks, pointers, sizes, maps, ctypes.c_uint64(seed), ctypes.byref(report)):
            raise TwinError(report.message.decode())
        return Run(placed[-1], report.conflicts)

    def _with_copies(self, arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
        """The arrays that the program reads: its copies in the place of those that are to be copied first."""
        copies = self.program.copied
        if copies:
            room = np.zeros(copied_bytes(copies), np.uint8)
            made = Twin(copier(self.program)).launch(*(arrays[copy.array] for copy in copies), room, seed=seed).output
            for copy, place in zip(copies, slices(copies)):
                arrays[copy.array] = made[place]
        return arrays

    @cached_property
    def _entry(self):
        # No contraction: sums of whole numbers are exact either way, and those of reals are the same everywhere.
        return load(twin_text(self.program), ("-O1", "-ffp-contract=off"), ctypes.CDLL).tilewright_twin


def run_on_twin(source: Source, *inputs: np.ndarray, seed: int = 0) -> Run:
    """An emitted kernel on float inputs, rounded to the problem's dtype; the output as float32.

    Raises TwinError with what is wrong with the kernel, ValueError for an array of another shape.
    """
    problem = source.scheme.problem
    for array, tensor in zip(inputs, (problem.broadcast, problem.vector, *problem.epilogue_arrays), strict=True):
        if array.shape != tensor.shape:
            raise ValueError(f"{tensor.called} has shape {array.shape}, but this kernel takes {tensor.shape}")
    bits = [to_bits(array, problem.dtype if i < 2 else problem.output_dtype) for i, array in enumerate(inputs)]
    output = to_bits(np.zeros(problem.output.shape, np.float32), problem.output_dtype)
    run = Twin(source).launch(*bits, output, seed=seed)
    return Run(from_bits(run.output, problem.output_dtype), run.conflicts)


def twin_text(program: Program) -> str:
    """The C program of a kernel's twin: the layer, the kernel as it is, and an entry that launches it."""
    parts = ["twin.h", *["twin_wgmma.h"] * program.uses_wgmma, *["twin_bulk.h"] * program.uses_bulk]
    parts += ["twin_split.h"] * program.shares_sums
    layer = "\n".join(files("gpu").joinpath("device", part).read_text(encoding="utf-8") for part in parts)
    parameters = [f"(void *)arguments[{i}]" for i in range(program.arrays)]
    for i, tensor in enumerate(program.maps):
        parameters[tensor.array] = f"((tensor_map *)tensor_maps)[{i}]"
    begin, end = "", ""
    if program.shares_sums:
        parameters += ["twin_split.tickets", "twin_split.partial_sums"]
        begin = (
            f"    if (!twin_split_begin({program.tickets}, {program.partial_sums}, {program.grid}))\n        abort();\n"
        )
        end = "    twin_split_end(report);\n"
    call = f"{program.symbol}({', '.join(parameters)})"
    return f"""{layer}
{program.text}
static char **arguments;
static void *tensor_maps;

static void launch(void) {{ {call}; }}

int tilewright_twin(unsigned blocks, char **arrays, const long *bytes, void *maps, uint64_t seed,
                    struct twin_report *report)
{{
    arguments = arrays;
    tensor_maps = maps;
{begin}    twin_run(launch, blocks, {program.cluster}, {program.threads}, {program.shared_bytes},
             arrays, bytes, {program.arrays}, seed, report);
{end}    return *report->message != 0;
}}
"""


def _aligned(array: np.ndarray) -> np.ndarray:
    """A copy that begins at a multiple of 256 bytes, as memory of a device does."""
    room = np.empty(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    placed = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed
