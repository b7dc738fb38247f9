"""The passes of a kernel on a GPU, in order: from plain loops to the statements that are printed.

    program_forms(program) -> (name, kernel), …      the kernel of a program after each pass
    scheme_forms(scheme) -> (name, kernel), …        that of a scheme
    copy_forms(kernel) -> (name, kernel), …          that of copies which come before it

A new optimisation is a file of a room here and a line of a list.
"""

from __future__ import annotations

from typing import Any

from gpu.passes.check_scheme import check_scheme
from gpu.passes.each_thread.guard_workers import guard_workers
from gpu.passes.each_thread.round_stores import round_stores
from gpu.passes.facts.workers import takers_of
from gpu.passes.matrices.copy_asynchronously import copy_asynchronously
from gpu.passes.matrices.gather_rows import gather_rows
from gpu.passes.matrices.load_matrices import load_matrices
from gpu.passes.matrices.load_once import load_once
from gpu.passes.matrices.multiply_matrices import multiply_matrices
from gpu.passes.matrices.share_sums import parts_of, share_sums
from gpu.passes.matrices.stage_matrices import stage_matrices
from gpu.passes.matrices.store_pairs import store_pairs
from gpu.passes.matrices.swizzle import swizzle, swizzle_stores
from gpu.passes.memory.allocate_shared import allocate_shared
from gpu.passes.memory.place_barriers import place_barriers
from gpu.passes.memory.prefetch_maps import prefetch_maps
from gpu.passes.memory.stage_tiles import stage_tiles
from gpu.passes.memory.widen import widen
from gpu.passes.memory.widen_copies import widen_copies
from gpu.passes.rows.bind_rows import bind_rows
from gpu.passes.rows.deal_neighbours import deal_neighbours
from gpu.passes.rows.keep_rows import keep_rows
from gpu.passes.rows.place_rows import place_rows
from gpu.passes.rows.share_rows import share_rows
from gpu.passes.rows.unroll_turns import unroll_turns
from gpu.passes.steps.fill_ahead import fill_ahead
from gpu.passes.steps.keep_loops import keep_loops
from gpu.passes.steps.load_ahead import load_ahead
from gpu.passes.steps.load_first import load_first
from gpu.passes.steps.state_parities import state_parities
from gpu.passes.steps.unroll_copies import unroll_copies
from gpu.passes.threads.bind_blocks import bind_blocks
from gpu.passes.threads.bind_clusters import bind_clusters
from gpu.passes.threads.bind_points import bind_points
from gpu.passes.threads.bind_threads import bind_threads
from gpu.passes.threads.combine_lanes import combine_lanes
from gpu.passes.threads.elect_threads import elect_threads
from gpu.passes.threads.interleave_points import interleave_points
from gpu.passes.threads.join_launches import join_launches
from gpu.passes.threads.move_registers import move_registers
from gpu.passes.threads.skip_blocks import skip_blocks
from gpu.passes.threads.skip_turns import skip_turns
from gpu.passes.threads.split_launches import split_launches
from gpu.passes.threads.state_conditions import state_conditions
from gpu.passes.threads.transpose_tiles import transpose_tiles
from gpu.passes.values.add_zeros import add_zeros
from gpu.passes.values.compute_in_f32 import compute_in_f32
from gpu.passes.values.guard_gathers import guard_gathers
from gpu.passes.warpgroups.copy_boxes import copy_boxes
from gpu.passes.warpgroups.cut_tiles import cut_tiles
from gpu.passes.warpgroups.join_steps import join_steps
from gpu.passes.warpgroups.kinds import (
    as_read,
    blocks_of_cluster,
    has_clusters,
    is_of_warpgroups,
    moves_registers,
    stores_boxes,
    threads_copy,
)
from gpu.passes.warpgroups.load_residual import load_residual
from gpu.passes.warpgroups.multiply_beside import multiply_beside
from gpu.passes.warpgroups.multiply_warpgroups import multiply_warpgroups
from gpu.passes.warpgroups.share_copies import share_copies
from gpu.passes.warpgroups.specialise_warps import specialise_warps
from gpu.passes.warpgroups.store_boxes import store_boxes
from gpu.passes.warpgroups.take_turns import take_turns
from tiling.loops.kernel import Kernel
from tiling.loops.lowering.lower import lower_scheme
from tiling.loops.passes import Forms, Pass, forms
from tiling.program.infer import Sized
from tiling.program.lowering.begin_registers import begin_registers
from tiling.program.lowering.lower import lower_program
from tiling.program.rewrite.order import rewritten
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Matrix, Stage

