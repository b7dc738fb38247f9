"""Which valid schemes a CPU kernel can be written for. The scheme language also has specifiers for GPUs."""

from __future__ import annotations

from math import prod

from microkernels.tile.isa import ISAS_OF
from microkernels.tile.isa_row import Isa
from microkernels.tile.matrix import registers_of, runs_of
from tiling.arrays.access import access_of
from tiling.rewrite.copied_rows import summed_axis
from tiling.rewrite.copies.panels import LARGEST_PANEL, panel_elements
from tiling.rewrite.copies.strips import copies_flat_pixels, unsupported_reason
from tiling.rewrite.dot_groups import numbers_per_lane, scheme_in_dot_groups, uses_matrix_instructions
from tiling.rewrite.parts import MOST_PARTS, shared_sum, unshared_reason
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import (
    DotGroup,
    Lambda,
    Matrix,
    Rest,
    SchemeError,
    Stage,
    Tile,
    Unroll,
)

# FMAs unrolled into one step. The largest useful steps have a few hundred. Beyond this limit, compiling takes too long.
MOST_FMAS = 4096


def check(scheme: Scheme, isa: Isa) -> None:
    """Raises SchemeError, which names the specifier, if no kernel of `isa` can be written for a valid scheme."""
    problem = scheme.problem
    output = problem.output.name
    if problem.dtype not in ISAS_OF:
        raise SchemeError(
            f"{problem.op} of {problem.dtype} runs on a GPU only: a CPU kernel computes in {', '.join(ISAS_OF)}"
        )
    if problem.dtype != isa.dtype:
        raise SchemeError(
            f"{isa.name} computes in {isa.dtype}, not {problem.dtype}: use {' or '.join(ISAS_OF[problem.dtype])}"
        )
    if scheme.lanes != isa.lanes:
        raise SchemeError(
            f"V({problem.vector_dim},{scheme.lanes}): {isa.name} has vectors of {isa.lanes} lanes; end the scheme "
            f"with V({problem.vector_dim},{isa.lanes})"
        )
    if not any(isinstance(s, Stage) and s.tensor == output for s in scheme.specifiers):
        raise SchemeError(f"S({output}) is missing: it marks where the register tile of {output} is held")
    if not (problem.keeps_sums or scheme.single_pass):
        raise SchemeError(
            f"a reduction loops outside S({output}), so sums of {problem.sum_dtype} would wait in an {output} of "
            f"{problem.output_dtype}: loop over it inside, or ask for an output of {problem.sum_dtype}"
        )
    for s in scheme.specifiers:
        if isinstance(s, Matrix):
            raise SchemeError(f"{s}: matrix instructions belong to a GPU")
        if isinstance(s, Stage):
            _check_stage(scheme, s)
        if isinstance(s, Tile) and s.worker not in (None, "core"):
            raise SchemeError(f"{s}: a CPU has cores, not {s.worker}s")
        if isinstance(s, (Lambda, Unroll)) and s.dim in problem.looped_dims:
            raise SchemeError(f"{s}: every {s.dim} has vectors of its own, so a register tile holds one; loop over it")
        if isinstance(s, Lambda) and s.dim[0] in problem.reductions:
            raise SchemeError(f"{s}: {s.dim} is summed over; compose output dims instead")
    shared = shared_sum(scheme)
    if shared and (reason := unshared_reason(problem, shared.dim)):
        raise SchemeError(f"{shared}: {reason}")
    if shared and shared.trips > MOST_PARTS:
        raise SchemeError(f"{shared}: cores share a sum in at most {MOST_PARTS} parts")
    _check_exchange(scheme, isa)
    if uses_matrix_instructions(scheme):
        _check_matrix(scheme, isa)
    else:
        _check_tiles(scheme, isa)


