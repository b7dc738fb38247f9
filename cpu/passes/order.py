"""The passes of a CPU kernel, in order: from plain loops to the statements that are printed.

    stages(facts) -> (name, kernel), …          the kernel after each pass

A new optimisation is a file of a room here and a line of `PASSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cpu.passes.control.bind_cores import bind_cores, core_loops
from cpu.passes.control.bound_pixels import bound_pixels
from cpu.passes.control.bound_taps import bound_taps
from cpu.passes.control.outline import outline
from cpu.passes.control.share_threads import share_threads
from cpu.passes.control.split_cases import split_cases
from cpu.passes.control.unroll import unroll
from cpu.passes.memory.copy_runs import copy_runs
from cpu.passes.memory.pack_weights import pack_weights
from cpu.passes.memory.prefetch import prefetch
from cpu.passes.memory.prefetch_plan import plan_prefetches
from cpu.passes.memory.stage_panels import plan_panels, stage_panels
from cpu.passes.memory.stage_strips import stage_strips
from cpu.passes.memory.store_lines import store_lines
from cpu.passes.memory.stream_stores import stream_stores
from cpu.passes.registers.hoist_accumulators import hoist_accumulators
from cpu.passes.registers.load_zero import load_zero
from cpu.passes.registers.order_step import order_step
from cpu.passes.registers.own_registers import own_registers
from cpu.passes.registers.walk_pointers import walk_pointers
from cpu.passes.vectors.exchange_lanes import exchange_lanes
from cpu.passes.vectors.matrix_tiles import matrix_tiles
from cpu.passes.vectors.share_sums import share_sums
from cpu.passes.vectors.transpose_stores import transpose_copy, transpose_stores
from cpu.passes.vectors.vectorise import vectorise
from microkernels.tile.forms import Isa
from microkernels.tile.instructions import instructions_of
from microkernels.tile.matrix_instructions import matrix_instructions_of
from tiling.arrays.access import Access, access_of
from tiling.arrays.flat_pixels import passes_gaps
from tiling.dtypes import LANE_BYTES
from tiling.loops.index import ZERO
from tiling.loops.language import Address, Aligned, Alloc, Body, Call, Decide, Flag, Function, If, Kernel, Seen
from tiling.loops.lowering.lower import lower
from tiling.loops.lowering.prefetch import LINE
from tiling.problem import Problem
from tiling.rewrite.copies_of_x import CopyOfX
from tiling.rewrite.im2col import COPY
from tiling.rewrite.laid_out import LAY_OUT
from tiling.rewrite.parts import PARTS, lower_addition, with_addition
from tiling.rewrite.transposed import ROWS
from tiling.rewrite.winograd import Winograd
from tiling.rewrite.winograd_loops import lower_around, product_function
from tiling.scheme.scheme import Scheme


@dataclass(frozen=True)
class Facts:
    """What passes need to know of a kernel beside its loops.

    scheme: in dot groups. problem: as its caller sees it, whose x may be copied first. packed: how many lanes the
    packed weights fill. stream: whether stores may bypass the caches. zero: whether the epilogue compares with zero.
    threads: how many share a call. around: these are the loops around the products of Winograd's algorithm.
    """

    scheme: Scheme
    problem: Problem
    isa: Isa
    packed: int
    stream: bool
    zero: bool
    threads: int = 1
    around: bool = False

    @property
    def access(self) -> Access:
        """How tiles reach x and the output."""
        return access_of(self.scheme.problem)

    @property
    def parts(self) -> int:
        """How many parts of every sum cores add up; 0 where they share no sum."""
        return self.scheme.problem.extents.get(PARTS, 0)

    @property
    def strip(self) -> int:
        """How many flattened pixels x is copied by at a time; 0 where it is not copied strip by strip."""
        return self.scheme.problem.flat_pixels.strip if self.scheme.problem.flat_pixels else 0


@dataclass(frozen=True)
class Pass:
    """One pass, and whether a kernel needs it. around: the loops around Winograd's products may need it too, and those
    that add up the parts of sums.

    copy: what it makes of the loops that copy x; None where they do not need it.
    """

    name: str
    run: Callable[[Kernel, Facts], Kernel]
    applies: Callable[[Facts], bool] = lambda facts: True
    around: bool = False
    copy: Callable[[Kernel, Facts], Kernel] | None = None


_BYTES = {"bf16": 2, "u8": 1}  # of the numbers of an x that is copied; all else is of words
PACK_WEIGHTS = "pack weights"  # the pass after which W is packed
SHARE_THREADS = "share threads"  # the pass after which a kernel is what one thread does


def _for_threads(kernel: Kernel, facts: Facts) -> Kernel:
    return share_threads(kernel, facts.threads > 1, lambda buffer: _BYTES.get(buffer.dtype, LANE_BYTES))


PASSES = (
    Pass(
        "exchange lanes",
        lambda kernel, facts: exchange_lanes(kernel, facts.access.exchange_dim or ""),
        lambda facts: facts.access.exchange_dim is not None,
    ),
    Pass(PACK_WEIGHTS, lambda kernel, facts: pack_weights(kernel, facts.scheme.problem, facts.packed)),
    Pass(
        "stage panels",
        lambda kernel, facts: stage_panels(kernel, facts.scheme.problem, plan_panels(facts.scheme)),
        lambda facts: not facts.strip,
    ),
    Pass(
        "stage strips",
        lambda kernel, facts: stage_strips(kernel, facts.problem, facts.scheme.problem),
        lambda facts: facts.strip > 0,
    ),
    Pass(
        "copy runs",
        lambda kernel, facts: copy_runs(kernel),
        lambda facts: facts.strip > 0,
        copy=lambda kernel, facts: copy_runs(kernel),
    ),
    Pass(
        "prefetch",
        lambda kernel, facts: prefetch(kernel, facts.scheme.problem, plan_prefetches(facts.scheme, facts.stream)),
    ),
    Pass(
        "bound pixels",
        lambda kernel, facts: bound_pixels(kernel, facts.scheme.problem.flat_pixels),
        lambda facts: passes_gaps(facts.scheme.problem),
    ),
    Pass("bound taps", lambda kernel, facts: bound_taps(kernel)),
    Pass("split cases", lambda kernel, facts: split_cases(kernel)),
    Pass(
        "outline",
        lambda kernel, facts: outline(kernel),
        copy=lambda kernel, facts: outline(kernel, "block", lambda tile: f"{tile.name} channels by pixels"),
    ),
    Pass(
        "bind cores",
        lambda kernel, facts: bind_cores(kernel),
        copy=lambda kernel, facts: bind_cores(kernel) if len(core_loops(kernel)) > 1 else kernel,
    ),
    Pass("share sums", lambda kernel, facts: share_sums(kernel), lambda facts: facts.around, around=True),
    Pass(
        "matrix tiles",
        lambda kernel, facts: matrix_tiles(kernel, facts.scheme.problem, matrix_instructions_of(facts.isa)),
        lambda facts: facts.access.by_matrix,
    ),
    Pass(
        "transpose stores",
        lambda kernel, facts: transpose_stores(kernel, facts.scheme.problem, facts.isa.lanes),
        lambda facts: facts.access.transposed_output,
        copy=lambda kernel, facts: transpose_copy(kernel, COPY, ROWS, facts.isa.lanes),
    ),
    Pass(
        "vectorise",
        lambda kernel, facts: vectorise(kernel, instructions_of(facts.isa), facts.isa.lanes, facts.zero),
        around=True,
        copy=lambda kernel, facts: vectorise(kernel, instructions_of(facts.isa), facts.isa.lanes, False),
    ),
    Pass("walk pointers", lambda kernel, facts: walk_pointers(kernel, but=LAY_OUT), around=True),
    Pass(
        "order step",
        lambda kernel, facts: order_step(kernel, facts.isa.registers),
        lambda facts: not facts.access.by_matrix,
    ),
    Pass("unroll", lambda kernel, facts: unroll(kernel), around=True, copy=lambda kernel, facts: unroll(kernel)),
    Pass(
        "hoist accumulators",
        lambda kernel, facts: hoist_accumulators(kernel),
        lambda facts: not facts.access.by_matrix,
        copy=lambda kernel, facts: hoist_accumulators(kernel, ROWS),
    ),
    Pass("own registers", lambda kernel, facts: own_registers(kernel, instructions_of(facts.isa))),
    Pass("load zero", lambda kernel, facts: load_zero(kernel), lambda facts: facts.zero, around=True),
    Pass(
        "stream stores",
        lambda kernel, facts: stream_stores(kernel, instructions_of(facts.isa), facts.isa.lanes),
        lambda facts: facts.stream,
    ),
    Pass(
        "store lines",
        lambda kernel, facts: store_lines(kernel, instructions_of(facts.isa), facts.isa.lanes),
        lambda facts: bool(facts.isa.narrow),
    ),
    Pass(
        SHARE_THREADS,
        _for_threads,
        around=True,
        copy=_for_threads,
    ),
)


COPY_OF_X = "copy_of_x"  # the function that copies x before a kernel computes
INPUT = "input"  # what is copied
COPIES = "copies"  # the flag of a copy that not every call makes
LOWER = "lower"  # the name of the first form, which no pass has changed


def names() -> tuple[str, ...]:
    """The names of all stages of kernels."""
    return (LOWER, *(each.name for each in PASSES))


def stages(facts: Facts) -> Iterator[tuple[str, Kernel]]:
    """The kernel as plain loops, then after each pass."""
    if not facts.parts:
        yield from _stages(facts)
        return
    addition = lower_addition(facts.problem, facts.parts, facts.isa.lanes)
    additions, kernels = dict(stages_around(addition, facts)), dict(_stages(facts))
    for name, kernel in kernels.items():
        addition, last = additions.get(name, addition), name == SHARE_THREADS
        yield name, with_addition(kernel, addition, last and facts.threads > 1, last)


def _stages(facts: Facts) -> Iterator[tuple[str, Kernel]]:
    """The kernel, or where cores share a sum, that of its parts."""
    kernel = lower(facts.scheme)
    yield LOWER, kernel
    for each in PASSES:
        if each.applies(facts):
            kernel = each.run(kernel, facts)
            yield each.name, kernel


def stages_around(kernel: Kernel, facts: Facts) -> Iterator[tuple[str, Kernel]]:
    """Loops around a kernel, or behind it, after each pass: those of Winograd's algorithm, or of an addition."""
    yield LOWER, kernel
    for each in PASSES:
        if each.around and each.applies(facts):
            kernel = each.run(kernel, facts)
            yield each.name, kernel


