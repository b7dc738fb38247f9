"""The loads and stores of a register tile's sums, as lines of C.

The forms of the statements come from the table in `isa`. `microkernels.tile.matrix` writes what stands between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from microkernels.tile.forms import Isa

# Changes whenever emitted tiles, or their benchmark, change so much that old scores no longer describe them.
EMITTER_VERSION = 4


# A row of a register tile: its number, or the variable of a loop over rows.
Row = int | str


def unchanged(accumulator: str, row: Row, v: int) -> str:
    """The C text of the stored value where no epilogue follows the sum: the accumulator."""
    return accumulator


@dataclass(frozen=True)
class TileEmitter:
    """Writes what a register tile of `rows` rows by `vectors` vectors loads and stores of its sums.

    output: the dtype that is stored; a narrow one is stored from the floats that `finish` gives.
    """

    isa: Isa
    rows: int
    vectors: int
    output: str = "f32"

    def resume(self, addresses: Mapping[Row, str], tail: bool) -> list[str]:
        """Accumulators go on from the sums of an earlier pass. `addresses` has the output pointer of each row."""
        lines = []
        for row, address in addresses.items():
            loads = []
            for v in range(self.vectors):
                form = self.isa.load_tail if tail and v == self.vectors - 1 else self.isa.load
                loads.append(f"{self.acc(row, v)} = {form.format(p=self._vector_at(address, v), lanes='TAIL')};")
            lines.append(" ".join(loads))
        return lines

    def store(
        self,
        addresses: Mapping[Row, str],
        tail: bool,
        stream: bool = False,
        finish: Callable[[str, Row, int], str] = unchanged,
    ) -> list[str]:
        """Accumulators go to the output. With `tail`, the last vector stores only the lanes in TAIL.

        finish(accumulator, row, vector) gives the C text of the value that is stored.
        """
        narrow = self.isa.narrow_to(self.output)
        forms = narrow or self.isa
        whole = forms.stream if stream else forms.store
        together = narrow.in_line if narrow and not stream else 1
        lines = []
        for row, address in addresses.items():
            values = [finish(self.acc(row, v), row, v) for v in range(self.vectors)]
            stores, v = [], 0
            while v < self.vectors:
                count = together if v + together <= self.vectors - tail else 1
                form = (
                    narrow.store_line
                    if narrow and count > 1
                    else forms.store_tail
                    if tail and v == self.vectors - 1
                    else whole
                )
                stored = ", ".join(values[v : v + count])
                stores.append(form.format(p=self._vector_at(address, v), lanes="TAIL", v=stored) + ";")
                v += count
            lines.append(" ".join(stores))
        return lines

    def _vector_at(self, address: str, v: int) -> str:
        return address if v == 0 else f"{address} + {v * self.isa.lanes}"

    @staticmethod
    def acc(row: Row, v: int) -> str:
        """The C text of a vector of sums."""
        raise NotImplementedError
