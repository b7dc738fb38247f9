"""A sum that cores share: each adds up a part of it, then the parts are added in their order.

    y[m,n] = sum[k] a[m,k] * b[k,n]         y[p,m,n] = sum[k] a[m,256*p+k] * b[256*p+k,n]       p in 0..8, a dim of the
                                       ->                                                       output: problem of tiles
    T(k,8)@core T(n,4) …                    T(p,8)@core T(n,4) …
                                            c[m,n] = y[0,m,n] + y[1,m,n] + …                    `lower_addition`

Tiles, caches and packing treat the parts like groups of channels: each has weights and outputs of its own. The scheme
decides the number of parts, so the number of threads changes no bit of the result. Source: Hidet's parallel-k.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import prod

from tiling.arrays.access import access_of
from tiling.loops.buffer import Buffer
from tiling.loops.facts.sums import sum_of
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Address, Alloc, Body, Call, For, If, Inside, Let, Load, Register, Statement, Store
from tiling.loops.lowering.arrays import arrays
from tiling.loops.lowering.epilogue import epilogue_of
from tiling.loops.rewrite import with_buffers
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError, Tile
from tiling.tensor import Affine, Tensor

PARTS = "p"  # the dim that counts parts
SUMS = "parts"  # the array of the sums of all parts
ADDITION = "add_parts"
# Each part is one more array to write and to read, and one term of the addition.
MOST_PARTS = 256
# Vectors of outputs that a thread adds up at a time: whole cache lines, which no other thread writes to.
_VECTORS = 4


def shared_sum(scheme: Scheme) -> Tile | None:
    """The loop that hands parts of a sum to cores; None where there is none. Raises SchemeError for a second one."""
    reductions = scheme.problem.reductions
    found = [s for s in scheme.specifiers if isinstance(s, Tile) and s.worker == "core" and s.dim in reductions]
    if len(found) > 1:
        raise SchemeError(f"{found[1]}: cores share one summed dim at most, and {found[0]} shares {found[0].dim}")
    return found[0] if found else None


def unshared_reason(problem: Problem, dim: str) -> str:
    """Why cores cannot share the sum over a dim of a problem; "" where they can."""
    if problem.dtype != "f32":
        return f"cores share sums of f32 alone, not of {problem.dtype}"
    if problem.output.shape != problem.written:
        return f"{problem.output.name} lies in a longer array: share outputs"
    if problem.looped_dims:
        return f"every {problem.looped_dims[0]} has sums of its own: share these"
    if access_of(problem).weights_broadcast or access_of(problem).lanewise:
        return f"tiles read vectors of {problem.broadcast.name if access_of(problem).lanewise else 'x'}: share outputs"
    if any(window.tap == dim for window in problem.windows):
        return f"{dim} counts taps of a window, which cores never share: share {problem.reductions[0]}"
    return ""


def in_parts(problem: Problem, dim: str, count: int) -> Problem:
    """The problem of the sums over `count` equal parts of a dim. Its epilogue is left to the addition."""
    size = problem.extents[dim] // count

    def parted(tensor: Tensor) -> Tensor:
        if tensor.role == "output":
            first = Affine(((PARTS, 1),))
            return replace(tensor, indices=(first, *tensor.indices), shape=(count, *tensor.shape))
        indices = (
            Affine(((PARTS, step * size), *index.terms), index.offset) if (step := index.coefficient(dim)) else index
            for index in tensor.indices
        )
        return replace(tensor, indices=tuple(indices))

    dims = tuple((name, size if name == dim else extent) for name, extent in problem.dims)
    tensors = tuple(map(parted, problem.tensors))
    return replace(problem, dims=((PARTS, count), *dims), tensors=tensors, epilogue=None)


def scheme_in_parts(scheme: Scheme) -> Scheme:
    """The same loops for the problem of parts; the scheme itself where cores share no sum."""
    shared = shared_sum(scheme)
    if shared is None:
        return scheme
    loops = tuple(replace(s, dim=PARTS) if s is shared else s for s in scheme.specifiers)
    return Scheme(in_parts(scheme.problem, shared.dim, shared.trips), loops)


def scheme_from_parts(problem: Problem, dim: str, scheme: Scheme) -> Scheme:
    """The inverse: a scheme for `in_parts(problem, dim, …)` whose parts all go to cores, as one for `problem`."""
    loops = tuple(replace(s, dim=dim) if isinstance(s, Tile) and s.dim == PARTS else s for s in scheme.specifiers)
    return Scheme(problem, loops)


def with_addition(kernel: Kernel, addition: Kernel) -> Kernel:
    """The kernel of the sums of parts, and then their addition. Its Y is an array between both."""
    sums, y, *given = addition.arrays
    body = tuple(with_buffers(statement, {"Y": SUMS}) for statement in kernel.body)
    functions = (replace(f, views=tuple((v, SUMS if a == "Y" else a) for v, a in f.views)) for f in kernel.functions)
    arrays = (*(buffer for buffer in kernel.arrays if buffer.name != "Y"), y, *given)
    whole = (Alloc(sums), *body, *addition.body)
    return replace(kernel, arrays=arrays, body=whole, functions=(*functions, *addition.functions))


def lower_addition(problem: Problem, count: int, lanes: int) -> Kernel:
    """Plain loops that add up the parts of every output, and apply the epilogue.

    The kernel's arrays are the parts, Y, and the arrays of the epilogue.

    Each task is a few vectors along the last axis of Y.
    """
    y, *given = (buffer for buffer in arrays(problem) if buffer.name not in "XW")
    sums = Buffer(SUMS, (count, *y.shape), (PARTS, *y.axes))
    *lines, columns = y.shape
    task, width = variable("task"), _VECTORS * lanes
    blocks = -(-columns // width)
    first = applied("%", task, constant(blocks)) * width
    line = applied("/", task, constant(blocks))
    at: list[Index] = []
    for axis, extent in enumerate(lines):
        inside = applied("/", line, constant(prod(lines[axis + 1 :])))
        at.append(applied("%", inside, constant(extent)) if axis else inside)
    place = dict(zip(y.axes, (*at, first)))
    views = [Address(SUMS, (ZERO, *place.values()))]
    views += [Address(buffer.name, tuple(place[axis] for axis in buffer.axes)) for buffer in (y, *given)]
    call = Call(ADDITION, tuple(views), (applied("min", constant(columns) - first, constant(width)),))
    loop = For("task", ZERO, constant(prod(lines) * blocks), 1, (call,), "core")
    return Kernel((sums, y, *given), (loop,), (_addition(problem, sums, y, given, lanes),))


def _addition(problem: Problem, sums: Buffer, y: Buffer, given: list[Buffer], lanes: int) -> Function:
    """The function of a task: `columns` neighbours of Y."""
    *_, along = y.axes
    loads = {buffer.name[2:]: buffer for buffer in given}

    def vector(first: Index) -> Body:
        at = {axis: ZERO for axis in y.axes} | {along: first + LANE}
        parts = [Let(f"part_{n}", Load(SUMS, (constant(n), *at.values()))) for n in range(sums.shape[0])]
        total = Let("sum", sum_of({part.name: Fraction(1) for part in parts}))
        read = {name: Load(f"e_{name}", tuple(at[axis] for axis in buffer.axes)) for name, buffer in loads.items()}
        value = epilogue_of(problem.epilogue.value, Register("sum"), read) if problem.epilogue else Register("sum")
        return (*parts, total, Store("y", tuple(at.values()), value))

    def lane(body: Body) -> For:
        return For("lane", ZERO, constant(lanes), 1, body, "vector")

    columns, rest = variable("columns"), y.shape[-1] % lanes
    whole = columns // lanes * lanes
    body: list[Statement] = []
    if y.shape[-1] >= lanes:
        body.append(For("column", ZERO, whole, lanes, (lane(vector(variable("column"))),)))
    if rest:
        last = lane((If((Inside(LANE, None, rest),), vector(whole if body else ZERO)),))
        body.append(If((Inside(applied("%", columns, constant(lanes)), 1, None),), (last,)))
    views = ((SUMS, SUMS), ("y", "Y"), *((f"e_{name}", buffer.name) for name, buffer in loads.items()))
    comment = f"Adds up the {sums.shape[0]} parts of `columns` outputs, always in this order"
    return Function(ADDITION, views, ("columns",), (), tuple(body), (), comment)
