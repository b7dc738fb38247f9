"""Problems and schemes of Winograd's algorithm."""

from __future__ import annotations

from tiling.epilogue import fused
from tiling.operators import conv2d

ODD = conv2d(n=2, c=19, h=13, w=11, k=37, r=3, s=3, padding=1)
# A problem, m, tiles and vectors of output channels of a block.
CASES = {
    "odd image, primes, batch": (ODD, 4, 7, 2),
    "odd image, F(2), one tile a block": (ODD, 2, 1, 1),
    "F(3), tiles left over": (ODD, 3, 16, 3),
    "no padding": (conv2d(c=32, h=10, w=14, k=16, r=3, s=3), 4, 4, 1),
    "asymmetric padding": (conv2d(c=3, h=8, w=5, k=5, r=3, s=3, padding=((2, 0), (1, 2))), 4, 4, 1),
    "padding wider than the image": (conv2d(c=4, h=1, w=2, k=4, r=3, s=3, padding=5), 2, 11, 1),
    "whole vectors of output channels, not of input channels": (
        conv2d(c=3, h=6, w=6, k=32, r=3, s=3, padding=1),
        2,
        5,
        1,
    ),
    "one pixel, one channel": (conv2d(c=1, h=1, w=1, k=1, r=3, s=3, padding=1), 4, 1, 1),
    "last rows and columns of x unread": (conv2d(c=8, h=9, w=9, k=8, r=3, s=3, padding=((1, 0), (0, 0))), 4, 2, 1),
}
EPILOGUES = {
    "bias and residual": (fused(ODD, "relu(y + b + z)"), 4, 7, 1),
    "arrays of every shape": (fused(ODD, "y*scale + t[h] * u[n,w]"), 2, 9, 3),
}


def text_of(problem, m, block, vectors, lanes):
    return f"F({m}x{m},3x3) B({block},{vectors * lanes}) R(m) R(n) S(c) T(k,{problem.extents['c']}) V(n,{lanes})"
