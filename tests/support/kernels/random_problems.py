"""Random problems: extents of 1, odd strides, paddings that exceed windows, and epilogues now and then."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from microkernels.tile.isa import Isa
from tiling.dtypes.products import OUTPUT_DTYPES
from tiling.epilogue import fused
from tiling.operators import LAYOUTS, conv2d, matmul
from tiling.problem import Problem
from tiling.rewrite.grouped import beside_each_other
from tiling.rewrite.winograd.algorithm import TAPS
from tiling.volumes import conv3d

EXTENTS = (1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 31)
# Enough for every loop to have its say; more only takes the reference longer.
MOST_FLOPS = 4_000_000
# What may follow the sum: exact on integers, with arrays of every shape; most often nothing.
EPILOGUES = (*[None] * 5, "relu(y + b)", "relu(y*scale - z)", "min(max(y, b), 6) + z", "abs(y) - t[{row}] * z")
# Before sums of int8 become bytes: most of them, of some 10^4 … 10^5, then fit. Rounded, so the check knows by how
# much.
REQUANTISATIONS = (None, "y*0.001 + b", "relu(y*scale/4096 - z)", "y/512 - t[{row}] * z")
PADDING = (0, 0, 1, 1, 2, 3, 6)


def problem(random: Random, isa: Isa, most_flops: int = MOST_FLOPS) -> Problem:
    """A convolution, one time in six one with flattened pixels, or as often a matrix product, of at most `most_flops`.

    Where groups fit side by side into a vector of `isa` they mostly stand so.
    """
    dtype = isa.dtype
    while True:
        found = random.choice((_matmul, _conv2d, _conv2d, _conv2d, _conv2d, _flattened))(random)
        if found.flops <= most_flops:
            found = replace(found, dtype=dtype, output_dtype=random.choice(OUTPUT_DTYPES[dtype]))
            return beside_each_other(found, isa.lanes) if random.random() < 0.8 else found


def followed(random: Random, problem: Problem) -> Problem:
    """The problem, with an epilogue now and then; int32 has none."""
    if problem.output_dtype == "s32":
        return problem
    text = random.choice(REQUANTISATIONS if problem.output_dtype in ("u8", "s8") else EPILOGUES)
    return fused(problem, text and text.format(row=problem.row_dims[-1]))


def _matmul(random: Random) -> Problem:
    sizes = {dim: random.choice((*EXTENTS, 37, 64, 101)) for dim in "mnk"}
    transposed = {f"transpose_{name}": random.random() < 0.3 for name in "ab"}
    return matmul(**sizes, **transposed, batch=random.choice((1, 1, 1, 2, 5)))


def _flattened(random: Random) -> Problem:
    """A pointwise convolution, channels first."""
    sizes = {dim: random.choice((*EXTENTS, 37, 64, 101)) for dim in "ckhw"}
    return conv2d(n=random.choice((1, 1, 2, 3)), **sizes, r=1, s=1, layout="nchw")


def _conv2d(random: Random) -> Problem:
    taps = [random.choice((1, 1, 2, 3, 3, 4, 5, 7)) for _ in "hw"]
    dilation = [random.choice((1, 1, 1, 2, 3, 5)) for _ in "hw"]
    padding = [[random.choice(PADDING) for _ in "be"] for _ in "hw"]
    # The padded input is at least as long as the kernel reaches.
    least = [max(1, (t - 1) * d + 1 - sum(sides)) for t, d, sides in zip(taps, dilation, padding)]
    groups, c, k = random.choice((1, 1, 1, 2, 3, 5)), random.choice(EXTENTS), random.choice((*EXTENTS, 37, 64))
    if random.random() < 0.25:
        groups, c, k = k, 1, 1  # depthwise
    elif random.random() < 0.2:
        groups, c = random.choice((2, 3, 5, 8, 11)), random.choice((2, 2, 4, 4, 8))
        k = c  # for lanes of one vector
    return conv2d(
        n=random.choice((1, 1, 1, 2, 3)),
        c=c * groups,
        h=least[0] + random.randint(0, 12),
        w=least[1] + random.randint(0, 12),
        k=k * groups,
        r=taps[0],
        s=taps[1],
        stride=[random.choice((1, 1, 1, 2, 2, 3, 7)) for _ in "hw"] if random.random() < 0.75 else 1,
        padding=padding,
        dilation=dilation,
        groups=groups,
        layout=random.choice(LAYOUTS),
    )


def volume(random: Random) -> Problem:
    """A convolution of volumes, of at most MOST_FLOPS."""
    while True:
        taps = [random.choice((1, 1, 2, 3, 3)) for _ in "dhw"]
        dilation = [random.choice((1, 1, 1, 2, 3)) for _ in "dhw"]
        padding = [[random.choice((0, 0, 1, 2)) for _ in "be"] for _ in "dhw"]
        least = [max(1, (t - 1) * d + 1 - sum(sides)) for t, d, sides in zip(taps, dilation, padding)]
        found = conv3d(
            **{"n": random.choice((1, 1, 2)), "c": random.choice(EXTENTS), "k": random.choice((*EXTENTS, 37))},
            **{axis: size + random.randint(0, 7) for axis, size in zip("dhw", least)},
            **dict(zip("qrs", taps)),
            stride=[random.choice((1, 1, 1, 2, 3)) for _ in "dhw"],
            padding=padding,
            dilation=dilation,
            layout=random.choice(LAYOUTS),
        )
        if found.flops <= MOST_FLOPS:
            return found


def transformable(random: Random) -> Problem:
    """A convolution that Winograd's algorithm takes, of at most MOST_FLOPS."""
    while True:
        padding = [[random.choice(PADDING) for _ in "be"] for _ in "hw"]
        h, w = (max(1, TAPS - sum(sides)) + random.randint(0, 12) for sides in padding)
        n, c, k = random.choice((1, 1, 1, 2, 3)), random.choice(EXTENTS), random.choice((*EXTENTS, 37, 64))
        found = conv2d(n=n, c=c, h=h, w=w, k=k, r=TAPS, s=TAPS, padding=padding)
        if found.flops <= MOST_FLOPS:
            return found
