"""The pass that lets nothing negative be divided: what it knows of each variable."""

from __future__ import annotations

from cpu.passes.control.divide_from_zero import divide_from_zero
from tiling.loops.buffer import Buffer
from tiling.loops.index import Index, constant, variable
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import Call, Define, For, If, Inside, Position, Read, Store
from tiling.loops.rewrite import with_indices


def test_the_least_values_come_from_loops_tests_and_calls():
    """A variable that is read may be anything, until a test bounds it."""
    y, at = Buffer("Y", (9,), ("i",)), variable("at")

    def stored(index: Index) -> Store:
        return Store("Y", (constant(0),), Position(index))

    asked = Read("at", Position(variable("i")))
    tested = If((Inside(at + 1, 3, None),), (stored((at - 2) // 2),), (stored((at - 2) // 4),))
    defined = Define("d", variable("i") - 2)
    body = (For("i", constant(1), constant(9), 1, (defined, asked, tested, Call("f", (), (variable("d"),)))),)
    inner = Function("f", (), ("n",), (), (stored(variable("n") // 2), stored((variable("n") + 1) // 2)))
    found = divide_from_zero(Kernel((y,), body, (inner,)))
    written: list[str] = []

    def look(index: Index) -> Index:
        written.append(str(index))
        return index

    for statement in (*found.body, *found.functions[0].body):
        with_indices(statement, look)
    quotients = [text for text in written if "/" in text]
    assert quotients == [
        "(at - 2) / 2",  # behind at + 1 >= 3
        "max(0, at - 2) / 4 - (max(0, 2 - at) + 3) / 4",
        "(n + 2) / 2 - 1",  # n from -1 on
        "(n + 1) / 2",
    ]
