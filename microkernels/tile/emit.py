"""A register tile in C: the accumulators, one step of the reduction, and the stores, as lines of text.

The forms of the statements come from the table in `isa`; the tile is the same for every row of the table. `cpu/` puts
loops around these lines.
"""

#     for every reduction point:                      w_1      w_0     <- one micropanel row, `vectors` loads
#         w_0, w_1   = the next vectors of w       ┌────────┬────────┐
#         x_3        = one x, broadcast            │acc_3_1 │acc_3_0 │ <- row 3 of the tile
#         acc_3_0   += x_3 · w_0                   └────────┴────────┘
#
# In a depthwise convolution every lane has an x of its own: x_3 is a load of a vector, one for each vector of the row.
# In groups side by side (`tiling.rewrite.grouped`) the lanes of that vector are exchanged, too.

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from microkernels.tile.forms import Isa
from microkernels.tile.lanes import own_loads

# Changes whenever emitted tiles, or their benchmark, change so much that old scores no longer describe them.
EMITTER_VERSION = 4


def unchanged(accumulator: str, row: int, v: int) -> str:
    """The C text of the stored value where no epilogue follows the sum: the accumulator."""
    return accumulator


@dataclass(frozen=True)
class Read:
    """One x that a step reads: its address, and the (row, reduction point) pairs that use it.

    exchange: they use lane l ^ exchange of x in lane l.
    """

    address: str
    uses: tuple[tuple[int, int], ...]
    exchange: int = 0


