"""Computes common parts of several sums of Winograd's transforms once.

    t_1_0 = x_3_0 + x_4_0 - 4 * x_1_0 - 4 * x_2_0          t_1_0_same = x_4_0 - 4 * x_2_0
    t_2_0 = x_4_0 - x_3_0 + 4 * x_1_0 - 4 * x_2_0    ->    t_1_0_opposite = x_3_0 - 4 * x_1_0
                                                           …
                                                           t_1_0 = t_1_0_same + t_1_0_opposite
                                                           t_2_0 = t_1_0_same - t_1_0_opposite

The points of Winograd's algorithm come in pairs ±p, so columns or rows of a matrix often differ in signs only. For
two such columns, the sum and the difference of their inputs serve all rows. For two such rows, the terms of equal sign
and the terms of opposite sign are summed once: one row is the sum of both, the other their difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tiling.loops.facts.sums import Terms, sum_of, terms_of
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Let, Statement
from tiling.loops.walk import with_blocks


def share_sums(kernel: Kernel) -> Kernel:
    """The kernel with a register for each sum that several sums of a run of `Let` share."""
    return replace(kernel, functions=tuple(replace(f, body=_shared(f.body)) for f in kernel.functions))


def _shared(body: Body) -> Body:
    """The block with runs of sums that share parts."""
    found: list[Statement] = []
    run: list[tuple[Let, Terms]] = []
    for statement in body:
        terms = terms_of(statement.value) if isinstance(statement, Let) else None
        if isinstance(statement, Let) and terms is not None:
            run.append((statement, terms))
            continue
        found += _lets(run)
        run = []
        found.append(with_blocks(statement, _shared))
    return (*found, *_lets(run))


def _lets(run: Sequence[tuple[Let, Terms]]) -> list[Let]:
    """The sums of a run, after those that they share. A sum by itself shares none."""
    if len(run) < 2:
        return [let for let, _ in run]
    sharing = _Sharing([let.name for let, _ in run])
    inputs = sorted({name for _, terms in run for name in terms})
    given = [{name: terms[name] for name in inputs if name in terms} for _, terms in run]
    rows = sharing.paired_rows(sharing.paired_columns(given, inputs))
    return [*sharing.lets, *(Let(let.name, sum_of(terms)) for (let, _), terms in zip(run, rows, strict=True))]


class _Sharing:
    """Collects the registers of shared sums. names: the registers of the sums themselves."""

    def __init__(self, names: list[str]):
        self.names = names
        self.lets: list[Let] = []

    def paired_columns(self, rows: list[Terms], inputs: list[str]) -> list[Terms]:
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
                    self._name(f"{a}_plus_{b}", {a: Fraction(1), b: Fraction(1)})
                    self._name(f"{a}_minus_{b}", {a: Fraction(1), b: Fraction(-1)})
                    break
        return rows

    @staticmethod
    def _joined(row: Terms, a: str, b: str) -> Terms:
        if a not in row:
            return row
        name = f"{a}_plus_{b}" if row[a] == row[b] else f"{a}_minus_{b}"
        return {name if key == a else key: value for key, value in row.items() if key != b}

    def paired_rows(self, rows: list[Terms]) -> list[Terms]:
        """Every row. Two rows that differ in signs only share both their parts."""
        found: dict[int, Terms] = {}
        for i, row in enumerate(rows):
            for j in range(i + 1, len(rows)):
                same = {name: value for name, value in row.items() if rows[j].get(name) == value}
                opposite = {name: value for name, value in row.items() if rows[j].get(name) == -value}
                whole = len(same) + len(opposite) == len(row) == len(rows[j])
                if i not in found and j not in found and same and opposite and whole:
                    a, x = self._part(f"{self.names[i]}_same", same)
                    b, y = self._part(f"{self.names[i]}_opposite", opposite)
                    found[i], found[j] = {a: x, b: y}, {a: x, b: -y}
            found.setdefault(i, row)
        return [found[i] for i in range(len(rows))]

    def _part(self, name: str, row: Terms) -> tuple[str, Fraction]:
        """Names a sum. Returns its name, and the common factor of its terms, which is left out of the sum."""
        magnitudes = {abs(value) for value in row.values()}
        common = magnitudes.pop() if len(magnitudes) == 1 else Fraction(1)
        if len(row) == 1:
            ((only, value),) = row.items()
            return only, value
        self._name(name, {key: value / common for key, value in row.items()})
        return name, common

    def _name(self, name: str, row: Terms) -> None:
        self.lets.append(Let(name, sum_of(row)))
