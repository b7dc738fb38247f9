"""Gives the tile registers of each worker the shapes that its tiles need, and gives the registers back.

    for h in 0..4:                       tile registers of this worker
      tile0_14wx16k(…)                   for h in 0..4:
                                   ->      shape tile registers tmm0[14, 16], …
                                           tile0_14wx16k(…)
                                         tiles_end()

All kinds of one tile have the same shapes, which are set once. Workers release the registers before they return.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from microkernels.tile.matrix_instructions import MatrixInstructions
from tiling.loops.buffer import Buffer
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Alloc, Body, Call, Do, If, Invoke, Statement
from tiling.loops.machines import Shape, Tiles
from tiling.loops.walk import for_each_worker, walk, with_blocks

Shapes = tuple[Buffer, ...]


def shape_tiles(kernel: Kernel, instructions: MatrixInstructions) -> Kernel:
    """The kernel whose workers set the shapes of tile registers in front of the tiles that use them."""
    shaper = _Shaper({function.name: shapes for function in kernel.functions if (shapes := _shapes(function))})
    release = Do(Invoke(instructions.release, ()))
    body = for_each_worker(kernel.body, lambda block: (Tiles(), *shaper.body(block), release))
    return replace(kernel, body=body, shapes=True)


def _shapes(function: Function) -> Shapes:
    """The tile registers of a function."""
    return tuple(s.buffer for s in function.body if isinstance(s, Alloc) and s.buffer.memory == "tile")


@dataclass
class _Shaper:
    """shapes: the shapes that each function needs. names: the names of the sets of shapes so far."""

    shapes: Mapping[str, Shapes]
    names: dict[Shapes, str] = field(default_factory=dict)

    def body(self, body: Body) -> Body:
        """The block with the shapes in front of each tile, or of the choice between its kinds."""
        found: list[Statement] = []
        for statement in body:
            calls = [s for s in walk((statement,)) if isinstance(s, Call)] if isinstance(statement, (Call, If)) else []
            if any(call.function in self.shapes for call in calls):
                (shapes,) = {self.shapes[call.function] for call in calls}
                found.append(Shape(self.names.setdefault(shapes, f"SHAPES_{len(self.names)}"), shapes))
                found.append(statement)
            else:
                found.append(with_blocks(statement, self.body))
        return tuple(found)
