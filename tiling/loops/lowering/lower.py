"""A problem and its scheme as plain loops over scalars: the first form of every kernel.

    lower(scheme) -> Kernel

The loops follow the scheme: one `For` for each iteration that it names, also those of U and V, and accumulators where
S(output) stands. Nothing is packed, clipped or vectorised yet. Source of the nest: `tiling.loops.lowering.nest`.
"""

#     R(m) S(c) T(k,60) U(m,10) V(n,16)        ->      for m in 0..100 by 10:
#                                                        acc[10, 1, 16] in registers
#                                                        for m_u in 0..10, unrolled:  …  acc[m_u, 0, lane] = 0
#                                                        for k in 0..60:  …  acc[…] = acc[…] + X[m + m_u, k] * W[k, n]
#                                                        for m_u in 0..10, unrolled:  …  Y[m + m_u, n] = acc[…]
#
# Variables are positions: `h` runs over 0, 14, 28 …, and the loops over h outside it are h_1, h_2 … The loops inside
# S(output), and the unrolled ones, h_u, count from 0. Arrays are named as in C: X, W, Y, and E_b for the array b of an
# epilogue.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod

from tiling.arrays.access import access_of
from tiling.arrays.bias import bias_of, stored
from tiling.arrays.flat_pixels import passes_gaps, without_strips
from tiling.dtypes import LANE_BYTES
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.language import (
    Alloc,
    Along,
    Apply,
    Block,
    Body,
    Buffer,
    Condition,
    Decide,
    Flag,
    For,
    If,
    Inside,
    Kernel,
    Load,
    Number,
    Stage,
    Statement,
    Store,
    Value,
)
from tiling.loops.lowering import nest
from tiling.problem import Problem
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup
from tiling.tensor import Tensor
from tiling.value import Apply as Applied
from tiling.value import Array, Sum
from tiling.value import Number as Constant
from tiling.value import Value as EpilogueValue

ACCUMULATORS = "acc"
WORD = "word"  # counts the words of a dot group that is longer than a lane
FIRST, LAST = "first", "last"  # flags: this pass over a tile's outputs is the first, the last


@lru_cache(maxsize=1)  # the loops that pack the weights begin with those of the kernel
def lower(scheme: Scheme) -> Kernel:
    """The kernel of a scheme as plain loops. It says what is computed and in which order, for any machine."""
    scheme = replace(scheme, problem=without_strips(scheme.problem))
    problem = scheme.problem
    nodes = nest.lower(scheme)
    whole = {dim: Along(dim, ZERO, covered(scheme, dim)) for dim in scheme.extents}
    return Kernel(arrays(problem), _Lowering(scheme).body(nodes, whole, {}))


def arrays(problem: Problem) -> tuple[Buffer, ...]:
    """The arrays of a kernel by the names that they have in C, in the order of its arguments."""
    problem = without_strips(problem)
    named = list(zip("XWY", problem.tensors))
    named += [(f"E_{array.name}", array) for array in problem.epilogue_arrays]
    return tuple(
        Buffer(name, shape_of(problem, tensor), axes_of(problem, tensor), dtype_of(problem, tensor))
        for name, tensor in named
    )


def words_per_group(problem: Problem, tensor: Tensor) -> int:
    """The words of 32 bits of an element of an input, where that is a dot group of matrix instructions; 0
    where it is one number or word.
    """
    is_input = tensor.role in ("broadcast", "vector")
    access = access_of(problem)
    return access.element_bytes // LANE_BYTES if is_input and access.by_matrix else 0


def shape_of(problem: Problem, tensor: Tensor) -> tuple[int, ...]:
    """The extents of a tensor's axes in the loops. The words of a dot group are an axis of their own."""
    if not words_per_group(problem, tensor):
        return tensor.shape
    if not tensor.reach:
        return (*tensor.shape, words_per_group(problem, tensor))
    # Blocks that overlap run on over the next columns, so a row is one axis.
    *lines, columns, pixel = tensor.shape
    return (*lines, columns * pixel)


def covered(scheme: Scheme, dims: str) -> int:
    """Points of a dim that the loops of a scheme visit."""
    groups = [s.points for s in scheme.specifiers if isinstance(s, DotGroup) and s.dim == dims]
    return scheme.covered(dims) * prod(groups) * (scheme.lanes if scheme.problem.vector_dim in dims else 1)


