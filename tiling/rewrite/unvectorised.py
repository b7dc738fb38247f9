"""A scheme without V and M, which says nothing of a machine's instructions, as one for a CPU's cores and vectors.

    T(m,4)@block S(c) T(k,8) S(a) S(b) T(m,4)@warp T(m,8)@lane T(n,4)@lane U(k,8) U(m,2) U(n,32)
    T(m,4)@core T(m,4) T(m,8) T(n,4) S(c) T(k,8) U(k,8) U(m,2) U(n,2) V(n,16)

Blocks are tasks of cores. A core does what warps and lanes do, one after the other, so their loops stand outside
S(output). It reads inputs through its caches, so it stages none. Vectors are cut from what is unrolled.
"""

from __future__ import annotations

from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup, Matrix, SchemeError, Specifier, Stage, Tile, Unroll, Vector

_OF_A_CORE = ("warp", "lane")


def vectorised(scheme: Scheme, lanes: int) -> Scheme:
    """The scheme for vectors of so many lanes. One with V, D or M, or of narrow numbers, stays as it is.

    Raises SchemeError where no vectors can be cut from what is unrolled.
    """
    problem = scheme.problem
    if problem.dtype != "f32" or any(isinstance(s, (Vector, DotGroup, Matrix)) for s in scheme.specifiers):
        return scheme
    dim, output = problem.vector_dim, problem.output.name
    whole, vectors = None, 0
    for s in scheme.specifiers:
        if isinstance(s, Unroll) and s.dim == dim and s.factor and s.factor % lanes == 0:
            whole, vectors = s, s.factor // lanes
    if whole is None:
        raise SchemeError(
            f"{scheme.text}: a vector of this CPU has {lanes} lanes along {dim}: end the scheme with V({dim},{lanes}), "
            f"or let U({dim},…) be a multiple of {lanes}"
        )
    around: list[Specifier] = []
    rest: list[Specifier] = []
    for s in scheme.specifiers:
        if isinstance(s, Tile) and s.worker in _OF_A_CORE:
            around.append(Tile(s.dim, s.trips))
        elif isinstance(s, Tile) and s.worker == "block":
            rest.append(Tile(s.dim, s.trips, "core"))
        elif s is whole:
            rest += [Unroll(dim, vectors)] if vectors > 1 else []
        elif not (isinstance(s, Stage) and s.tensor != output):
            rest.append(s)
    held = next((place for place, s in enumerate(rest) if isinstance(s, Stage)), len(rest))
    return Scheme(problem, (*rest[:held], *around, *rest[held:], Vector(dim, lanes)))
