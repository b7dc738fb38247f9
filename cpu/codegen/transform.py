"""A product of a small constant matrix with a vector of vectors, as straight-line C that shares common sums.

input_points(d0, …, d5, v, step)     v[0], v[step], … = matrix · (d0 … d5), lane by lane
"""

from __future__ import annotations

from fractions import Fraction

from microkernels.tile.isa import Isa
from tiling.rewrite.winograd import Matrix

# The points of Winograd's algorithm come in pairs ±p, so columns or rows of a matrix often differ in signs only. Of two
# such columns, the sum and the difference of the two inputs serve all rows. Of two such rows, the terms of equal sign
# and the terms of opposite sign are summed once: one row is their sum, the other their difference.

Row = dict[str, Fraction]  # the factor of each vector in a result


def transform_lines(matrix: Matrix, inputs: list[str], isa: Isa) -> tuple[list[str], list[str]]:
    """Declarations of the shared sums, and the C expression of each row of `matrix` times `inputs`."""
    writer = _Writer(isa)
    rows = [{name: value for name, value in zip(inputs, row) if value} for row in matrix]
    rows = writer.paired_columns(rows, inputs)
    return writer.lines, writer.paired_rows(rows)


class _Writer:
    """Collects the declarations of shared sums."""

    def __init__(self, isa: Isa):
        self.isa = isa
        self.lines: list[str] = []

    def paired_columns(self, rows: list[Row], inputs: list[str]) -> list[Row]:
        """The rows with pairs of inputs that always occur together replaced by their sums and differences."""
        free = list(inputs)
        while free:
            a = free.pop(0)
            for b in free:
                signs = {row.get(a, 0) == row.get(b, 0) for row in rows if a in row or b in row}
                alike = all(abs(row.get(a, 0)) == abs(row.get(b, 0)) for row in rows)
                if alike and signs == {True, False}:
                    free.remove(b)
                    rows = [self._joined(row, a, b) for row in rows]
                    self._declare(f"{a}_plus_{b}", {a: Fraction(1), b: Fraction(1)})
                    self._declare(f"{a}_minus_{b}", {a: Fraction(1), b: Fraction(-1)})
                    break
        return rows

    @staticmethod
    def _joined(row: Row, a: str, b: str) -> Row:
        if a not in row:
            return row
        name = f"{a}_plus_{b}" if row[a] == row[b] else f"{a}_minus_{b}"
        return {name if key == a else key: value for key, value in row.items() if key != b}

    def paired_rows(self, rows: list[Row]) -> list[str]:
        """The expression of every row. Two rows that differ in signs only share both their parts."""
        found: dict[int, str] = {}
        for i, row in enumerate(rows):
            for j in range(i + 1, len(rows)):
                same = {name: value for name, value in row.items() if rows[j].get(name) == value}
                opposite = {name: value for name, value in row.items() if rows[j].get(name) == -value}
                if (
                    i not in found
                    and j not in found
                    and same
                    and opposite
                    and len(same) + len(opposite) == len(row) == len(rows[j])
                ):
                    part = self._part(f"same_{i}_{j}", same), self._part(f"opposite_{i}_{j}", opposite)
                    (a, x), (b, y) = part
                    found[i] = self._sum({a: x, b: y})
                    found[j] = self._sum({a: x, b: -y})
            if i not in found:
                found[i] = self._sum(row)
        return [found[i] for i in range(len(rows))]

    def _part(self, name: str, row: Row) -> tuple[str, Fraction]:
        """Declares a sum. Returns its name, and the common factor of its terms, which is left out of the sum."""
        magnitudes = {abs(value) for value in row.values()}
        common = magnitudes.pop() if len(magnitudes) == 1 else Fraction(1)
        if len(row) == 1:
            ((only, value),) = row.items()
            return only, value
        self._declare(name, {key: value / common for key, value in row.items()})
        return name, common

    def _declare(self, name: str, row: Row) -> None:
        self.lines.append(f"const {self.isa.vector_type} {name} = {self._sum(row)};")

    def _sum(self, row: Row) -> str:
        """The sum as C. Terms without a factor come first, a positive one in front: each further term is one FMA."""
        terms = sorted(row.items(), key=lambda term: (abs(term[1]) != 1, term[1] < 0))
        text = ""
        for name, value in terms:
            sign = ("-" if value < 0 else "") if not text else (" - " if value < 0 else " + ")
            text += sign + (name if abs(value) == 1 else f"{self.constant(abs(value))} * {name}")
        return text

    def constant(self, value: Fraction) -> str:
        """A number in every lane."""
        return self.isa.constant.format(s=f"{float(value)!r}f")
