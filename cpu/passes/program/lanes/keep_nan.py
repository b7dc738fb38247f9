"""Keeps NaN beside the maximum over a window, where each step tested for it.

                                                           acc_y_nan[lane] = constant(0)
    for s in 0..3:                                         x_1 = load(x + [2*h + r - 1, 2*w - 1, c])
      x_1 = load(x + [2*h + r - 1, 2*w + s - 1, c])        …
      acc_y[lane] = max(x_1, acc_y[lane])            ->    … nan(a: x_1, b: x_1_s1))
                                                           …
                                                           acc_y[lane] = larger(a: x_1, b: acc_y[lane])
                                                           acc_y[lane] = larger(a: x_1_s1, b: acc_y[lane])
                                                           …
                                                           acc_y[lane] = or_nan(a: acc_y_nan[lane], b: acc_y[lane])

`max` gives NaN where one of its arguments is NaN. The instruction for it gives the second argument, so a step takes
two more: a comparison, and a choice for which the next step waits. Beside the maximum a comparison takes two numbers
at once, and no step waits for it. So a loop over a few taps is written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count, groupby

from cpu.passes.program.jam import jammed
from cpu.passes.program.lanes.instructions import spread
from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa_row import Isa
from tiling.loops.facts.nests import trips
from tiling.loops.index import LANE
from tiling.loops.kernel import Kernel
from tiling.loops.language import (
    Alloc,
    Apply,
    Block,
    Body,
    For,
    Instruction,
    Invoke,
    Let,
    Load,
    Number,
    Register,
    Statement,
    Store,
    Value,
)
from tiling.loops.rewrite import operands_of, parts_of, substituted
from tiling.loops.walk import buffers_of, walk, with_blocks

EXTREMES = {"max": "larger", "min": "smaller"}
# The most maxima at once: with what is kept beside each they take half of 16 registers.
MOST = 4
# The most taps that are written out. One by one, as in the maximum of a row, tests beside gain nothing: a softmax of
# 6144 x 512 takes 1.11 of the time on a Zen 3, maxima of 512 x 768 1.02.
MOST_TAPS = 8


def keep_nan(kernel: Kernel, isa: Isa) -> Kernel:
    """The kernel whose maxima over windows test two numbers at once. isa: one that has the form `nan`."""
    floats = frozenset(name for name, buffer in buffers_of(kernel).items() if buffer.dtype == "f32")
    return replace(kernel, body=_Keeping(isa, floats).body(kernel.body))


@dataclass(frozen=True)
class _Keeping:
    """floats: the buffers of f32."""

    isa: Isa
    floats: frozenset[str]

    def body(self, body: Body) -> Body:
        """A block in which maxima begin, a loop goes on with them, and others read them."""
        begun = {s.buffer.name: s.buffer for s in body if isinstance(s, Alloc) and s.buffer.memory == "registers"}
        maxima = [name for name in begun if name in self.floats]
        found: list[Statement] = []
        for statement in body:
            kept = _kept(statement, maxima)
            if not 0 < len(kept) <= MOST:
                found.append(with_blocks(statement, self.body))
                continue
            maxima = [name for name in maxima if name not in kept]
            for name in kept:
                zero = Invoke(spread("f32", self.isa.lanes), (("value", Number(0)),))
                found += [Alloc(replace(begun[name], name=_nan(name))), Store(_nan(name), (LANE,), zero)]
            found += self.written_out((statement,), frozenset(kept))
            found += [self.stored(name, "or_nan", _load(_nan(name)), _load(name)) for name in kept]
        return tuple(found)

    def written_out(self, body: Body, names: frozenset[str]) -> Body:
        """The block with the taps of these maxima one after the other."""
        found: list[Statement] = []
        for statement in body:
            if not isinstance(statement, For) or not _is_over_taps(statement, names):
                found.append(with_blocks(statement, lambda block: self.written_out(block, names)))
                continue
            taps = substituted(jammed(statement, _trips(statement)), {statement.name: statement.start})
            numbers = count()  # of the taps, so that no two have one name
            runs = [(name, list(run)) for name, run in groupby(taps, _maximum)]
            tested = (self.tested(name, run, numbers) if name in names else run for name, run in runs)
            found.append(Block("", tuple(chain.from_iterable(tested))))
        return tuple(found)

    def tested(self, name: str, steps: list[Statement], numbers: Iterator[int]) -> Iterator[Statement]:
        """Steps of one maximum without tests, behind a test for every two of them. numbers: for the names of taps.

        Tests come first: behind the steps gcc 12 would load each number again for them.
        """
        untested: list[tuple[str, Value]] = []
        for step, number in zip(steps, numbers):
            assert isinstance(step, Store) and isinstance(step.value, Apply)
            value, given = step.value.arguments[0], f"{name}_tap_{number}"
            if not isinstance(value, Register):
                yield Let(given, value, dtype="f32")
                value = Register(given)
            untested.append((EXTREMES[step.value.function], value))
        values = [value for _, value in untested]
        for first, last in zip(values[::2], [*values, values[-1]][1::2]):
            test = Invoke(self.form("nan"), (("a", first), ("b", last)))
            yield self.stored(_nan(name), "or_nan", _load(_nan(name)), test)
        for form, value in untested:
            yield self.stored(name, form, value, _load(name))

    def stored(self, name: str, form: str, a: Value, b: Value) -> Store:
        return Store(name, (LANE,), Invoke(self.form(form), (("a", a), ("b", b))))

    def form(self, name: str) -> Instruction:
        return instructions_of(self.isa).functions[name]


def _nan(name: str) -> str:
    return f"{name}_nan"


def _load(name: str) -> Load:
    return Load(name, (LANE,))


def _kept(loop: Statement, names: list[str]) -> list[str]:
    """Those of these registers with which a loop does nothing but go on with a maximum over taps."""
    inside = list(walk((loop,)))
    over = [each for each in inside if isinstance(each, For) and _is_over_taps(each, frozenset(names))]
    steps = [_maximum(step) for each in over for step in each.body]
    uses = list(_uses(inside))
    return [name for name in names if name in steps and uses.count(name) == 2 * steps.count(name)]


def _is_over_taps(loop: For, names: frozenset[str]) -> bool:
    """Whether a loop goes on with one of these maxima at a few points, and does little else."""
    straight = all(isinstance(s, (Let, Store)) for s in loop.body)
    some = straight and any(_maximum(s) in names for s in loop.body)
    return loop.kind == "serial" and some and 1 < _trips(loop) <= MOST_TAPS


def _trips(loop: For) -> int:
    """How many iterations a loop has; 0 where that is not always the same."""
    count = trips(loop)
    return count.offset if count.is_constant else 0


def _maximum(statement: Statement) -> str:
    """The register of a maximum with which a statement goes on; "" for any other statement."""
    match statement:
        case Store(value=Apply(function=function, arguments=(_, last))) if statement.at == (LANE,):
            return statement.buffer if function in EXTREMES and last == _load(statement.buffer) else ""
        case _:
            return ""


def _uses(statements: Iterable[Statement]) -> Iterator[str]:
    """The buffers that statements store to and load, each as often as they do."""
    for statement in statements:
        if isinstance(statement, Store):
            yield statement.buffer
        for operand in operands_of(statement):
            yield from (part.buffer for part in parts_of(operand) if isinstance(part, Load))
