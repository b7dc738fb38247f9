"""Every register tile that an instruction set's registers can hold, and those of the quick ranking."""

# A tile of `rows` output points × `vectors` vectors keeps rows·vectors accumulators. One reduction point needs
# `vectors` weight vectors, and one more register where the FMA cannot broadcast from memory. The budget is
#
#     vectors·(rows + 1) + broadcast ≤ registers     e.g. 32 registers: 31×1, 15×2, 9×3, 7×4, 5×5, 4×6, 3×8, … 1×16
#
# however the rows are split over h and w, and however many taps are unrolled: unrolled taps follow one another and
# re-use the same weight registers.

from __future__ import annotations

from collections.abc import Iterator

from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from microkernels.tile.matrix import registers_of, split
from microkernels.tile.microkernel import OPERATORS, Microkernel

# FMAs that must be in flight to fill the pipes: 4 cycles of latency × 2 pipes, on every x86 core since Skylake and
# Zen 2 (uops.info). A tile with fewer accumulators waits for its own results, however many taps it unrolls.
INDEPENDENT_FMAS = 4 * 2

# Unrolled taps (r, s) of depthwise convolutions: MobileNet's filters are 3×3 and 5×5. The weights of these taps stay in
# registers for all rows, and neighbouring rows along w share the x of neighbouring taps.
DEPTHWISE_TAPS = ((1, 1), (1, 3), (3, 3), (1, 5))
# The fewest accumulators of a depthwise tile in the quick ranking. Such tiles are short, so several are in flight.
QUICK_DEPTHWISE = 4

# The fewest tile registers of sums in the quick ranking. An instruction waits for the one before on the same register,
# some three times as long as it takes itself.
QUICK_SUMS = 4

# Channels of a group in grouped2d, and the taps of s unrolled beside them. An x is exchanged once for all these taps.
GROUP_SIZES = (2, 4, 8)
GROUPED_TAPS = (1, 3)

# The most vectors of a tile of matrix instructions. A wider tile has one run of rows left.
MOST_WIDE = 4

# Unrolled taps of conv2d. TTile's space has filters of {1, 3, 5, 7}; 1 is the tile that loops over taps.
TAPS = (3, 5, 7)


def space(isa: Isa, op: str = "conv2d", strides: tuple[int, ...] = (1, 2)) -> tuple[Microkernel, ...]:
    """All register tiles of `op` on `isa`, ordered by stride, unrolled taps, vectors, rows.

    conv2d: one output row (w) of every size, so that any extent can be composed. Blocks of h × w, and tiles with 3, 5
    or 7 taps of r or s unrolled, where they hold at least INDEPENDENT_FMAS accumulators: below, latency bounds the tile
    and the plain row of the same size is as fast. 5 and 7 taps are unrolled over plain rows only, and r and s never
    together: no winner of TTile's needs them, and each makes the ranking much longer.

    depthwise2d: blocks of h × w with DEPTHWISE_TAPS unrolled, while the weights of a step fit in registers beside the
    accumulators; only plain rows where all taps are looped.

    grouped2d: rows of w with all channels of a group unrolled, without and with 3 taps of s, while the weights of one
    exchange of lanes fit in registers.

    Matrix instructions: the rows of w and blocks of h × w whose sums fit in tile registers, beside one register of x
    and one of the weights.

    matmul and pointwise2d have no space of their own: their tiles are conv2d's (`RANKED_AS`). Raises ValueError for any
    other operator.
    """
    if op not in _SPACES:
        raise ValueError(f"unknown operator {op!r}; ranked are {', '.join(_SPACES)}")
    if isa.matrix:
        return tuple(kernel for stride in strides for kernel in _matrix(isa, op, stride))
    return tuple(kernel for stride in strides for kernel in _SPACES[op](isa, stride))


def quick(isa: Isa, op: str = "conv2d") -> tuple[Microkernel, ...]:
    """The part of `space` at stride 1 that is worth two minutes before a first search.

    conv2d: all plain rows of up to 4 vectors. Those that fill the FMA pipes also with 3 taps of s unrolled (2 to 4
    vectors), and with two output rows in h. TTile's winners are of these kinds.
    depthwise2d: tiles of 1 and 2 vectors and at most two output rows, with the taps of 3×3 or of s unrolled.
    grouped2d: tiles of 1 and 2 vectors that fill the pipes and unroll the taps of s.
    Matrix instructions: tiles of whole tile registers or of at least 4 of sums, one output row or equal runs.
    """
    return tuple(kernel for kernel in space(isa, op, (1,)) if kernel.vectors <= 4 and _is_quick(kernel))


