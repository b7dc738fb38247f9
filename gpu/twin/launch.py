"""Runs a kernel's text on a CPU, with one fibre for each CUDA thread. `twin.h` says what the twin checks."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cpu.runtime.numbers import from_bits, to_bits
from gpu.codegen.copies.aligned import copied_bytes, slices
from gpu.codegen.copies.tensor_map import TensorMap
from gpu.codegen.loops.copier import copier
from gpu.codegen.program import CudaProgram, CudaSource
from gpu.twin.layer import RUNNING, declared, load_behind, text_of
from tiling.dtypes.products import DTYPE_BYTES

# Multiprocessors of the device that the twin emulates, chosen by the seed. Most of these numbers are so small that the
# blocks of a persistent kernel take several tiles. One is so large that different blocks have the split-K parts of a
# tile, and a split-K semaphore has to publish their sums.
_MULTIPROCESSORS = (1, 1, 4, 2)


class TwinError(RuntimeError):
    """What is wrong with a kernel: which thread did what, and what is missing."""


class TwinReport(ctypes.Structure):
    _fields_ = [("message", ctypes.c_char * 512)] + [
        (name, ctypes.c_long) for name in ("conflicts", "switches", "blocks", "loads")
    ]


class _Map(ctypes.Structure):
    """The struct `tensor_map` of twin_tma.h."""

    _fields_ = [
        ("base", ctypes.c_void_p),
        ("dims", ctypes.c_int64 * 5),
        ("strides", ctypes.c_int64 * 5),
        ("box", ctypes.c_int32 * 5),
        *((name, ctypes.c_int32 * 2) for name in ("lower", "upper", "steps")),
        *((name, ctypes.c_int32) for name in ("rank", "element_bytes", "swizzled", "pixels", "rounded")),
    ]

    @classmethod
    def of(cls, tensor: TensorMap, pointer: int) -> _Map:
        pixels = tensor.pixels
        windows = (pixels.lower, pixels.upper, pixels.steps) if pixels else ((), (), ())
        counts = (len(tensor.dims), DTYPE_BYTES[tensor.dtype], 1, pixels.count if pixels else 0, tensor.dtype == "tf32")
        return cls(pointer, tensor.dims, (0, *tensor.strides), tensor.box, *windows, *counts)


@dataclass(frozen=True)
class TwinRun:
    """The result of one run.

    `conflicts` are the extra cycles that bank conflicts cost. `loads` counts loads of an element, or a pair, of global
    memory.
    """

    output: np.ndarray
    conflicts: int
    loads: int = 0


@dataclass(frozen=True)
class Twin:
    """A program compiled for the CPU. Raises ToolchainError and CacheError as `cpu.runtime.compiler.cache` does."""

    program: CudaProgram

    def __reduce__(self) -> tuple[type[Twin], tuple[CudaProgram]]:
        return Twin, (self.program,)  # what is loaded stays in its process

    def launch(self, *arrays: np.ndarray, seed: int = 0) -> TwinRun:
        """Launches once on arrays of bits. The last one is the output. Raises TwinError with what is wrong.

        The order of threads, the delays of copies and the number of multiprocessors follow from `seed`.
        """
        placed = [aligned(array) for array in self._with_copies(list(arrays), seed)]
        pointers = (ctypes.c_void_p * len(placed))(*(array.ctypes.data for array in placed))
        maps = (_Map * max(1, len(self.program.maps)))(
            *(_Map.of(tensor, placed[tensor.array].ctypes.data) for tensor in self.program.maps)
        )
        sizes = (ctypes.c_long * len(placed))(*(array.nbytes for array in placed))
        blocks = self.program.blocks_on(_MULTIPROCESSORS[seed % len(_MULTIPROCESSORS)])
        report = TwinReport()
        entry = self._entry
        with RUNNING:
            failed = entry(blocks, pointers, sizes, maps, ctypes.c_uint64(seed), ctypes.byref(report))
        if failed:
            raise TwinError(report.message.decode())
        return TwinRun(placed[-1], report.conflicts, report.loads)

    def _with_copies(self, arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
        """The arrays that the program reads. An array that is copied first is replaced by its copy."""
        copies = self.program.copied
        if copies:
            room = np.zeros(copied_bytes(copies), np.uint8)
            made = Twin(copier(self.program)).launch(*(arrays[copy.array] for copy in copies), room, seed=seed).output
            for copy, place in zip(copies, slices(copies)):
                arrays[copy.array] = made[place]
        return arrays

    @cached_property
    def _entry(self) -> Any:
        return load_behind(layer_for(self.program), twin_text(self.program)).tilewright_twin


def run_on_twin(source: CudaSource, *inputs: np.ndarray, seed: int = 0) -> TwinRun:
    """Runs an emitted kernel on float inputs, rounded to the problem's dtype. The output is float32.

    Raises TwinError with what is wrong with the kernel, ValueError for an array of the wrong shape.
    """
    problem = source.scheme.problem
    for array, tensor in zip(inputs, (problem.broadcast, problem.vector, *problem.epilogue_arrays), strict=True):
        if array.shape != tensor.shape:
            raise ValueError(f"{tensor.called} has shape {array.shape}, but this kernel takes {tensor.shape}")
    bits = [to_bits(array, problem.dtype if i < 2 else problem.output_dtype) for i, array in enumerate(inputs)]
    output = to_bits(np.zeros(problem.output.shape, np.float32), problem.output_dtype)
    run = Twin(source).launch(*bits, output, seed=seed)
    return replace(run, output=from_bits(run.output, problem.output_dtype))


def layer_for(program: CudaProgram, whole: bool = False) -> str:
    """What a kernel's text needs of the twin's device layer before it.

    whole: with the bodies of the layer's functions, which are compiled apart otherwise.
    """
    parts = ("twin.h", *["twin_wgmma.h"] * program.uses_wgmma, *["twin_tma.h"] * program.uses_tma)
    parts += ("twin_split_k.h",) * program.shares_sums + ("twin_elements.h",) * program.elements
    layer = text_of(parts) if whole else declared(text_of(parts))
    return layer + text_of(("values.cuh",) * program.elements, "device") + "\n"


def twin_text(program: CudaProgram) -> str:
    """The C text of a kernel behind the layer: the kernel's own text, and an entry that launches it."""
    parameters = [f"(void *)arguments[{i}]" for i in range(program.arrays)]
    for i, tensor in enumerate(program.maps):
        parameters[tensor.array] = f"((tensor_map *)tensor_maps)[{i}]"
    begin, end = "", ""
    if program.shares_sums:
        parameters += ["twin_split_k.semaphores", "twin_split_k.partial_sums"]
        begin = (
            f"    if (!twin_split_k_begin({program.semaphores}, {program.partial_sums}, {program.grid}))\n"
            "        abort();\n"
        )
        end = "    twin_split_k_end(report);\n"
    call = f"{program.symbol}({', '.join(parameters)})"
    return f"""{program.text}
static char **arguments;
static void *tensor_maps;

static void launch(void) {{ {call}; }}

int tilewright_twin(unsigned blocks, char **arrays, const long *bytes, void *maps, uint64_t seed,
                    struct twin_report *report)
{{
    arguments = arrays;
    tensor_maps = maps;
{begin}{_run_text(program)}
{end}    return *report->message != 0;
}}
"""


def _run_text(program: CudaProgram) -> str:
    """The lines that run the launch."""
    if program.elements:
        roles = ", ".join(["TWIN_INPUT"] * (program.arrays - 1) + ["TWIN_OUTPUT"])
        return f"""    static const enum twin_role roles[] = {{{roles}}};
    twin_launch(launch, blocks, {program.cluster}, {program.threads}, {program.shared_bytes}, arrays, bytes, roles,
                {program.arrays}, seed, report);"""
    return f"""    twin_run(launch, blocks, {program.cluster}, {program.threads}, {program.shared_bytes},
             arrays, bytes, {program.arrays}, 1, seed, report);"""


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy of an array that begins at a multiple of 256 bytes, as memory of a device does."""
    room = np.empty(array.nbytes + 256, np.uint8)
    start = -room.ctypes.data % 256
    placed: np.ndarray = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    placed[...] = array
    return placed
