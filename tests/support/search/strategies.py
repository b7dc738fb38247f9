"""Random problems and schemes, for hypothesis."""

from hypothesis import strategies as st

from tiling.operators import conv2d, matmul
from tiling.scheme.compose import compositions, divisors
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Rest, Stage, Tile, Unroll, Vector


@st.composite
def problems(draw):
    if draw(st.booleans()):
        sizes = {dim: draw(st.integers(1, most)) for dim, most in (("m", 12), ("n", 20), ("k", 12), ("batch", 3))}
        return matmul(**sizes, transpose_a=draw(st.booleans()), transpose_b=draw(st.booleans()))
    small = st.integers(1, 3)
    r, s = draw(small), draw(small)
    return conv2d(
        n=draw(st.integers(1, 2)),
        c=draw(st.integers(1, 4)),
        h=draw(st.integers(r, 8)),
        w=draw(st.integers(s, 8)),
        k=draw(st.integers(1, 12)),
        r=r,
        s=s,
        stride=(draw(small), draw(small)),
        padding=tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in "hw"),
    )


@st.composite
def schemes(draw):
    """A random valid scheme: random factorisations and compositions of every dim, in a random legal order."""
    problem = draw(problems())
    lanes = draw(st.sampled_from((None, 1, 4, 8)))
    loops, unrolls = [], []
    for dim, extent in problem.dims:
        left = -(-extent // lanes) if lanes and dim == problem.vector_dim else extent
        if dim not in problem.reductions and draw(st.booleans()):
            part = draw(st.sampled_from(divisors(left)))
            chosen = draw(st.sampled_from(list(compositions(part, range(1, part + 1)))))
            loops.append(Lambda(dim, chosen.branches))
            unrolls.append(Unroll(dim, None))
            left //= part // chosen.repeat
        for _ in range(draw(st.integers(0, 2))):
            factor = draw(st.sampled_from(divisors(left)))
            left //= factor
            if draw(st.booleans()):
                unrolls.append(Unroll(dim, factor))
            else:
                loops.append(Tile(dim, factor))
        loops.append(draw(st.sampled_from((Rest(dim), Tile(dim, left)))))
    loops = draw(st.permutations(loops))
    for rest in [s for s in loops if isinstance(s, Rest)]:
        first = next(i for i, s in enumerate(loops) if s.dim == rest.dim)
        loops.remove(rest)
        loops.insert(first, rest)
    for i, loop in enumerate(loops):
        if not isinstance(loop, Tile) or loop.dim in problem.reductions:
            break
        loops[i] = Tile(loop.dim, loop.trips, "core")
        if draw(st.booleans()):
            break
    if draw(st.booleans()):
        last = max(i for i, s in enumerate(loops) if s.dim not in problem.reductions)
        loops.insert(draw(st.integers(last + 1, len(loops))), Stage(problem.output.name))
    if draw(st.booleans()):
        bound = sum(getattr(s, "worker", None) == "core" for s in loops)
        loops.insert(draw(st.integers(bound, len(loops))), Stage(problem.vector.name, draw(st.integers(1, 3))))
    vector = [Vector(problem.vector_dim, lanes)] if lanes else []
    return Scheme(problem, (*loops, *draw(st.permutations(unrolls)), *vector))