_MAPS: tuple[Pass[None], ...] = (
    Pass("transpose tiles", lambda kernel, _: transpose_tiles(kernel)),
    Pass("bind points", lambda kernel, _: bind_points(kernel)),
)
_SHARED: tuple[Pass[None], ...] = (
    Pass("allocate shared", lambda kernel, _: allocate_shared(kernel)),
    Pass("place barriers", lambda kernel, _: place_barriers(kernel)),
)
# What one thread does, and does so in CUDA.
_LAST: tuple[Pass[Any], ...] = (
    Pass("guard workers", lambda kernel, _: guard_workers(kernel)),
    Pass("round stores", lambda kernel, _: round_stores(kernel)),
)
_WIDEN: Pass[None] = Pass("widen", lambda kernel, _: widen(kernel))

PROGRAM: tuple[Pass[None], ...] = (
    Pass("split launches", lambda kernel, _: split_launches(kernel)),
    Pass("guard gathers", lambda kernel, _: guard_gathers(kernel)),
    *_MAPS,
    Pass("bind rows", lambda kernel, _: bind_rows(kernel)),
    Pass("share rows", lambda kernel, _: share_rows(kernel)),
    Pass("unroll turns", lambda kernel, _: unroll_turns(kernel)),
    Pass("keep rows", lambda kernel, _: keep_rows(kernel)),
    Pass("deal neighbours", lambda kernel, _: deal_neighbours(kernel)),
    _WIDEN,
    Pass("place rows", lambda kernel, _: place_rows(kernel)),
    Pass("combine lanes", lambda kernel, _: combine_lanes(kernel)),
    Pass("elect threads", lambda kernel, _: elect_threads(kernel)),
    *_SHARED,
    Pass("begin registers", lambda kernel, _: begin_registers(kernel)),
    *_LAST,
)

# Copies of several inputs are one launch, as soon as their points are bound.
COPIES: tuple[Pass[None], ...] = (
    *_MAPS,
    Pass("join launches", lambda kernel, _: join_launches(kernel)),
    _WIDEN,
    *_SHARED,
    *_LAST,
)


def _has_matrix(scheme: Scheme) -> bool:
    return isinstance(scheme.specifiers[-1], Matrix)


def _of_warps(scheme: Scheme) -> bool:
    return _has_matrix(scheme) and not is_of_warpgroups(scheme)


def _of_boxes(scheme: Scheme) -> bool:
    return is_of_warpgroups(scheme) and not threads_copy(scheme)


def _of_threads(scheme: Scheme) -> bool:  # who copy for warpgroups
    return is_of_warpgroups(scheme) and threads_copy(scheme)


def _of_clusters(scheme: Scheme) -> bool:  # of several blocks
    return has_clusters(scheme) and blocks_of_cluster(scheme) > 1


def _of_rings(scheme: Scheme) -> bool:  # that threads fill for themselves
    return not _has_matrix(scheme) and any(isinstance(s, Stage) and s.depth > 1 for s in scheme.specifiers)


def _copied(scheme: Scheme) -> bool:
    return _of_warps(scheme) or _of_threads(scheme) or _of_rings(scheme)


def _moves_registers(scheme: Scheme) -> bool:
    return is_of_warpgroups(scheme) and moves_registers(scheme)


