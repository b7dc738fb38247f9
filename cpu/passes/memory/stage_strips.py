"""Copies the flattened pixels of an image strip by strip, in front of the tiles that read the strip.

    stage X, n from n for 1, …, w from w_1 for 28, …                    laid_out(X + [n, 0, 0, 0], panel, w_1)
      for w in w_1..(w_1 + 28) by 14:                             ->    for w in w_1..(w_1 + 28) by 14:
        …                                                                 …
        acc[…] += dot_bf16(X[n, 0, w + w_u + 8*r + s, word], …            acc[…] += dot_bf16(panel[0, …, word], …

Each worker has one panel. `laid_out` copies the points of a strip from the rows of x, with the zeros between rows
(`tiling.rewrite.copies.laid_out`). From here on X is x as the caller hands it over, and its points are in memory strip
by strip.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.dtypes.products import OPERAND_DTYPES
from tiling.loops.buffer import Buffer
from tiling.loops.index import ZERO
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Alloc, Body, Call, Load, Operand, StagedPart, Statement
from tiling.loops.lowering.arrays import arrays
from tiling.loops.rewrite import with_values
from tiling.loops.walk import walk, with_blocks
from tiling.problem import Problem
from tiling.rewrite.copies.laid_out import LAY_OUT, STRIP, lay_out


def stage_strips(kernel: Kernel, problem: Problem, dots: Problem) -> Kernel:
    """The kernel with a panel of the points of a strip in place of all points.

    problem: as its caller sees it. dots: in dot groups. The stage has the length of a strip.
    """
    (points, *others), (x, *_), flat = kernel.arrays, arrays(problem), dots.flat_pixels
    assert flat
    stages = (s for s in walk(kernel.body) if isinstance(s, StagedPart) and s.buffer == points.name)
    (computed,) = {along.points for stage in stages for along in stage.part if along.dim == flat.dim}
    _, blocks, _, held = points.shape
    strip = Buffer(STRIP, (blocks, computed + flat.reach, held), points.axes[1:], points.dtype, "own")

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            if isinstance(statement, StagedPart) and statement.buffer == points.name:
                found += _staged(statement, points, strip)
            else:
                found.append(with_blocks(statement, body))
        return tuple(found)

    given = replace(x, dtype=OPERAND_DTYPES[problem.dtype][0])
    functions = (*kernel.functions, lay_out(problem, dots, computed + flat.reach))
    return replace(kernel, arrays=(given, *others), body=(Alloc(strip), *body(kernel.body)), functions=functions)


def _staged(stage: StagedPart, points: Buffer, strip: Buffer) -> Body:
    """The copy of a strip, and the statements that read it."""
    starts = {along.dim: along.start for along in stage.part}
    image, first = starts[points.axes[0]], starts[points.axes[2]]

    def change(part: Operand) -> Operand | None:
        if not isinstance(part, Load) or part.buffer != points.name:
            return None
        _, block, point, word = part.at
        return Load(strip.name, (block, point - first, word))

    views = Address(points.name, (image, ZERO, ZERO, ZERO)), Address(strip.name, (ZERO, ZERO, ZERO))
    copied = Call(LAY_OUT, views, (first,))
    return (copied, *(with_values(statement, change) for statement in stage.body))