def stages_of_copy(copy: Kernel, facts: Facts) -> Iterator[tuple[str, Kernel]]:
    """The loops that copy x before a kernel computes, after each pass."""
    yield LOWER, copy
    for each in PASSES:
        if each.copy:
            copy = each.copy(copy, facts)
            yield each.name, copy


def stages_with_copy(copy: CopyOfX | None, facts: Facts) -> Iterator[tuple[str, Kernel]]:
    """The kernel, which first makes a copy of x if there is one, as plain loops and after each pass."""
    if copy is None:
        yield from stages(facts)
        return
    copies, kernels = dict(stages_of_copy(copy.loops, facts)), dict(stages(facts))
    first, kernel = copies[LOWER], kernels[LOWER]
    for name in names():
        if name == SHARE_THREADS:
            yield name, _for_threads(_calling(copy, first, kernel), facts)
        elif name in copies or name in kernels:
            first, kernel = copies.get(name, first), kernels.get(name, kernel)
            yield name, _calling(copy, first, kernel)


def _calling(copy: CopyOfX, first: Kernel, kernel: Kernel) -> Kernel:
    """The kernel that makes the copy first, by the loops `first`. Its X is the copy then; it gets the input."""
    (given, copied), (x, *others) = first.arrays, kernel.arrays
    shown = tuple(replace(f, views=tuple(map(_of_input, f.views))) for f in first.functions)
    views = (("X", INPUT), (COPY, COPY))
    function = Function(COPY_OF_X, views, (), (), first.body, comment=copy.about, apart=True)
    places = (Address(buffer, (ZERO,) * len(of.shape)) for buffer, of in ((INPUT, given), (COPY, copied)))
    call = Call(COPY_OF_X, tuple(places))
    made: Body = (Alloc(copied), call, Seen(x, COPY))
    if not copy.always:
        unlike = Decide(COPIES, (Aligned(INPUT, LINE, does=False),))
        made = (Alloc(copied), unlike, If((Flag(COPIES),), (call,)), Seen(x, COPY, COPIES, INPUT))
    arrays, functions = (replace(given, name=INPUT), *others), (*kernel.functions, *shown, function)
    return replace(kernel, arrays=arrays, body=(*made, *kernel.body), functions=functions)


def _of_input(view: tuple[str, str]) -> tuple[str, str]:
    name, array = view
    return name, INPUT if array == "X" else array


def stages_of_winograd(winograd: Winograd, around: Facts, product: Facts) -> Iterator[tuple[str, Kernel]]:
    """Both: `product` is a function then, whose views are those of one product."""
    outer, inner = dict(stages_around(lower_around(winograd, around.threads), around)), dict(stages(product))
    whole, one = outer[LOWER], inner[LOWER]
    for name in names():
        if name in outer or name in inner:
            whole, one = outer.get(name, whole), inner.get(name, one)
            called = (*one.functions, product_function(one.body))
            yield name, replace(whole, functions=(*whole.functions, *called))
