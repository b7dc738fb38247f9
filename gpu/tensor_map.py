"""What a bulk copy moves, as data: a tensor's shape in memory and the box of it that one copy takes.

The hardware reads it from 128 bytes that the driver makes (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col); a twin
reads the same numbers. Dims are innermost first, as there.

Source of the limits: CUDA driver API, "Tensor Map Object Management".
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.problem import DTYPE_BYTES
from tiling.scheme import SchemeError

SWIZZLE = 128  # bytes: the rows of a box, and the span within which their chunks are permuted
_LARGEST_BOX = 256  # of every dim
_LARGEST_DIM = 1 << 31
_LARGEST_STEP = 8
_STRIDE_UNIT = 16  # bytes


class TensorMapError(SchemeError):
    """A box or an array that a bulk copy cannot move: which number, and what it would have to be."""


@dataclass(frozen=True)
class Pixels:
    """Boxes of an image (C, W, H, N) that are runs of windows: `count` of them, in the order of a convolution's output.

    Along W and H windows begin `steps` apart, from `lower` on and before dim + `upper`, both in pixels.
    """

    lower: tuple[int, int]
    upper: tuple[int, int]
    steps: tuple[int, int]
    count: int


@dataclass(frozen=True)
class TensorMap:
    """Boxes of an array of the kernel: number `array` of its parameters. Strides are bytes, of all dims but the
    innermost.

    Boxes lie in shared memory in rows of 128 bytes, whose chunks of 16 bytes are swizzled. Raises TensorMapError.
    """

    name: str
    array: int
    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    pixels: Pixels | None = None

    def __post_init__(self):
        element = DTYPE_BYTES[self.dtype]
        if any(stride % _STRIDE_UNIT for stride in self.strides):
            wrong = next(s for s in self.strides if s % _STRIDE_UNIT)
            raise TensorMapError(
                f"{self.name}: rows {wrong} bytes apart cannot be copied in bulk, which needs a multiple of "
                f"{_STRIDE_UNIT}"
            )
        if not all(0 < dim <= _LARGEST_DIM for dim in self.dims):
            raise TensorMapError(f"{self.name}: a tensor of {self.dims} is too large for bulk copies")
        if not all(0 < size <= _LARGEST_BOX for size in self.rows) or self.box[0] * element != SWIZZLE:
            raise TensorMapError(
                f"{self.name}: boxes of {self.box} cannot be copied in bulk: rows are {SWIZZLE // element} elements, "
                f"and no other side is longer than {_LARGEST_BOX}"
            )
        if self.pixels:
            _check_pixels(self.name, self.pixels)

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of 128 bytes of a box, by dim."""
        return (self.pixels.count,) if self.pixels else self.box[1:]


def _check_pixels(name: str, pixels: Pixels) -> None:
    if not all(-128 <= corner <= 127 for corner in (*pixels.lower, *pixels.upper)):
        raise TensorMapError(f"{name}: padding or windows of more than 128 pixels cannot be copied in bulk")
    if not all(1 <= step <= _LARGEST_STEP for step in pixels.steps):
        raise TensorMapError(
            f"{name}: a stride of {max(pixels.steps)} cannot be copied in bulk, only up to {_LARGEST_STEP}"
        )
