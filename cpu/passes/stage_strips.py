"""Copies the plane of an image strip by strip, in front of the tiles that read the strip.

    stage X along n from n, w from w:              lay out: panel = X[n, …, w …]
      for k in 0..32 by 16:                  ->    for k in 0..32 by 16:
        tile: … X[n, c, w_1 + 9*r + s] …             tile: … panel[c, w_1 - w + 9*r + s] …

Each worker has one panel. The kernel's own function lays out the points of a strip from the pixels of x, with the zeros
between rows; so X, all of the planes, is never in memory.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.loops.index import ZERO, Index, constant, variable
from tiling.loops.language import (
    Address,
    Alloc,
    Body,
    Buffer,
    Do,
    For,
    Immediate,
    Instruction,
    Invoke,
    Kernel,
    Load,
    Operand,
    Stage,
    Statement,
    Store,
    with_blocks,
)
from tiling.loops.rewrite import with_values

STRIP = "panel"


def stage_strips(kernel: Kernel, points: int) -> Kernel:
    """The kernel with a panel of so many points in place of the planes that it stages."""
    planes = next(buffer for buffer in kernel.arrays if buffer.name == "X")
    _, blocks, _, words = planes.shape
    strip = Buffer(STRIP, (blocks, points, words), planes.axes[1:], planes.dtype, "own")

    def body(block: Body) -> Body:
        found: list[Statement] = []
        for statement in block:
            if isinstance(statement, Stage) and statement.buffer == planes.name:
                found += _staged(statement, planes, strip)
            else:
                found.append(with_blocks(statement, body))
        return tuple(found)

    return replace(kernel, body=(Alloc(strip), *body(kernel.body)))


def _staged(stage: Stage, planes: Buffer, strip: Buffer) -> Body:
    """The copy, and what reads it."""
    starts = {along.dim: along.start for along in stage.part}
    image, first = starts["n"], starts["w"]

    def change(part: Operand) -> Operand | None:
        if not isinstance(part, Load) or part.buffer != planes.name:
            return None
        _, block, point, word = part.at
        return Load(strip.name, (block, point - first, word))

    lay_out = Invoke(
        _lay_out(planes, strip, image),
        (
            ("n", Immediate(image)),
            ("w", Immediate(first)),
            ("panel", Address(strip.name, (ZERO, ZERO, ZERO))),
            ("x", Address(planes.name, (image, ZERO, first, ZERO))),
        ),
    )
    return (Do(lay_out), *(with_values(statement, change) for statement in stage.body))


def _lay_out(planes: Buffer, strip: Buffer, image: Index) -> Instruction:
    """The kernel's own function, which computes the points of the planes from x, and what it comes to."""
    of_planes, of_strip = planes.strides[1:], strip.strides
    at = tuple(variable(name) for name in ("block", "point", "word"))
    source, target = (sum((i * s for i, s in zip(at, strides)), ZERO) for strides in (of_planes, of_strip))
    body: Body = (Store("panel", (target,), Load("x", (source,))),)
    for index, extent in reversed(tuple(zip(("block", "point", "word"), strip.shape))):
        body = (For(index, ZERO, constant(extent), 1, body),)
    return Instruction("lay_out", f"laid_out({image_at(image)}, {{panel}}, {{w}}, STRIP)", body)


def image_at(image: Index) -> str:
    """The place in the kernel's input of an image `n`, as a form."""
    return "input" if image == ZERO else "input + {n} * IMAGE"
