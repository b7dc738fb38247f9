"""Transposed output: the output's neighbours are rows of a tile, not lanes, so stores transpose the accumulators.

Consecutive rows form a block (`microkernels.tile.transpose`). A block's vectors of lanes become vectors of rows, one
for each point of the vectorised dim.
"""

from __future__ import annotations

from dataclasses import dataclass

from cpu.codegen.epilogue import block_operand, call
from cpu.codegen.expression import INDENT, indented, terms
from cpu.codegen.site import Site
from microkernels.tile.emit import TileEmitter
from microkernels.tile.transpose import Block
from tiling.bias import stored, stored_arrays
from tiling.expression import added
from tiling.tensor import Tensor


@dataclass(frozen=True)
class TransposedStore:
    """The lines before and after the reduction loops of a site. tail: the last vector is masked."""

    site: Site
    emitter: TileEmitter
    tail: bool

    def resume(self) -> list[str]:
        """The lines that load what an earlier pass stored into the accumulators."""
        isa, lines = self.emitter.isa, []
        for v, block in self._blocks():
            loads = []
            for place in range(isa.lanes):
                address = self._place("y", "Y", self.site.problem.output, block, v, place)
                form = isa.load if block.count == isa.lanes else isa.load_tail
                used = place < self._points(v)
                loads.append(form.format(p=address, lanes=f"FIRST_{block.count}") if used else isa.zero)
            lines += ["{", *indented(self._turned(loads))]
            lines += [f"{INDENT}{self.emitter.acc(block.first + i, v)} = t[{i}];" for i in range(block.count)]
            lines.append("}")
        return lines

    def store(self, finished: bool, stream: bool) -> list[str]:
        """The lines that store the accumulators. finished: the epilogue is applied to them."""
        isa, output, lines = self.emitter.isa, self.site.problem.output, []
        for v, block in self._blocks():
            rows = [self.emitter.acc(block.first + i, v) for i in range(block.count)]
            lines += ["{", *indented(self._turned(rows))]
            forms = isa.narrow_to(self.site.problem.output_dtype) or isa
            whole = forms.stream if stream else forms.store
            form = whole if block.count == isa.lanes else forms.store_tail
            for place in range(self._points(v)):
                value = self._finished(f"t[{place}]", block, v, place) if finished else f"t[{place}]"
                address = self._place("y", "Y", output, block, v, place)
                lines.append(f"{INDENT}{form.format(p=address, lanes=f'FIRST_{block.count}', v=value)};")
            lines.append("}")
        return lines

    def _finished(self, value: str, block: Block, v: int, place: int) -> str:
        """The vector to store for the rows of a block at one point of the vectorised dim, after the epilogue."""
        arrays = []
        for array in stored_arrays(self.site.problem):
            address = self._place(f"e_{array.name}", f"STEP_{array.name}", array, block, v, place)
            arrays.append(block_operand(self.emitter.isa, array, address, self.site.rows, block))
        return call(stored(self.site.problem), self.emitter.isa.floats.format(v=value), arrays)

    def _blocks(self) -> list[tuple[int, Block]]:
        """(vector, rows) of every block to transpose."""
        return [(v, block) for v in range(self.site.vectors) for block in self.site.blocks]

    def _points(self, v: int) -> int:
        """How many points of the vectorised dim vector `v` stores."""
        if self.tail and v == self.site.vectors - 1:
            return self.site.problem.extents[self.site.problem.vector_dim] % self.emitter.isa.lanes
        return self.emitter.isa.lanes

    def _turned(self, vectors: list[str]) -> list[str]:
        return [
            f"{self.emitter.isa.vector_type} t[{self.emitter.isa.lanes}];",
            f"transpose_{len(vectors)}(t, {', '.join(vectors)});",
        ]

    def _place(self, base: str, prefix: str, tensor: Tensor, block: Block, v: int, place: int) -> str:
        """The address of the first row of a block at point `place` of vector `v`."""
        point = {self.site.problem.vector_dim: v * self.emitter.isa.lanes + place}
        return added(base, *terms(prefix, self.site.rows[block.first] | point, tensor))