SCHEME: tuple[Pass[Scheme], ...] = (
    Pass("compute in f32", compute_in_f32),
    Pass("bind blocks", lambda kernel, _: bind_blocks(kernel), lambda scheme: not has_clusters(scheme)),
    Pass("bind clusters", bind_clusters, has_clusters),
    Pass("state conditions", lambda kernel, _: state_conditions(kernel), lambda scheme: parts_of(scheme) > 1),
    Pass("interleave points", lambda kernel, _: interleave_points(kernel), lambda scheme: not _has_matrix(scheme)),
    Pass("bind threads", lambda kernel, _: bind_threads(kernel)),
    Pass("stage tiles", stage_tiles, lambda scheme: not _has_matrix(scheme)),
    Pass("stage matrices", stage_matrices, _has_matrix),
    Pass("cut tiles", cut_tiles, _of_threads),
    Pass("copy asynchronously", lambda kernel, _: copy_asynchronously(kernel), _copied),
    Pass("join steps", lambda kernel, _: join_steps(kernel), _of_boxes),
    Pass("copy boxes", copy_boxes, _of_boxes),
    Pass("widen copies", lambda kernel, _: widen_copies(kernel)),
    Pass("fill ahead", lambda kernel, scheme: fill_ahead(kernel, scheme, 1 + _of_threads(scheme)), _copied),
    Pass("gather rows", lambda kernel, _: gather_rows(kernel), _copied),
    Pass("swizzle", lambda kernel, _: swizzle(kernel, of_warpgroups=True), is_of_warpgroups),
    Pass("add zeros", lambda kernel, _: add_zeros(kernel)),
    Pass("multiply matrices", multiply_matrices, _of_warps),
    Pass("multiply warpgroups", multiply_warpgroups, is_of_warpgroups),
    Pass("multiply beside", lambda kernel, _: multiply_beside(kernel), _of_threads),
    Pass("share sums", share_sums, lambda scheme: parts_of(scheme) > 1),
    Pass("specialise warps", specialise_warps, _of_boxes),
    Pass("take turns", take_turns, lambda scheme: bool(takers_of(scheme))),
    Pass("skip turns", skip_turns, lambda scheme: bool(takers_of(scheme))),
    Pass("store boxes", store_boxes, stores_boxes),
    Pass("load residual", load_residual, stores_boxes),
    Pass("move registers", lambda kernel, _: move_registers(kernel), _moves_registers),
    Pass("load matrices", load_matrices, _of_warps),
    Pass("load ahead", lambda kernel, _: load_ahead(kernel), _of_warps),
    Pass("load first", lambda kernel, _: load_first(kernel), _of_warps),
    Pass("store pairs", lambda kernel, _: store_pairs(kernel), _has_matrix),
    Pass("swizzle", lambda kernel, _: swizzle_stores(kernel), stores_boxes),
    Pass("load once", lambda kernel, _: load_once(kernel), _of_warps),
    Pass("unroll copies", lambda kernel, _: unroll_copies(kernel), _copied),
    Pass("swizzle", lambda kernel, _: swizzle(kernel), _of_warps),
    Pass("skip blocks", skip_blocks, _has_matrix),
    Pass("allocate shared", lambda kernel, _: allocate_shared(kernel)),
    Pass("place barriers", lambda kernel, _: place_barriers(kernel)),
    Pass("share copies", lambda kernel, _: share_copies(kernel), _of_clusters),
    Pass("prefetch maps", lambda kernel, _: prefetch_maps(kernel), _of_boxes),
    Pass("state parities", lambda kernel, _: state_parities(kernel), _of_boxes),
    Pass("keep loops", lambda kernel, _: keep_loops(kernel), _copied),
    *_LAST,
)


def program_forms(program: Sized) -> Forms:
    """The plain loops of a program, with cheap maps where they are read and long sums in parts; then of each pass."""
    return forms(lower_program(rewritten(program, transposes=False)), PROGRAM, None)


def copy_forms(kernel: Kernel) -> Forms:
    """The loops that copy inputs to rows of whole chunks, then after each pass."""
    return forms(kernel, COPIES, None)


def scheme_forms(scheme: Scheme) -> Forms:
    """The plain loops of a scheme, then after each pass that it needs. Raises SchemeError."""
    check_scheme(scheme)
    read = as_read(scheme)
    return forms(lower_scheme(read), SCHEME, read)