def _check_stage(scheme: Scheme, stage: Stage) -> None:
    """A CPU stages four things: the output in registers, a panel of an x that is read in place, strips of flattened
    pixels, and all rows of an a that is (K,M).
    """
    problem, output = scheme.problem, scheme.problem.output.name
    strips = stage.tensor == problem.broadcast.name and copies_flat_pixels(scheme)
    whole = stage.tensor == problem.broadcast.name and summed_axis(problem) is not None
    if (
        stage.tensor != output
        and not strips
        and not whole
        and not (access_of(problem).weights_broadcast and stage.tensor == problem.vector.name)
    ):
        raise SchemeError(
            f"{stage}: on a CPU only the output is staged, in registers, and in panels the x of 1 x 1 convolutions of "
            f"f32, stride 1 and layout nchw, and of padded images whose pixels are one dim hw; S(a), outermost, copies "
            f"an a of (K,M) in f32; weights are packed ahead"
        )
    if stage.depth != 1:
        raise SchemeError(f"{stage}: memory with several stages is a GPU's; use S({stage.tensor})")
    if stage.tensor == output:
        return
    if whole:
        if scheme.specifiers[0] != stage:
            raise SchemeError(f"{stage}: all of {stage.tensor} is copied first: put it outermost")
        return
    if strips:
        refused = unsupported_reason(scheme)
        if refused:
            raise SchemeError(f"{stage}: {refused}")
        return
    place, sums = scheme.specifiers.index(stage), scheme.accumulators_at
    inside = scheme.specifiers[place + 1 : sums]
    if place > sums:
        raise SchemeError(f"{stage}: tiles share a panel of {stage.tensor}, so it stands outside S({output})")
    if not any(isinstance(s, (Rest, Tile, Lambda)) and s.dim in problem.row_dims for s in inside):
        rows = " or ".join(problem.row_dims)
        raise SchemeError(
            f"{stage}: no loop over {rows} stands between it and S({output}), so no other tile reads what one packs: "
            f"put it outside such a loop, or leave it out"
        )
    size = panel_elements(scheme) * access_of(problem).bytes_of(problem.vector)
    if size > LARGEST_PANEL:
        raise SchemeError(
            f"{stage}: a panel of {size} bytes, more than {LARGEST_PANEL}: let it stand inside a loop over "
            f"{problem.vector_dim}"
        )


def _check_matrix(scheme: Scheme, isa: Isa) -> None:
    if isa.matrix is None:
        dot = next(s for s in scheme.specifiers if isinstance(s, DotGroup))
        raise SchemeError(
            f"{dot}: {isa.name} has no matrix instructions: use D({dot.dim},{numbers_per_lane(scheme.problem)}) or "
            f"{' or '.join(name for name, row in ISAS_OF[isa.dtype].items() if row.matrix)}"
        )
    dots = scheme_in_dot_groups(scheme)
    for tile in dots.tiles:
        vectors = tile[dots.problem.vector_dim]
        runs = tuple(run.count for run in runs_of(dots.problem, tile, isa.matrix.rows))
        if registers_of(isa.matrix, runs, vectors) is None:
            raise SchemeError(
                f"the register tile of {len(runs)} runs of rows × {vectors} vectors needs {len(runs) * vectors} tile "
                f"registers for sums and some for what is multiplied, {isa.name} has {isa.matrix.registers}"
            )


def _check_exchange(scheme: Scheme, isa: Isa) -> None:
    dim = access_of(scheme.problem).exchange_dim
    if dim is None:
        return
    size = scheme.problem.extents[dim]
    if isa.lanes % size:
        raise SchemeError(
            f"V({scheme.problem.vector_dim},{isa.lanes}): a group of {size} channels does not fit {isa.lanes} lanes"
        )
    units = scheme.units[dim]
    if any(tile[dim] != units for tile in scheme.tiles):
        raise SchemeError(
            f"U({dim},{units}) is missing: each {dim} is another exchange of lanes, so none of them may loop"
        )


def _check_tiles(scheme: Scheme, isa: Isa) -> None:
    scheme = scheme_in_dot_groups(scheme)
    problem = scheme.problem
    for tile in scheme.tiles:
        vectors = tile[problem.vector_dim]
        rows = prod(tile[dim] for dim in problem.row_dims)
        if rows * vectors > isa.registers:
            raise SchemeError(
                f"the register tile of {rows} rows × {vectors} vectors needs {rows * vectors} accumulators, "
                f"{isa.name} has {isa.registers} registers"
            )
        if prod(tile.values()) > MOST_FMAS:
            raise SchemeError(
                f"the register tile unrolls {prod(tile.values())} FMAs into one step, {MOST_FMAS} are the most: turn "
                "a U over a summed dim into a T"
            )