def _is_quick(kernel: Microkernel) -> bool:
    h = dict(kernel.rows).get("h", 1)
    matrix = isa_named(kernel.isa).matrix
    if matrix:
        w = dict(kernel.rows).get("w", 1)
        sums = h * -(-w // matrix.rows) * kernel.vectors
        return w % matrix.rows == 0 or (sums >= QUICK_SUMS and w > matrix.rows // 4 and (h == 1 or w <= matrix.rows))
    if kernel.exchanges:
        return kernel.vectors <= 2 and kernel.accumulators >= INDEPENDENT_FMAS and "s" in dict(kernel.unrolled)
    if kernel.lanewise:
        wide = kernel.vectors <= 2 and kernel.accumulators >= QUICK_DEPTHWISE
        return wide and ((kernel.steps == 9 and h <= 2) or (kernel.steps == 3 and h == 1))
    if kernel.unrolled:
        return kernel.unrolled == (("s", 3),) and h == 1 and kernel.vectors > 1
    return h <= 2


def _conv2d(isa: Isa, stride: int) -> Iterator[Microkernel]:
    for unrolled in ((), *(((dim, taps),) for taps in TAPS for dim in "rs")):
        for vectors in _vectors(isa):
            most = most_rows(isa, vectors)
            for h in range(1, most + 1):
                for w in range(1, most // h + 1):
                    kernel = Microkernel("conv2d", isa.name, _factors(h=h, w=w), vectors, unrolled, stride)
                    plain = h == 1 and not unrolled
                    rare = h > 1 and kernel.steps > TAPS[0]
                    if plain or (kernel.accumulators >= INDEPENDENT_FMAS and not rare):
                        yield kernel


def _matrix(isa: Isa, op: str, stride: int) -> Iterator[Microkernel]:
    matrix = isa.matrix
    if OPERATORS[op].lanewise or matrix is None:
        return
    most = matrix.registers - 2
    for vectors in range(1, min(most, MOST_WIDE) + 1):
        for h in range(1, most // vectors + 1):
            for w in range(1, most // vectors // h * matrix.rows + 1):
                runs = tuple(run for _ in range(h) for run in split(w, matrix.rows))
                if registers_of(matrix, runs, vectors):
                    yield Microkernel(op, isa.name, _factors(h=h, w=w), vectors, (), stride)


def _depthwise2d(isa: Isa, stride: int) -> Iterator[Microkernel]:
    for r, s in DEPTHWISE_TAPS:
        unrolled = _factors(r=r, s=s)
        for vectors in _vectors(isa):
            # `emit` needs registers for the weights of all taps and an x, and leaves one free.
            most = most_rows(isa, vectors) if not unrolled else (isa.registers - 2) // vectors - r * s
            for h in range(1, most + 1 if unrolled else min(1, most) + 1):
                for w in range(1, most // h + 1):
                    yield Microkernel("depthwise2d", isa.name, _factors(h=h, w=w), vectors, unrolled, stride)


def _grouped2d(isa: Isa, stride: int) -> Iterator[Microkernel]:
    for c in GROUP_SIZES:
        if c >= isa.lanes:
            return
        for s in GROUPED_TAPS:
            for vectors in _vectors(isa):
                # `emit` needs registers for the weights of these taps, an x and its exchange, and leaves one free.
                for w in range(1, (isa.registers - 3) // vectors - s + 1):
                    yield Microkernel("grouped2d", isa.name, _factors(w=w), vectors, _factors(s=s, c=c), stride)


_SPACES = {"conv2d": _conv2d, "depthwise2d": _depthwise2d, "grouped2d": _grouped2d}


def most_rows(isa: Isa, vectors: int) -> int:
    """The most rows that fit beside `vectors` weight vectors, by the budget above."""
    broadcast = 0 if isa.embedded_broadcast else 1
    return (isa.registers - broadcast) // vectors - 1


def _vectors(isa: Isa) -> range:
    """The numbers of vectors that leave room for a row: one accumulator and one weight register each."""
    return range(1, isa.registers // 2 + 1)


def _factors(**extents: int) -> tuple[tuple[str, int], ...]:
    return tuple((dim, extent) for dim, extent in extents.items() if extent > 1)
