"""Winograd's algorithm in float32: data on which it is exact, and a bound of its error on other data.

Each output is a sum of products, as in any convolution. But each product passes through transforms, and their terms
cancel only in the end: the size of the terms, not of the result, decides the error.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import lcm

import numpy as np

from cpu.reference.epilogue import finished
from cpu.reference.oracle import reference
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import TAPS, Matrix, tile_grid, transforms


def winograd_integers(problem: Problem, m: int) -> tuple[np.ndarray, ...]:
    """Inputs of whole numbers on which every order of summation gives the same float32 result, in the form of
    `cpu.reference.oracle.integers`.

    x and w are -1, 0 and 1. w is multiplied by the square of the odd part of G's common denominator, so that all
    numbers are multiples of one power of two. So many entries are 0 that no sum of magnitudes needs more than 24 bits.
    """
    scale, most = _exact_range(m)
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-1, 2, tensor.shape).astype(np.float32) for tensor in (problem.broadcast, problem.vector))
    while _pairs(problem, m, x, w) > most:
        x *= rng.random(x.shape) < 0.7
        w *= rng.random(w.shape) < 0.7
    values = np.array([-4, -3, -2, -1, 1, 2, 3, 4], np.float32)
    return x, w * np.float32(scale), *(rng.choice(values, t.shape) for t in problem.epilogue_arrays)


def _exact_range(m: int) -> tuple[int, int]:
    """The number that weights are multiples of, and how many products of two non-zero entries a sum may have."""
    matrices = transforms(m)
    denominator = lcm(*(value.denominator for row in matrices.weights for value in row))
    odd = denominator // (denominator & -denominator)
    unit = Fraction(odd, denominator)  # entries of G times `odd` are multiples of it; A and B are whole
    inputs, outputs = range(m + TAPS - 1), range(m)
    largest = max(
        sum(abs(matrices.output[i][j] * matrices.weights[j][r] * matrices.input[j][s]) for j in inputs)
        for i in outputs
        for r in range(TAPS)
        for s in inputs
    )
    return odd**2, int(2**24 / (largest * odd / unit) ** 2)


def _pairs(problem: Problem, m: int, x: np.ndarray, w: np.ndarray) -> float:
    """The largest number of pairs of a non-zero input and a non-zero weight, over all tiles and output channels."""
    weights = np.count_nonzero(w, axis=(2, 3)).astype(np.float64)
    return max(float((np.count_nonzero(_tiles(problem, m, image), axis=(1, 2)) @ weights.T).max()) for image in x)


def winograd_bound(problem: Problem, m: int, x: np.ndarray, w: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    """The largest error that a float32 result may have, for each output, as `cpu.reference.oracle.error_bound`.

    It is γ_q · |A^T| [ Σ_c |U| ⊙ (|B^T| |x| |B|) ] |A|, where q counts the roundings on the way of a term: two passes
    over a row of B^T (at most one rounding for each term, and one for a shared sum), one of U, C of the sum, and two
    passes over a row of A^T.
    Source: Higham, Accuracy and Stability of Numerical Algorithms, section 3.1, applied term by term.
    """
    matrices = transforms(m)
    into, out = (
        np.array([[abs(float(v)) for v in row] for row in matrix]) for matrix in (matrices.input, matrices.output)
    )
    points = np.array([[float(v) for v in row] for row in matrices.weights])
    weights = np.abs(np.einsum("ir,kcrs,js->ijck", points, w.astype(np.float64), points, optimize=True))
    roundings = 2 * (_longest(matrices.input) + 1) + 1 + problem.extents["c"] + 2 * (_longest(matrices.output) + 1)
    eps = float(np.finfo(np.float32).eps) / 2
    gamma = roundings * eps / (1 - roundings * eps)
    bound = gamma * np.stack(
        [_magnitudes(problem, m, image, weights, into, out) for image in np.abs(x.astype(np.float64))]
    )
    if not problem.epilogue:
        return bound
    return finished(problem, _sums(problem, x, w), arrays, bound).error


def _magnitudes(
    problem: Problem, m: int, image: np.ndarray, weights: np.ndarray, into: np.ndarray, out: np.ndarray
) -> np.ndarray:
    """|A^T| [ Σ_c |U| ⊙ (|B^T| |x| |B|) ] |A| for one image, (OH,OW,K)."""
    rows, columns = tile_grid(problem, m)
    v = np.einsum("il,tlpc,jp->ijtc", into, _tiles(problem, m, image), into, optimize=True)
    y: np.ndarray = np.einsum("ai,ijtk,bj->tabk", out, v @ weights, out, optimize=True)
    y = y.reshape(rows, columns, m, m, -1).transpose(0, 2, 1, 3, 4).reshape(rows * m, columns * m, -1)
    return y[: problem.extents["h"], : problem.extents["w"]]


def _tiles(problem: Problem, m: int, image: np.ndarray) -> np.ndarray:
    """The inputs of every tile of an image, (tiles, α, α, C), padded for real."""
    (rows, columns), alpha, (top, left) = tile_grid(problem, m), m + TAPS - 1, (w.before for w in problem.windows)
    image = image[..., : problem.extents["c"]]
    height, width, channels = image.shape
    padded = np.zeros(
        (max(rows * m + TAPS - 1, top + height), max(columns * m + TAPS - 1, left + width), channels), image.dtype
    )
    padded[top : top + height, left : left + width] = image
    corners = [(i * m, j * m) for i in range(rows) for j in range(columns)]
    return np.stack([padded[h : h + alpha, w : w + alpha] for h, w in corners])


def _longest(matrix: Matrix) -> int:
    return max(sum(value != 0 for value in row) for row in matrix)


def _sums(problem: Problem, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    return reference(replace(problem, epilogue=None), x, w)