def dtype_of(problem: Problem, tensor: Tensor) -> str:
    """The dtype of a tensor's elements."""
    # An x that is read by vectors keeps its narrow numbers in memory.
    if tensor.role in ("output", "epilogue"):
        return problem.output_dtype if tensor.role == "output" else "f32"
    number, numbers, lanewise = problem.dtype, problem.dot_group, access_of(problem).lanewise
    if tensor.role == "broadcast" and numbers and lanewise:
        return {"int8": "u8"}.get(number, number)
    return f"{number}x{numbers // (words_per_group(problem, tensor) or 1)}" if numbers else number


def axes_of(problem: Problem, tensor: Tensor) -> tuple[str, ...]:
    """A name for each axis: the first dim that moves along it, such as h for `h + r - 1`."""
    axes = [index.terms[0][0] if index.terms else f"axis{axis}" for axis, index in enumerate(tensor.indices)]
    if words_per_group(problem, tensor):
        axes = [*(axes[:-2] if tensor.reach else axes), WORD]
    return tuple(axes)


def in_words(problem: Problem, tensor: Tensor, at: tuple[Index, ...], word: Index) -> tuple[Index, ...]:
    """The place of a word of the element `at` of a tensor. An element without words keeps its place."""
    if not words_per_group(problem, tensor):
        return at
    if not tensor.reach:
        return (*at, word)
    *lines, column, first = at
    return (*lines, column * tensor.shape[-1] + first + word)


@dataclass(frozen=True)
class _Lowering:
    scheme: Scheme

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    def body(self, nodes: tuple[nest.Node, ...], at: Mapping[str, Along], sums: Mapping[str, nest.Loop]) -> Body:
        """The statements of `nodes`. at: the part of each dim that they visit. sums: the loops over summed dims
        outside.
        """
        found: list[Statement] = []
        for node in nodes:
            if isinstance(node, nest.Loop):
                inside = self.loop(node, at, sums)
            elif isinstance(node, nest.Staged) and not node.sums:
                inside = (self.stage(node, at, self.body(node.body, at, sums)),)
            elif isinstance(node, nest.Staged) and (loop := self.shared(node)):
                inside = self.loop(loop, at, sums)
            else:
                here = {dim: along.start for dim, along in at.items()}
                inside = _Tile(self.scheme, here, dict(sums), node).statements()
            # Tiles side by side, the branches of a λ, have the same flags.
            found += [s for s in inside if not (isinstance(s, Decide) and s in found)]
        return tuple(found)

    def shared(self, node: nest.Staged) -> nest.Loop | None:
        """The outermost loop of a tile that hands its outputs to workers, now around it; None where there is none.

        Each worker holds the accumulators of its own part, so such a loop may as well stand outside S(output).
        """

        def without(inner: nest.Node) -> tuple[nest.Loop | None, nest.Node]:
            if isinstance(inner, nest.Register):
                return None, inner
            if isinstance(inner, nest.Loop) and inner.worker and inner.dim[0] not in self.problem.reductions:
                return inner, inner.body[0]
            found, body = without(inner.body[0])
            return found, replace(inner, body=(body,))

        loop, rest = without(node)
        return replace(loop, body=(rest,)) if loop else None

    def stage(self, staged: nest.Staged, at: Mapping[str, Along], body: Body) -> Stage:
        """The statement that stages an input. How its copy lies, and who makes it, is a matter of passes."""
        name, tensor = next(pair for pair in zip("XWY", self.problem.tensors) if pair[1].name == staged.tensor)
        moving = (along for dims, along in at.items() if any(dim in tensor.dims for dim in dims))
        return Stage(name, tuple(moving), body)

    def loop(self, loop: nest.Loop, at: Mapping[str, Along], sums: Mapping[str, nest.Loop]) -> Body:
        start = at[loop.dim].start + loop.start
        if loop.trips == 1 and loop.worker is None:
            return self.body(loop.body, {**at, loop.dim: Along(loop.dim, start, loop.step)}, sums)
        name = position(loop)
        summed = all(dim in self.problem.reductions for dim in loop.dim)
        here = {**at, loop.dim: Along(loop.dim, variable(name), loop.step)}
        inside = self.body(loop.body, here, {**sums, name: loop} if summed else sums)
        return (For(name, start, start + loop.points, loop.step, inside, loop.worker or "serial", loop.dim),)


def position(loop: nest.Loop) -> str:
    """The variable of a loop: `h` for the innermost loop over h, then `h_1`, `h_2`, … outwards."""
    depth = _depth(loop.body, loop.dim)
    return f"{loop.dim}_{depth}" if depth else loop.dim


