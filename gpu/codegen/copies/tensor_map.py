"""Tensor maps as data: a tensor's shape in memory, and the box of it that one TMA copy moves.

The driver encodes a map in 128 bytes (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col); the twin reads the same
numbers. Dims are innermost first, as the driver has them. Source of the limits: CUDA driver API, "Tensor Map Object
Management".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu.limits.hopper import LARGEST_BOX, ROW_BYTES
from tiling.arrays.pixel_blocks import COPIED_BYTES
from tiling.dtypes.products import DTYPE_BYTES
from tiling.problem import Problem
from tiling.scheme.specifiers import SchemeError

_LARGEST_DIM = 1 << 31
_LARGEST_STEP = 8
# Pixels from the first tap of a window to the last. For each dim of an image the instruction's offset has 8 bits.
# Source: CUTLASS, can_implement of sm90_implicit_gemm_gmma_ss_warpspecialized (16 bits for all spatial dims together).
_FARTHEST_TAP = 255
# Values of CUtensorMapDataType in cuda.h, and the ends of their names. With TFLOAT32, TMA rounds f32 to tf32 on the way
# to shared memory. Source: CUTLASS, "TMA converts f32 input to tf32" in sm90_mma_tma_gmma_ss_warpspecialized.hpp.
MAP_TYPES = {"f16": (6, "FLOAT16"), "bf16": (9, "BFLOAT16"), "tf32": (11, "TFLOAT32"), "f32": (7, "FLOAT32")}
# Drivers up to WRONG_DRIVER set a bit, which has to be cleared, in the maps of tensors of fewer than _SMALL_BYTES.
# Source: CUTLASS clears it in copy_traits_sm90_tma.hpp and copy_traits_sm90_im2col.hpp (seen in August 2026).
WRONG_DRIVER = 13010
_SMALL_BYTES = 131072
WRONG_WORD, WRONG_BIT = 1, 21  # words of 64 bits


class TensorMapError(SchemeError):
    """TMA cannot copy this box or array. The message says which number is wrong, and what it has to be."""


@dataclass(frozen=True)
class Pixels:
    """An im2col box of an image (C, W, H, N): one pixel of each of `count` windows, in the order of the output.

    Along W and H, windows begin `steps` pixels apart, at `lower` or later and before dim + `upper`.
    """

    lower: tuple[int, int]
    upper: tuple[int, int]
    steps: tuple[int, int]
    count: int


@dataclass(frozen=True)
class TensorMap:
    """The map of the kernel's parameter number `array`. Strides are in bytes, without the stride of the innermost dim.

    Boxes lie in shared memory in rows of 128 bytes, whose chunks of 16 bytes are swizzled. Raises TensorMapError.
    """

    name: str
    array: int
    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    pixels: Pixels | None = None

    def __post_init__(self) -> None:
        element = DTYPE_BYTES[self.dtype]
        if any(stride % COPIED_BYTES for stride in self.strides):
            wrong = next(s for s in self.strides if s % COPIED_BYTES)
            raise TensorMapError(
                f"{self.name}: rows {wrong} bytes apart cannot be copied by TMA, which needs a multiple of "
                f"{COPIED_BYTES}"
            )
        if not all(0 < dim <= _LARGEST_DIM for dim in self.dims):
            raise TensorMapError(f"{self.name}: a tensor of {self.dims} is too large for TMA copies")
        if not all(0 < size <= LARGEST_BOX for size in self.rows) or self.box[0] * element != ROW_BYTES:
            raise TensorMapError(
                f"{self.name}: boxes of {self.box} cannot be copied by TMA: rows are {ROW_BYTES // element} elements, "
                f"and no other side is longer than {LARGEST_BOX}"
            )
        if self.pixels:
            _check_pixels(self.name, self.pixels)

    @property
    def small(self) -> bool:
        """Whether the tensor is so small that drivers up to `WRONG_DRIVER` set a wrong bit in its map."""
        element = DTYPE_BYTES[self.dtype]
        steps = (element, *self.strides)
        return element + sum((dim - 1) * step for dim, step in zip(self.dims, steps)) < _SMALL_BYTES

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of 128 bytes in a box, along each dim."""
        return (self.pixels.count,) if self.pixels else self.box[1:]


def check_windows(problem: Problem) -> None:
    """Raises TensorMapError where TMA cannot copy the pixels of a convolution's windows, a tap at a time."""
    if not problem.windows:
        return
    name, windows = problem.broadcast.name, problem.windows
    farthest = max((problem.extents[window.tap] - 1) * window.dilation for window in windows)
    if farthest > _FARTHEST_TAP:
        raise TensorMapError(
            f"{name}: taps {farthest} pixels apart cannot be copied by TMA, only up to {_FARTHEST_TAP}"
        )
    lower = tuple(-window.before for window in windows)
    last = (w.stride * (problem.extents[w.dim] - 1) - w.before for w in windows)
    upper = tuple(at + 1 - window.extent for at, window in zip(last, windows))
    _check_corners(name, (*lower, *upper), tuple(window.stride for window in windows))


def _check_pixels(name: str, pixels: Pixels) -> None:
    _check_corners(name, (*pixels.lower, *pixels.upper), pixels.steps)


def _check_corners(name: str, corners: tuple[int, ...], steps: tuple[int, ...]) -> None:
    if not all(-128 <= corner <= 127 for corner in corners):
        raise TensorMapError(f"{name}: padding or windows of more than 128 pixels cannot be copied by TMA")
    if not all(1 <= step <= _LARGEST_STEP for step in steps):
        raise TensorMapError(f"{name}: a stride of {max(steps)} cannot be copied by TMA, only up to {_LARGEST_STEP}")
