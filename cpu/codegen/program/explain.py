"""Why a program's kernel has its loops: what was fused, what runs where. One sentence a line."""

from __future__ import annotations

from collections.abc import Iterator

from cpu.passes.forms import program_forms
from microkernels.tile.isa_row import Isa
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, For
from tiling.loops.walk import walk
from tiling.program.dtypes import WIDTH
from tiling.program.infer import Sized
from tiling.program.lowering.group import Group, groups
from tiling.program.lowering.limits import limits
from tiling.program.lowering.online import BLOCK, Online, online
from tiling.program.rewrite.inline import kept_because
from tiling.program.rewrite.order import shortened
from tiling.program.rewrite.split_sums import split_sums


def explained(program: Sized, isa: Isa, threads: int) -> list[str]:
    """The sentences, in the order of the program."""
    short = shortened(program)
    left = {statement.array for statement in short.program.statements}
    gone = [s.array for s in program.program.statements if s.array not in left]
    found = [f"{name} is computed where it is read, and stored nowhere" for name in gone]
    for group in groups(short):
        found += _of_group(short, group)
    ends: dict[tuple[str, str], list[str]] = {}
    for (array, dim), limit in limits(short).items():
        ends.setdefault((dim, str(limit)), []).append(array)
    found += [f"loops over {dim} for {' '.join(arrays)} end at {end}" for (dim, end), arrays in ends.items()]
    found += [f"{name} stays a statement of its own: {why}" for name, why in kept_because(short)]
    parts = split_sums(short)
    whole = {statement.array for statement in short.program.statements}
    found += [
        f"{array.name.partition('_parts')[0]} is summed in {array.shape[0]} parts, which cores may share"
        for array in parts.assigned
        if array.name not in whole and "_parts" in array.name
    ]
    forms = dict(program_forms(program, isa, threads))
    return [*found, *_of_lanes(forms["split lanes"]), *_of_cores(forms["vectors"], threads)]


def _of_group(program: Sized, group: Group) -> Iterator[str]:
    if len(group.statements) < 2:
        return
    names = " ".join(s.array for s in group.statements)
    along = online(program, group)
    if along:
        yield f"{names} share the loops over {' '.join(group.dims)}; {_of_blocks(along)}"
        return
    rows = [array for array in program.assigned if array.name in group.rows]
    dims = {statement.array: statement.dims for statement in group.statements}
    size = sum(WIDTH[array.dtype] * _points(array.shape, dims[array.name], group) for array in rows)
    kept = f", and one row of {' '.join(array.name for array in rows)} is kept, {size} bytes" if rows else ""
    yield f"{names} share the loops over {' '.join(group.dims)}{kept}"


def _of_blocks(along: Online) -> str:
    sums = " ".join(statement.array for statement in along.sums)
    kept = " ".join(s.array for s in along.inside if along.dim in s.dims)
    return (
        f"{along.largest.array} is the largest value so far, and where it grows {sums} are multiplied"
        + f", so that {kept} need room for a block of {BLOCK} of {along.dim}" * bool(kept)
    )


def _points(shape: tuple[int, ...], dims: tuple[str, ...], group: Group) -> int:
    points = 1
    for extent, dim in zip(shape, dims):
        points *= 1 if dim in group.dims else extent
    return points


def _of_lanes(kernel: Kernel) -> Iterator[str]:
    lanes = dict.fromkeys(
        s.dim for s in walk(kernel.body) if isinstance(s, For) and s.dim and s.kind == "serial" and s.step > 1
    )
    if lanes:
        yield f"lanes of vectors walk {' '.join(lanes)}"


def _of_cores(kernel: Kernel, threads: int) -> Iterator[str]:
    bound = [s for s in kernel.body if isinstance(s, For)]
    cores = [s.stop.offset for s in bound if s.kind == "core"]
    for loop in (s for s in bound if s.kind != "core" and threads > 1):
        yield f"the loop over {loop.dim or loop.name} runs on one core: there is too little to do for more"
    if cores:
        yield f"{max(cores)} cores share the outer loops"
    own = [s.buffer for s in kernel.body if isinstance(s, Alloc) and s.buffer.memory == "global"]
    for buffer in own:
        yield f"{buffer.name} lies in memory between two loops"