def _depth(nodes: tuple[nest.Node, ...], dim: str) -> int:
    """How many loops over `dim` stand inside each other in `nodes`. For a λ: in its deepest branch."""
    depths = [0]
    for node in nodes:
        if isinstance(node, nest.Staged):
            depths.append(_depth(node.body, dim))
        elif isinstance(node, nest.Loop):
            written = node.dim == dim and (node.trips > 1 or node.worker is not None)
            depths.append(written + _depth(node.body, dim))
    return max(depths)


@dataclass(frozen=True)
class _Tile:
    """A register tile at a position, with the loops over summed dims inside S(output).

    Where a scheme has no S(output), every point of its innermost loop keeps its sum in Y meanwhile.
    """

    scheme: Scheme
    at: dict[str, Index]
    sums: dict[str, nest.Loop]
    node: nest.Node

    @property
    def problem(self) -> Problem:
        return self.scheme.problem

    @cached_property
    def register(self) -> nest.Register:
        node = self.node
        while not isinstance(node, nest.Register):
            node = node.body[0]
        return node

    @cached_property
    def vector(self) -> str:
        """The dim of this scheme that vectors run along."""
        return next(dim for dim in self.register.extents if self.problem.vector_dim in dim)

    @cached_property
    def rows(self) -> tuple[str, ...]:
        """The other output dims."""
        dims = [d for d in self.register.extents if not self._summed(d) and d != self.vector]
        return tuple(sorted(dims, key=lambda dim: (dim not in self.problem.row_dims, self._place(dim))))

    @cached_property
    def points(self) -> tuple[str, ...]:
        """The summed dims, widest stride in X first, so that unrolled points walk X in order."""
        x, dims = self.problem.broadcast, [d for d in self.register.extents if self._summed(d)]
        return tuple(sorted(dims, key=lambda dim: -x.stride(dim[-1])))

    def _summed(self, dims: str) -> bool:
        return all(dim in self.problem.reductions for dim in dims)

    def _place(self, dims: str) -> int:
        names = list(self.problem.extents)
        return names.index(dims[0])

    def statements(self) -> Body:
        """The accumulators, what they begin with, the sums, and the stores."""
        lanes, extents = self.register.lanes, self.register.extents
        rows = prod(extents[dim] for dim in self.rows)
        shape = (rows, extents[self.vector] // lanes, lanes)
        buffer = Buffer(ACCUMULATORS, shape, ("row", "vector", "lane"), self.problem.sum_dtype, "registers")
        body = (Alloc(buffer), *self.begin(), *self.reduce(self.node), *self.finish())
        return (*self.decisions(), Block(self.name, body))

    @property
    def name(self) -> str:
        """The size of the tile, such as `14wx32kx3s`."""
        order = (*self.rows, self.vector, *self.points)
        extents = self.register.extents
        return "x".join(f"{extents[d]}{d}" for d in order if extents[d] > 1) or "1"

    def reduce(self, node: nest.Node) -> Body:
        """The loops over summed dims, and the sum of one point inside them."""
        if isinstance(node, nest.Staged):
            return self.reduce(node.body[0])
        if isinstance(node, nest.Loop):
            if node.trips == 1:
                return self.reduce(node.body[0])
            name = position(node)
            inner = _Tile(self.scheme, {**self.at, node.dim: self.at[node.dim] + variable(name)}, self.sums, self.node)
            body = inner.reduce(node.body[0])
            return (For(name, ZERO, constant(node.points), node.step, body, "serial", node.dim),)
        body = self._each_output(self.guarded(self.padding() + self.edges(), (self.product(),)), self.words)
        for dim in reversed(self.points):
            body = _unrolled(dim, self.register.extents[dim], body)
        return body

    def outputs(self, statement: Statement) -> Body:
        """The statement for every output of the tile that exists."""
        return self._each_output(self.guarded(self.output_edges(), (statement,)))

    @property
    def words(self) -> int:
        """The words of a dot group, 0 where it fills a lane or a product is of single numbers."""
        return words_per_group(self.problem, self.problem.broadcast)

    def _each_output(self, body: Body, words: int = 0) -> Body:
        """Loops over the outputs of the tile: rows, vectors, lanes. words: a product of so many words each."""
        if self.register.lanes > 1:
            body = (For("lane", ZERO, constant(self.register.lanes), 1, body, "vector"),)
        if words:
            body = (For(WORD, ZERO, constant(words), 1, body, "unrolled"),)
        body = _unrolled(self.vector, self.register.extents[self.vector] // self.register.lanes, body)
        for dim in reversed(self.rows):
            body = _unrolled(dim, self.register.extents[dim], body)
        return body

    def product(self) -> Statement:
        """One multiplication, added to its sum."""
        x, w = (Load(name, self.element(tensor)) for name, tensor in zip("XW", self.problem.tensors))
        in_groups, access = bool(self.problem.dot_group), access_of(self.problem)
        of_group: Value = Apply("alone", (x,)) if in_groups and access.lanewise else x
        if access.exchange_dim:
            of_group = self.of_group(access.exchange_dim)
        product = Apply(f"dot_{self.problem.dtype}" if in_groups else "mul", (of_group, w))
        return self.kept(Apply("add", (self.sum, product)))

    def of_group(self, dim: str) -> Value:
        """The x of a lane whose group stands beside others: the channel that `dim` counts in it, or the word of such
        channels.
        """
        numbers, at = self.problem.dot_group or 1, self.place[self.problem.vector_dim]
        block = self.problem.extents[dim] * numbers
        first = at - LANE + LANE // block * block + self.place[dim] * numbers
        channels = ({self.problem.vector_dim: first + number} for number in range(numbers))
        loads = tuple(Load("X", self.element(self.problem.broadcast, channel)) for channel in channels)
        return Apply("word", loads) if numbers > 1 else loads[0]

    def begin(self) -> Body:
        """What a sum begins with: 0, a bias, or what an earlier pass over the same outputs has stored."""
        bias = bias_of(self.problem)
        first = self.begun(Load(f"E_{bias.name}", self.element(bias)) if bias else Number(0))
        if not self.passes(0):
            return first
        return (If((Flag(FIRST),), first, self.begun(Load("Y", self.element(self.problem.output)))),)

    def begun(self, value: Value) -> Body:
        """Every sum begins with a value; with 0 where it is no output."""
        if value == Number(0) or not self.output_edges():
            return self._each_output((self.kept(value),))
        return self._each_output((If(self.output_edges(), (self.kept(value),), (self.kept(Number(0)),)),))

    def finish(self) -> Body:
        """The store of a sum. The last pass over the same outputs applies the epilogue."""
        left, y = stored(self.problem), self.element(self.problem.output)
        whole = self.outputs(Store("Y", y, self.rounded(self.epilogue(left.value if left else Sum()))))
        if not (left and self.passes(-1)):
            return whole
        return (If((Flag(LAST),), whole, self.outputs(Store("Y", y, self.sum))),)

    def decisions(self) -> Body:
        """The flags that tell the first and the last of several passes over the same outputs."""
        found = [(FIRST, self.passes(0))] + ([(LAST, self.passes(-1))] if stored(self.problem) else [])
        return tuple(Decide(name, tests) for name, tests in found if tests)

    def passes(self, which: int) -> tuple[Condition, ...]:
        """The test for the first (0) or the last (-1) of all passes over the same outputs; () if there is only one."""
        dims = dict.fromkeys(loop.dim for loop in self.sums.values())
        tests = []
        for dim in dims:
            places = nest.starts(tuple(loop for loop in self.sums.values() if loop.dim == dim), dim)
            tests.append(Inside(self.at[dim], places[which], places[which] + 1))
        return tuple(tests)

    def epilogue(self, value: EpilogueValue) -> Value:
        """An epilogue's expression over the sum of this output."""
        floats = self.problem.sum_dtype == "s32" and not self.problem.keeps_sums
        found = Apply("to_f32", (self.sum,)) if floats else self.sum
        arrays = {a.name: Load(f"E_{a.name}", self.element(a)) for a in self.problem.epilogue_arrays}
        return epilogue_of(value, found, arrays)

    def rounded(self, value: Value) -> Value:
        """The value as a number of the output, where that has fewer bits."""
        dtype = self.problem.output_dtype
        return Apply(f"to_{dtype}", (value,)) if dtype in ("bf16", "u8", "s8") else value

    @cached_property
    def accumulator(self) -> tuple[Index, ...]:
        """The place of this output's sum among the accumulators."""
        row = ZERO
        for dim in self.rows:
            extent = self.register.extents[dim]
            row = row * extent + (variable(f"{dim}_u") if extent > 1 else ZERO)
        lanes = self.register.lanes
        vectors = self.register.extents[self.vector] // lanes
        return row, variable(f"{self.vector}_u") if vectors > 1 else ZERO, LANE if lanes > 1 else ZERO

    @property
    def sum(self) -> Value:
        return Load(ACCUMULATORS, self.accumulator)

    def kept(self, value: Value) -> Statement:
        return Store(ACCUMULATORS, self.accumulator, value)

    @cached_property
    def place(self) -> dict[str, Index]:
        """The index along each dim of the problem."""
        found: dict[str, Index] = {}
        for dims, extent in self.register.extents.items():
            lanes = self.register.lanes if dims == self.vector else 1
            at = self.at[dims]
            if extent > lanes:
                at = at + variable(f"{dims}_u") * lanes
            at = at + LANE if lanes > 1 else at
            for place, dim in enumerate(dims):
                inside = prod(self.problem.extents[d] for d in dims[place + 1 :])
                here = applied("/", at, constant(inside)) if inside > 1 else at
                found[dim] = applied("%", here, constant(self.problem.extents[dim])) if place else here
        return found

    def element(self, tensor: Tensor, instead: Mapping[str, Index] | None = None) -> tuple[Index, ...]:
        """The index of each axis of a tensor. instead: indices along some dims in place of this point's."""
        inputs = tensor.role in ("broadcast", "vector")
        place = (self.place if inputs else self.place_of_output) | dict(instead or {})
        at = tuple(
            sum((place[dim] * coefficient for dim, coefficient in index.terms), ZERO) + index.offset
            for index in tensor.indices
        )
        return in_words(self.problem, tensor, at, variable(WORD))

    @cached_property
    def place_of_output(self) -> dict[str, Index]:
        """The index along each dim. Where w counts flattened pixels, it is that of the pixel of y, not of the point."""
        flat, point = self.problem.flat_pixels, self.place.get("w", ZERO)
        if flat is None or not passes_gaps(self.problem):
            return self.place
        line, column = applied("/", point, constant(flat.pitch)), applied("%", point, constant(flat.pitch))
        return {**self.place, "w": line * flat.columns + column}

    def gaps(self) -> tuple[Condition, ...]:
        """The tests that a flattened pixel is a pixel of y: in a column and a line of y."""
        flat, point = self.problem.flat_pixels, self.place.get("w", ZERO)
        if flat is None or not passes_gaps(self.problem):
            return ()
        line, column = applied("/", point, constant(flat.pitch)), applied("%", point, constant(flat.pitch))
        return Inside(column, None, flat.columns), Inside(line, None, flat.rows)

    def padding(self) -> tuple[Condition, ...]:
        """The tests that a tap lies on X. Along a dim without padding there is none."""
        padded = self.problem.padded_dims
        tests = []
        for window in self.problem.windows:
            if window.dim in padded:
                at = self.place[window.dim] * window.stride + self.place[window.tap] * window.dilation - window.before
                tests.append(Inside(at, 0, window.extent))
        return tuple(tests)

    def output_edges(self) -> tuple[Condition, ...]:
        """The tests that an output exists."""
        return self.edges(tuple(dims for dims in self.scheme.extents if not self._summed(dims))) + self.gaps()

    def edges(self, among: tuple[str, ...] | None = None) -> tuple[Condition, ...]:
        """The tests that a point exists, for dims whose last tile reaches beyond their end. among: these dims only."""
        tests = []
        for dims, extent in self.scheme.extents.items():
            if (among is None or dims in among) and covered(self.scheme, dims) > extent:
                at, inside = self.at[dims], self.register.extents[dims]
                unrolled = at + variable(f"{dims}_u") if inside > 1 else at
                tests.append(Inside(self.place[dims] if len(dims) == 1 else unrolled, None, extent))
        return tuple(tests)

    @staticmethod
    def guarded(tests: tuple[Condition, ...], body: Body) -> Body:
        return (If(tests, body),) if tests else body


def epilogue_of(value: EpilogueValue, found: Value, arrays: Mapping[str, Load]) -> Value:
    """An epilogue's expression over the sum `found` and elements of its arrays."""
    if isinstance(value, Sum):
        return found
    if isinstance(value, Constant):
        return Number(value.value)
    if isinstance(value, Array):
        return arrays[value.name]
    assert isinstance(value, Applied)
    return Apply(value.operation, tuple(epilogue_of(argument, found, arrays) for argument in value.arguments))


def _unrolled(dim: str, extent: int, body: Body) -> Body:
    if extent == 1:
        return body
    return (For(f"{dim}_u", ZERO, constant(extent), 1, body, "unrolled", dim),)
