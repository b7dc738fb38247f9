"""Checks that passes can make a GPU kernel of a valid scheme that ends with a warp's matrix instruction.

is_staged_once(scheme) -> bool       whether no input has several stages, which every pipeline wants
check_matrix(scheme)                 raises SchemeError where the instruction does not fit
"""

from __future__ import annotations

from itertools import takewhile
from math import prod

from gpu.passes.matrices.instructions import COLUMNS, ROWS, WORDS
from tiling.choices import either
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Matrix, SchemeError, Stage, Tile, Unroll


def is_staged_once(scheme: Scheme) -> bool:
    """Whether no input has several stages, which every pipeline wants."""
    workers = {s.worker for s in scheme.specifiers if isinstance(s, Tile)}
    stages = [s for s in scheme.specifiers if isinstance(s, Stage)]
    return all(s.depth == 1 for s in stages) and workers.isdisjoint({"warpgroup", "cluster"})


def check_matrix(scheme: Scheme) -> None:
    """Raises SchemeError, which names the specifier, where the matrix instruction does not fit the scheme."""
    problem, matrix = scheme.problem, scheme.specifiers[-1]
    assert isinstance(matrix, Matrix)
    if problem.dtype not in WORDS:
        raise SchemeError(f"{matrix}: no matrix instruction reads {problem.dtype}; use {either(WORDS)}")
    wanted = (ROWS, COLUMNS, WORDS[problem.dtype].depth)
    if tuple(matrix.factors.values()) != wanted:
        shape = "m{}n{}k{}".format(*wanted)
        raise SchemeError(f"{matrix}: a warp's matrix instruction for {problem.dtype} is {shape}")
    check_roles(problem, matrix)
    rows, columns, depth = matrix.factors
    staged = {s.tensor for s in scheme.specifiers if isinstance(s, Stage)}
    for tensor in (problem.broadcast, problem.vector):
        if tensor.name not in staged:
            raise SchemeError(f"S({tensor.name}) is missing: matrix instructions take both inputs from shared memory")
    _check_rings(scheme)
    for s in scheme.specifiers:
        if isinstance(s, Tile) and s.worker == "lane":
            raise SchemeError(f"{s}: the lanes of a warp share a matrix instruction: leave it out")
        if isinstance(s, Lambda):
            raise SchemeError(f"{s}: tiles of matrix instructions all have one size: use T and U")
        if isinstance(s, Unroll) and s.dim not in matrix.factors:
            raise SchemeError(
                f"{s}: only {rows}, {columns} and {depth} of {matrix} are unrolled; loop over others by T"
            )
    factors = [s for s in scheme.specifiers if isinstance(s, Unroll) and s.dim == columns]
    if prod(s.factor or 1 for s in factors) % 2:
        named = " ".join(map(str, factors)) or f"no U({columns},…)"
        raise SchemeError(f"{named}: a warp loads two instructions' columns at once: use an even factor")
    if not any(isinstance(s, Tile) and s.worker == "warp" for s in scheme.specifiers):
        raise SchemeError(f"no T(…)@warp: it says how many warps a block has: T({rows},1)@warp for one")


def _check_rings(scheme: Scheme) -> None:
    """Raises SchemeError where stages have no loop of steps, or one ring would turn inside another one."""
    specifiers = scheme.specifiers
    stages = [place for place, s in enumerate(specifiers) if isinstance(s, Stage) and s.depth > 1]
    if not stages:
        return
    begin = stages[0]
    while isinstance(specifiers[begin - 1], Stage) and begin > 0:
        begin -= 1
    ring = tuple(takewhile(lambda s: isinstance(s, Stage), specifiers[begin:]))
    loop = specifiers[begin - 1] if begin else None
    if not isinstance(loop, Tile) or loop.worker or loop.dim[0] not in scheme.problem.reductions:
        first = specifiers[stages[0]]
        raise SchemeError(f"{first}: several stages take turns in a loop over what is summed: put it right inside T(…)")
    if len({s.depth for s in ring if isinstance(s, Stage)}) > 1 or stages[-1] >= begin + len(ring):
        named = " ".join(str(s) for s in specifiers if isinstance(s, Stage) and s.tensor != scheme.problem.output.name)
        raise SchemeError(f"{named}: inputs share a ring of stages: give both one depth, side by side")


def check_roles(problem: Problem, matrix: Matrix) -> None:
    """Raises SchemeError where the dims of the instruction are not rows, columns and summed dims."""
    rows, columns, depth = (set(dims) for dims in matrix.factors)
    summed = set(problem.reductions)
    x, w = problem.broadcast.dims, problem.vector.dims
    outputs = rows | columns
    if not (depth <= summed and outputs.isdisjoint(summed) and rows.isdisjoint(w) and columns.isdisjoint(x)):
        raise SchemeError(
            f"{matrix}: names rows, on which {problem.vector.name} does not depend, then columns, on which "
            f"{problem.broadcast.name} does not, then what is summed over ({' '.join(problem.reductions)})"
        )
