"""Every register tile that an instruction set's registers can hold.

A tile of `rows` output points × `vectors` vectors keeps rows·vectors accumulators; one reduction point needs
`vectors` weight vectors, and one more register for the broadcast where the FMA cannot spread it from memory. So

    vectors·(rows + 1) + spread ≤ registers        e.g. 32 registers: 31×1, 15×2, 9×3, 7×4, 5×5, 4×6, 3×8, … 1×16

is the whole budget, however the rows are split over h and w and however many taps are unrolled: unrolled taps come
one after the other and re-use the same weight registers.
"""

from __future__ import annotations

from collections.abc import Iterator

from microkernels.isa import Isa, isa_named
from microkernels.matrix import registers_of, split
from microkernels.microkernel import Microkernel

# FMAs that must be in flight to fill the pipes: 4 cycles of latency × 2 pipes, on every x86 core since Skylake and
# Zen 2 (uops.info). A tile with fewer accumulators waits for itself, whatever is unrolled around them.
INDEPENDENT_FMAS = 4 * 2

# Unrolled taps (r, s) of depthwise convolutions: MobileNet's filters are 3×3 and 5×5. The weights of these taps stay in
# registers over the rows, and rows that are neighbours along w share the x of neighbouring taps.
DEPTHWISE_TAPS = ((1, 1), (1, 3), (3, 3), (1, 5))
# Fewest accumulators of a depthwise tile in the quick ranking: tiles are short, so several are in flight at once.
QUICK_DEPTHWISE = 4

# Fewest tile registers of sums in the quick ranking: instructions on one of them wait some three of their own times.
QUICK_SUMS = 4

# Channels of a group side by side in a vector, and taps of s unrolled beside them: an x is exchanged once for all of
# these.
GROUP_SIZES = (2, 4, 8)
GROUPED_TAPS = (1, 3)

# Vectors of a tile of matrix instructions: wider ones leave one run of rows, whose every load of x serves all of them
# anyway.
MOST_WIDE = 4

# Filter sizes of TTile's space, {1, 3, 5, 7}; 1 is the looped tile.
TAPS = (3, 5, 7)


def space(isa: Isa, op: str = "conv2d", strides: tuple[int, ...] = (1, 2)) -> tuple[Microkernel, ...]:
    """All register tiles of `op` on `isa`, ordered by stride, unrolled taps, vectors, rows.

    conv2d: one output row (w) at every size, so that any extent can be composed; blocks of h × w, and tiles with 3,
    5 or 7 taps of r or s unrolled, where they hold at least INDEPENDENT_FMAS accumulators: below that the tile is
    bound by latency, and the plain row of the same size does as well. The rarer filters 5 and 7 are unrolled over
    plain rows only, and r and s never together: no winner of TTile's needs it, and each multiplies the ranking's
    time.

    depthwise2d: blocks of h × w with DEPTHWISE_TAPS unrolled, as long as the weights of a step stay in registers beside
    the accumulators; with all taps looped only plain rows.

    grouped2d: rows of w with all channels of a group unrolled, alone and with 3 taps of s, as long as the weights of
    one exchange of lanes stay in registers.

    Of matrix instructions: the rows of w and blocks of h × w that tile registers hold beside one of x and of the
    weights.

    matmul and pointwise2d have no space of their own: their tiles are conv2d's (`RANKED_AS`). Raises ValueError for any
    other operator.
    """
    if op not in _SPACES:
        raise ValueError(f"unknown operator {op!r}; ranked are {', '.join(_SPACES)}")
    if isa.matrix:
        return tuple(kernel for stride in strides for kernel in _matrix(isa, op, stride))
    return tuple(kernel for stride in strides for kernel in _SPACES[op](isa, stride))


def quick(isa: Isa, op: str = "conv2d") -> tuple[Microkernel, ...]:
    """The part of `space` that is worth two minutes before a first search, at stride 1.

    All plain rows of up to 4 vectors; of those that fill the FMA pipes also the variants with 3 taps of s unrolled
    (2 to 4 vectors) and with two output rows in h: the kinds among which TTile's winners lie. Of depthwise2d the tiles
    of 1 and 2 vectors and at most two output rows with the taps of 3×3 unrolled, all of them or those of s. Of
    grouped2d those of 1 and 2 vectors that fill the pipes and unroll the taps of s. Of matrix instructions those of
    whole tile registers or at least 4 of sums, one output row or blocks of equal runs.
    """
    return tuple(kernel for kernel in space(isa, op, (1,)) if kernel.vectors <= 4 and _is_quick(kernel))


def _is_quick(kernel: Microkernel) -> bool:
    h = dict(kernel.rows).get("h", 1)
    matrix = isa_named(kernel.isa).matrix
    if matrix:
        w = dict(kernel.rows).get("w", 1)
        sums = h * -(-w // matrix.rows) * kernel.vectors
        return w % matrix.rows == 0 or sums >= QUICK_SUMS and w > matrix.rows // 4 and (h == 1 or w <= matrix.rows)
    if kernel.op == "depthwise2d":
        wide = kernel.vectors <= 2 and kernel.accumulators >= QUICK_DEPTHWISE
        return wide and (kernel.steps == 9 and h <= 2 or kernel.steps == 3 and h == 1)
    if kernel.op == "grouped2d":
        return kernel.vectors <= 2 and kernel.accumulators >= INDEPENDENT_FMAS and "s" in dict(kernel.unrolled)
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
    if op != "conv2d":
        return  # the others read x by vectors
    most = isa.matrix.registers - 2
    for vectors in range(1, min(most, MOST_WIDE) + 1):
        for h in range(1, most // vectors + 1):
            for w in range(1, most // vectors // h * isa.matrix.rows + 1):
                runs = tuple(run for _ in range(h) for run in split(w, isa.matrix.rows))
                if registers_of(isa.matrix, runs, vectors):
                    yield Microkernel(op, isa.name, _factors(h=h, w=w), vectors, (), stride)


def _depthwise2d(isa: Isa, stride: int) -> Iterator[Microkernel]:
    for r, s in DEPTHWISE_TAPS:
        unrolled = _factors(r=r, s=s)
        for vectors in _vectors(isa):
            # As `emit` has it: the weights of all taps, an x, and one register to spare.
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
                # As `emit` has it: the weights of these taps, an x, what is exchanged of it, and one register to spare.
                for w in range(1, (isa.registers - 3) // vectors - s + 1):
                    yield Microkernel("grouped2d", isa.name, _factors(w=w), vectors, _factors(s=s, c=c), stride)


_SPACES = {"conv2d": _conv2d, "depthwise2d": _depthwise2d, "grouped2d": _grouped2d}


def most_rows(isa: Isa, vectors: int) -> int:
    """The most rows that fit beside `vectors` weight vectors: the budget above, solved for rows."""
    spread = 0 if isa.embedded_broadcast else 1
    return (isa.registers - spread) // vectors - 1


def _vectors(isa: Isa) -> range:
    """The widths at which at least one row fits: one accumulator and one weight register a vector."""
    return range(1, isa.registers // 2 + 1)


def _factors(**extents: int) -> tuple[tuple[str, int], ...]:
    return tuple((dim, extent) for dim, extent in extents.items() if extent > 1)