@dataclass(frozen=True)
class TileEmitter:
    """Writes the statements of a register tile of `rows` rows by `vectors` vectors.

    lanewise: x is read by vectors. grouped: lanes are exchanged within their group. output: the dtype that is stored; a
    narrow one is stored from the floats that `finish` gives.
    """

    isa: Isa
    rows: int
    vectors: int
    lanewise: bool = False
    grouped: bool = False
    output: str = "f32"

    def declare(self, from_zero: bool = True) -> list[str]:
        """The declaration of all accumulators, one register each. If not `from_zero`, `begin` or `resume` follows."""
        value = f" = {self.isa.zero}" if from_zero else ""
        return [
            f"{self.isa.vector_type} " + ", ".join(f"{self.acc(row, v)}{value}" for v in range(self.vectors)) + ";"
            for row in range(self.rows)
        ]

    def begin(self, bias: Callable[[int, int], str]) -> list[str]:
        """Accumulators begin with bias(row, vector), a C expression, each in a register of its own."""
        lines = []
        for row in range(self.rows):
            accumulators = [self.acc(row, v) for v in range(self.vectors)]
            loads = [f"{accumulator} = {bias(row, v)};" for v, accumulator in enumerate(accumulators)]
            lines.append(" ".join([*loads, *(f"OWN({accumulator});" for accumulator in accumulators)]))
        return lines

    def taken_up(self) -> list[str]:
        """The lines between `resume` and the first step: none, since accumulators are registers."""
        return []

    def put_down(self) -> list[str]:
        """The lines between the last step and `store`."""
        return []

    def resume(self, addresses: Mapping[int, str], tail: bool) -> list[str]:
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
        addresses: Mapping[int, str],
        tail: bool,
        stream: bool = False,
        finish: Callable[[str, int, int], str] = unchanged,
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

    def step(self, points: list[str], reads: list[Read], tail: bool) -> list[str]:
        """One step of the inner loop over unrolled reduction points.

        `points` has the pointer to the vectors of each point. With `tail`, the last vector of an x that is read by
        vectors reads only the lanes in TAIL; weights are whole vectors.

        Where all weight vectors of the step fit beside the accumulators, each x is read once, and every point that
        shares it uses its register. Otherwise the points follow one another and a shared x is read again: loads are
        cheaper than a spill, and KEEP_APART stops the compiler from merging them. Points with the same exchange of
        lanes stay together where at least their weights fit.
        """
        runs = self._runs(len(points), reads)
        if len(runs) == 1:
            return self._run(points, reads, tail)
        lines: list[str] = []
        for run in runs:
            if lines:
                lines.append("KEEP_APART;")
            own = (replace(read, uses=tuple((row, run.index(p)) for row, p in read.uses if p in run)) for read in reads)
            found = self._run([points[point] for point in run], [read for read in own if read.uses], tail)
            lines += ["{", *("    " + line for line in found), "}"]
        return lines

    def _runs(self, points: int, reads: list[Read]) -> list[tuple[int, ...]]:
        """The reduction points, in runs whose weights are all in registers at once."""
        if points == 1 or self._fits(points, any(read.exchange for read in reads)):
            return [tuple(range(points))]
        alike: dict[int, tuple[int, ...]] = {}
        for exchange, point in sorted({(read.exchange, point) for read in reads for _, point in read.uses}):
            alike[exchange] = (*alike.get(exchange, ()), point)
        if len(alike) == 1 or not all(self._fits(len(run), True) for run in alike.values()):
            return [(point,) for point in range(points)]
        runs: list[tuple[int, ...]] = [()]
        for run in alike.values():
            runs[-1:] = [runs[-1] + run] if self._fits(len(runs[-1] + run), True) else [runs[-1], run]
        return runs

    def _run(self, points: list[str], reads: list[Read], tail: bool) -> list[str]:
        lines = []
        for point, address in enumerate(points):
            lines += self._vectors(address, point, len(points))
        for number, read in enumerate(reads):
            lines += self._multiply(number, read, len(points), tail)
        return lines

    def _fits(self, points: int, exchanged: bool) -> bool:
        # An x, and its exchange. One register stays free: with the last one taken gcc 12 spills (28 rows x 1 vector, 3
        # taps). Narrow groups need one more for the places of their dot groups.
        places = self.grouped and self.isa.numbers is not None
        return (self.rows + points) * self.vectors + 1 + exchanged + places < self.isa.registers

    def _vectors(self, address: str, point: int, points: int) -> list[str]:
        loads = []
        for v in range(self.vectors):
            value = self.isa.load.format(p=self._vector_at(address, v))
            loads.append(f"const {self.isa.vector_type} {self._vector(point, v, points)} = {value};")
        return loads

    def _multiply(self, number: int, read: Read, points: int, tail: bool) -> list[str]:
        """One x and every FMA that uses it. x is broadcast, or a vector for each vector of the row."""
        if not self.lanewise:
            broadcast = self.isa.broadcast.format(p=read.address)
            return [self._block(f"x_{number}", broadcast, read, points, range(self.vectors))]
        lines, (whole, masked) = [], own_loads(self.isa)
        for v in range(self.vectors):
            form = masked if tail and v == self.vectors - 1 else whole
            name = f"x_{number}_{v}" if self.vectors > 1 else f"x_{number}"
            load = form.format(p=self._vector_at(read.address, v), lanes="TAIL")
            load = f"exchange_{read.exchange}({load})" if read.exchange else load
            lines.append(self._block(name, load, read, points, range(v, v + 1)))
        return lines

    def _block(self, x: str, value: str, read: Read, points: int, vectors: range) -> str:
        fmas = []
        for row, point in read.uses:
            for v in vectors:
                acc = self.acc(row, v)
                fmas.append(f"{acc} = {self.isa.fma.format(x=x, w=self._vector(point, v, points), acc=acc)};")
        return f"{{ const {self.isa.vector_type} {x} = {value}; {' '.join(fmas)} }}"

    def _vector_at(self, address: str, v: int) -> str:
        return address if v == 0 else f"{address} + {v * self.isa.lanes}"

    @staticmethod
    def acc(row: int, v: int) -> str:
        return f"acc_{row}_{v}"

    def _vector(self, point: int, v: int, points: int) -> str:
        return f"w_{v}" if points == 1 else f"w_{point}_{v}"
