"""What a bulk copy moves, as data: a tensor's shape in memory and the box of it that one copy takes.

The hardware reads it from 128 bytes that the driver makes (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col); a twin
reads the same numbers. Dims are innermost first, as there.

Source of the limits: CUDA driver API, "Tensor Map Object Management".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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

    With `phases` it stands for as many maps, its `parts`: part p is of the rows p, p + phases, …, so that rows may be
    any number of elements long. The array begins `offset` bytes behind the pointer that the map is made for.
    """

    name: str
    array: int
    dtype: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    pixels: Pixels | None = None
    phases: int = 1
    offset: int = 0

    @property
    def parts(self) -> tuple[TensorMap, ...]:
        """The maps that the hardware has of it. Where a phase's rows begin is no multiple of 16 bytes
        its map begins up to 14 bytes before: that many elements are to be added to the first coordinate."""
        if self.phases == 1:
            return (self,)
        pitch, element = self.strides[0], DTYPE_BYTES[self.dtype]
        return tuple(
            replace(
                self,
                phases=1,
                offset=p * pitch - p * pitch % _STRIDE_UNIT,
                dims=(
                    self.dims[0] + p * pitch % _STRIDE_UNIT // element,
                    -(-(self.dims[1] - p) // self.phases),
                    *self.dims[2:],
                ),
                strides=(self.phases * pitch, *self.strides[1:]),
            )
            for p in range(self.phases)
        )

    def __post_init__(self):
        if self.phases > 1:
            # Each dim's stride is to be a multiple of that of the dim before it.
            if len(self.dims) > 2 and self.dims[1] % self.phases:
                raise TensorMapError(
                    f"{self.name}: rows {self.strides[0]} bytes apart, {self.dims[1]} in each of a batch, cannot be "
                    f"copied in bulk, which needs a multiple of {_STRIDE_UNIT} bytes, or of {self.phases} rows"
                )
            assert self.parts  # each of which checks itself
            return
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
