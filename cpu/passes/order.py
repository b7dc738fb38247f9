"""The passes of CPU kernels, in order: `PRODUCT`, of a kernel that has a scheme, and `PROGRAM`, of one that has none.

A scheme says which loops there are, in which order, and what is unrolled, in lanes, on cores; passes carry that out.
The loops of a program begin as its text has them, so passes first decide all this by rules, from the loops alone. Only
the last passes are the same: quotients as C rounds them, and what one thread does. A new optimisation is a file of
a room here and a line of a list.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cpu.passes.control.bind_cores import bind_cores, core_loops
from cpu.passes.control.bound_pixels import bound_pixels
from cpu.passes.control.bound_taps import bound_taps
from cpu.passes.control.cut_taps import cut_taps
from cpu.passes.control.divide_from_zero import divide_from_zero
from cpu.passes.control.outline import outline
from cpu.passes.control.place_barriers import place_barriers
from cpu.passes.control.share_threads import share_threads
from cpu.passes.control.split_cases import split_cases
from cpu.passes.control.unroll import unroll
from cpu.passes.facts import ProductFacts, ProgramFacts
from cpu.passes.memory.copy_runs import copy_runs
from cpu.passes.memory.pack_weights import pack_weights
from cpu.passes.memory.place_buffers import place_buffers
from cpu.passes.memory.stage_panels import stage_panels
from cpu.passes.memory.stage_strips import stage_strips
from cpu.passes.memory.store_lines import store_lines
from cpu.passes.memory.stream_stores import stream_stores
from cpu.passes.prefetch.prefetch import prefetch
from cpu.passes.prefetch.prefetch_pixels import prefetch_pixels
from cpu.passes.prefetch.prefetch_rows import prefetch_rows
from cpu.passes.program.bind_tasks import bind_tasks
from cpu.passes.program.bound_loops import bound_loops
from cpu.passes.program.bound_windows import bound_windows
from cpu.passes.program.interleave_rows import interleave_rows
from cpu.passes.program.jam_rows import jam_rows
from cpu.passes.program.jam_vectors import jam_vectors
from cpu.passes.program.join_products import join_products
from cpu.passes.program.lanes.braid_rows import braid_rows
from cpu.passes.program.lanes.claim_lines import claim_lines
from cpu.passes.program.lanes.keep_nan import keep_nan
from cpu.passes.program.lanes.peel_tails import peel_tails
from cpu.passes.program.lanes.prefetch_next_rows import prefetch_next_rows
from cpu.passes.program.lanes.split_lanes import split_lanes
from cpu.passes.program.lanes.store_columns import store_columns
from cpu.passes.program.lanes.transpose_reads import transpose_reads
from cpu.passes.program.lanes.vectors import vectors
from cpu.passes.program.pack_columns import pack_columns
from cpu.passes.program.place_rows import place_rows
from cpu.passes.program.repeat_steps import repeat_steps
from cpu.passes.program.rows.skew_rows import skew_rows
from cpu.passes.program.rows.sum_rows import sum_rows
from cpu.passes.program.share_loops import share_loops
from cpu.passes.program.split_ranges import split_ranges
from cpu.passes.program.spread_reads import spread_reads
from cpu.passes.registers.add_in_place import add_in_place
from cpu.passes.registers.load_zero import load_zero
from cpu.passes.registers.order_step import order_step
from cpu.passes.registers.own_registers import own_registers
from cpu.passes.registers.promote_accumulators import promote_accumulators
from cpu.passes.registers.store_lanes import store_lanes
from cpu.passes.registers.unroll_steps import unroll_steps
from cpu.passes.registers.walk_pointers import walk_pointers
from cpu.passes.vectors.exchange_lanes import exchange_lanes
from cpu.passes.vectors.matrix_tiles import matrix_tiles
from cpu.passes.vectors.shape_tiles import shape_tiles
from cpu.passes.vectors.share_sums import share_sums
from cpu.passes.vectors.transpose_stores import transpose_copy, transpose_stores
from cpu.passes.vectors.vectorise import vectorise
from microkernels.tile.instructions import instructions_of
from microkernels.tile.matrix_instructions import matrix_instructions_of
from tiling.arrays.flat_pixels import passes_gaps
from tiling.dtypes.products import LANE_BYTES
from tiling.loops.kernel import Kernel
from tiling.loops.lowering.prefetch.limits import LONG_VECTOR
from tiling.loops.passes import Pass
from tiling.loops.walk import is_core, walk
from tiling.program.dtypes import WIDTH
from tiling.program.lowering.begin_registers import begin_registers
from tiling.rewrite.copies.im2col import COPY
from tiling.rewrite.copies.laid_out import LAY_OUT
from tiling.rewrite.copies.panels import plan_panels
from tiling.rewrite.copies.transposed import ROWS


@dataclass(frozen=True)
class ProductPass(Pass[ProductFacts]):
    """A pass of products, and which parts of a kernel take it: the product, and loops beside and before it.

    whole: the kernel takes the pass as a whole, after its parts are joined and after all other passes.

    beside: loops beside a product may need the pass too: Winograd's transforms, and the addition of parts of sums.

    copy: the pass for the loops that copy x; None where they do not need it.

    packs: the loops that pack the weights, as "pack weights" leaves them, need the pass too. The passes before that one
    they take as part of the product.
    """

    whole: bool = False
    beside: bool = False
    copy: Callable[[Kernel, ProductFacts], Kernel] | None = None
    packs: bool = False


PACK_WEIGHTS = "pack weights"  # the pass after which W is packed
DIVIDE = "divide from zero"  # before threads share: their numbers are not negative
PLACE_BUFFERS = "place buffers"  # before this pass, shared buffers and a thread's own ones still look different
SHARE_THREADS = "share threads"
PLACE_BARRIERS = "place barriers"  # the pass after which a kernel is what one thread does


def _from_zero(kernel: Kernel, facts: ProductFacts | ProgramFacts) -> Kernel:
    return divide_from_zero(kernel)


def _placed(kernel: Kernel, facts: ProductFacts) -> Kernel:
    return place_buffers(kernel, facts.threads > 1, lambda buffer: WIDTH.get(buffer.dtype, LANE_BYTES))


PRODUCT: tuple[ProductPass, ...] = (
    ProductPass(
        "exchange lanes",
        lambda kernel, facts: exchange_lanes(kernel, facts.access.exchange_dim or ""),
        lambda facts: facts.access.exchange_dim is not None,
    ),
    ProductPass(PACK_WEIGHTS, lambda kernel, facts: pack_weights(kernel, facts.scheme.problem, facts.packed)),
    ProductPass(
        "stage panels",
        lambda kernel, facts: stage_panels(kernel, facts.scheme.problem, plan_panels(facts.scheme)),
        lambda facts: not facts.strips,
    ),
    ProductPass(
        "stage strips",
        lambda kernel, facts: stage_strips(kernel, facts.problem, facts.scheme.problem),
        lambda facts: facts.strips,
    ),
    ProductPass(
        "copy runs",
        lambda kernel, facts: copy_runs(kernel),
        lambda facts: facts.strips,
        copy=lambda kernel, facts: copy_runs(kernel),
    ),
    ProductPass(
        "prefetch",
        lambda kernel, facts: prefetch(kernel, facts.scheme.problem, facts.prefetches),
    ),
    ProductPass("prefetch rows", lambda kernel, facts: prefetch_rows(kernel, facts.prefetches)),
    ProductPass(
        "bound pixels",
        lambda kernel, facts: bound_pixels(kernel, facts.scheme.problem),
        lambda facts: passes_gaps(facts.scheme.problem),
    ),
    ProductPass("bound taps", lambda kernel, facts: bound_taps(kernel)),
    ProductPass("split cases", lambda kernel, facts: split_cases(kernel)),
    ProductPass("cut taps", lambda kernel, facts: cut_taps(kernel)),
    ProductPass(
        "outline",
        lambda kernel, facts: outline(kernel),
        copy=lambda kernel, facts: outline(kernel, "block", lambda tile: f"{tile.name} channels by pixels"),
    ),
    ProductPass(
        "bind cores",
        lambda kernel, facts: bind_cores(kernel),
        copy=lambda kernel, facts: bind_cores(kernel) if len(core_loops(kernel)) > 1 else kernel,
    ),
    ProductPass("share sums", lambda kernel, facts: share_sums(kernel), beside=True),
    ProductPass(
        "matrix tiles",
        lambda kernel, facts: matrix_tiles(kernel, facts.scheme.problem, matrix_instructions_of(facts.isa)),
        lambda facts: facts.access.by_matrix,
    ),
    ProductPass(
        "shape tiles",
        lambda kernel, facts: shape_tiles(kernel, matrix_instructions_of(facts.isa)),
        lambda facts: facts.access.by_matrix,
    ),
    ProductPass(
        "transpose stores",
        lambda kernel, facts: transpose_stores(kernel, facts.scheme.problem, facts.isa.lanes),
        lambda facts: facts.access.transposed_output,
        copy=lambda kernel, facts: transpose_copy(kernel, COPY, ROWS, facts.isa.lanes),
    ),
    ProductPass(
        "vectorise",
        lambda kernel, facts: vectorise(kernel, instructions_of(facts.isa), facts.isa.lanes, facts.zero),
        beside=True,
        copy=lambda kernel, facts: vectorise(kernel, instructions_of(facts.isa), facts.isa.lanes, False),
    ),
    ProductPass(
        "unroll steps",
        lambda kernel, facts: unroll_steps(kernel),
        lambda facts: facts.isa.lanes < LONG_VECTOR and not facts.access.lanewise,
    ),
    # No copy of x takes this pass, so the function that copies a strip keeps its indices too.
    ProductPass("walk pointers", lambda kernel, facts: walk_pointers(kernel, but=LAY_OUT), beside=True),
    ProductPass(
        "order step",
        lambda kernel, facts: order_step(kernel, facts.isa.registers),
        lambda facts: not facts.access.by_matrix,
    ),
    ProductPass(
        "prefetch pixels",
        lambda kernel, facts: prefetch_pixels(
            kernel, facts.prefetches, facts.access.bytes_of(facts.scheme.problem.broadcast)
        ),
        lambda facts: facts.access.lanewise,
    ),
    ProductPass("unroll", lambda kernel, facts: unroll(kernel), beside=True, copy=lambda kernel, facts: unroll(kernel)),
    ProductPass(
        "promote accumulators",
        lambda kernel, facts: promote_accumulators(kernel),
        lambda facts: not facts.access.by_matrix,
        copy=lambda kernel, facts: promote_accumulators(kernel, ROWS),
    ),
    ProductPass("add in place", lambda kernel, facts: add_in_place(kernel, instructions_of(facts.isa))),
    ProductPass("own registers", lambda kernel, facts: own_registers(kernel, instructions_of(facts.isa), facts.bias)),
    ProductPass(
        "load zero",
        lambda kernel, facts: load_zero(kernel, instructions_of(facts.isa)),
        lambda facts: facts.zero,
        beside=True,
    ),
    ProductPass("store lanes", lambda kernel, facts: store_lanes(kernel, instructions_of(facts.isa))),
    ProductPass(
        "stream stores",
        lambda kernel, facts: stream_stores(kernel, instructions_of(facts.isa), facts.isa.lanes),
        lambda facts: facts.stream,
    ),
    ProductPass(
        "store lines",
        lambda kernel, facts: store_lines(kernel, instructions_of(facts.isa), facts.isa.lanes),
        lambda facts: bool(facts.isa.narrow),
    ),
    ProductPass(DIVIDE, _from_zero, beside=True, copy=_from_zero, packs=True),
    ProductPass(PLACE_BUFFERS, _placed, whole=True),
    ProductPass(SHARE_THREADS, lambda kernel, facts: share_threads(kernel, facts.threads > 1), whole=True),
    ProductPass(PLACE_BARRIERS, lambda kernel, facts: place_barriers(kernel), whole=True),
)


# --- programs ---------------------------------------------------------------------------------------------------------

VECTORS = "vectors"  # the last pass whose loops say how many workers share them


def _has_team(kernel: Kernel) -> bool:
    return any(map(is_core, walk(kernel.body)))


PROGRAM: tuple[Pass[ProgramFacts], ...] = (
    Pass("share loops", lambda kernel, facts: share_loops(kernel)),
    Pass("split ranges", lambda kernel, facts: split_ranges(kernel)),
    Pass("spread reads", lambda kernel, facts: spread_reads(kernel)),
    # With vectors of 64 bytes "jam vectors" reads up to 1 KB of each row at once.
    Pass(
        "sum rows",
        lambda kernel, facts: sum_rows(kernel, facts.isa.lanes, facts.threads),
        lambda facts: facts.isa.lanes < LONG_VECTOR,
    ),
    Pass("split lanes", lambda kernel, facts: split_lanes(kernel, facts.isa.lanes)),
    Pass("transpose reads", lambda kernel, facts: transpose_reads(kernel, facts.isa.lanes)),
    Pass(
        "jam vectors",
        lambda kernel, facts: jam_vectors(kernel, facts.isa.lanes, facts.isa.registers, facts.threads),
    ),
    Pass("pack columns", lambda kernel, facts: pack_columns(kernel, facts.isa.lanes)),
    Pass("jam rows", lambda kernel, facts: jam_rows(kernel, facts.isa.registers, bool(facts.isa.once))),
    Pass("interleave rows", lambda kernel, facts: interleave_rows(kernel, facts.isa.registers)),
    Pass("bind tasks", lambda kernel, facts: bind_tasks(kernel, facts.threads)),
    Pass("bound loops", lambda kernel, facts: bound_loops(kernel, facts.isa.lanes)),
    Pass("peel tails", lambda kernel, facts: peel_tails(kernel)),
    # Behind the tails: a loop of whole vectors is cut, not one that says where its last vector begins.
    Pass("bound windows", lambda kernel, facts: bound_windows(kernel)),
    Pass("claim lines", lambda kernel, facts: claim_lines(kernel)),
    Pass("skew rows", lambda kernel, facts: skew_rows(kernel), lambda facts: facts.isa.registers <= 16),
    Pass(
        "prefetch next rows",
        lambda kernel, facts: prefetch_next_rows(kernel),
        lambda facts: facts.isa.registers <= 16,
    ),
    Pass("repeat steps", lambda kernel, facts: repeat_steps(kernel), lambda facts: facts.isa.lanes < LONG_VECTOR),
    Pass(
        "join products",
        lambda kernel, facts: join_products(kernel, facts.isa.registers),
        lambda facts: facts.isa.lanes < LONG_VECTOR,
    ),
    Pass("place rows", lambda kernel, facts: place_rows(kernel)),
    Pass("store columns", lambda kernel, facts: store_columns(kernel, facts.isa.lanes)),
    Pass("braid rows", lambda kernel, facts: braid_rows(kernel, facts.isa.lanes)),
    Pass(VECTORS, lambda kernel, facts: vectors(kernel, facts.isa)),
    Pass(
        "keep nan",
        lambda kernel, facts: keep_nan(kernel, facts.isa),
        lambda facts: bool(facts.isa.nan),
    ),
    Pass("begin registers", lambda kernel, facts: begin_registers(kernel)),
    Pass(DIVIDE, _from_zero),
    Pass(
        PLACE_BUFFERS,
        lambda kernel, facts: place_buffers(kernel, _has_team(kernel), lambda buffer: WIDTH[buffer.dtype]),
    ),
    Pass(SHARE_THREADS, lambda kernel, facts: share_threads(kernel, _has_team(kernel))),
    Pass(PLACE_BARRIERS, lambda kernel, facts: place_barriers(kernel)),
)
