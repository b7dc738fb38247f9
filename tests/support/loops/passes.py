"""Kernels after each pass, and what is the same in two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from unittest.mock import patch

import numpy as np

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from microkernels.tile.isa import ISAS
from tests.support.loops.loops import Arrays, result, statements
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, Do, Invoke, Let, Set, Store
from tiling.loops.meaning.functions import FUNCTIONS
from tiling.loops.rewrite import instructions_in, parts_of
from tiling.operators import conv2d
from tiling.problem import Problem
from tiling.text.notation import parse


def same_meaning(kernel: Kernel, before: Kernel) -> bool:
    """Whether two forms are one to the interpreter: `==` leaves out what instructions mean."""
    return kernel is before or (kernel == before and _meanings(kernel) == _meanings(before))


def different(forms: Iterable[tuple[str, Kernel]]) -> Iterator[tuple[str, Kernel]]:
    """The forms but those of passes that changed nothing: the interpreter finds the same numbers again."""
    before = None
    for name, kernel in forms:
        if before is None or not same_meaning(kernel, before):
            yield name, kernel
        before = kernel


def _meanings(kernel: Kernel) -> list[tuple[Body, str]]:
    found = (invoke.instruction for statement in statements(kernel) for invoke in instructions_in(statement))
    return [(instruction.meaning, instruction.dtype) for instruction in found]


def forms_by_name(problem: Problem, text: str, isa: str = "portable", stream: bool = False) -> dict[str, Kernel]:
    """The loops of a scheme by pass. {v} in the text: the lanes."""
    row = ISAS[isa]
    return dict(product_forms(facts_of_scheme(parse(problem, text.format(v=row.lanes)), row, stream)))


SAME = conv2d(c=2, h=4, w=6, k=8, r=3, s=3, padding=1)
TILES = "R(k) T(h,4) T(w,2) S(y) T(r,3) T(c,2) U(s,3) U(w,3) V(k,{v})"  # padding at both ends of w, taps r bounded


def around(name: str, problem: Problem = SAME, text: str = TILES, **options) -> tuple[Kernel, Kernel]:
    """The kernel before a pass and after it."""
    found = list(forms_by_name(problem, text, **options).items())
    place = next(place for place, (stage, _) in enumerate(found) if stage == name)
    return found[place - 1][1], found[place][1]


def products(kernel: Kernel, arrays: Arrays) -> int:
    """How many multiplications the interpreter makes of x and w; those of an epilogue count too."""
    made = 0

    def counted(function):
        def multiply(*values):
            nonlocal made
            product = function(*values)
            made += np.size(product)  # lanes side by side make one each
            return product

        return multiply

    with patch.dict(FUNCTIONS, {name: counted(FUNCTIONS[name]) for name in ("mul", "fma", "mul_add")}):
        result(kernel, arrays)
    return made


def instructions(kernel: Kernel, name: str = "") -> list[Invoke]:
    """Every use of an instruction, of this name where one is given, those inside operands included."""
    found: list[Invoke] = []

    def note(operand) -> None:
        found.extend(part for part in parts_of(operand) if isinstance(part, Invoke))

    for statement in statements(kernel):
        if isinstance(statement, Do):
            note(statement.invoke)
        elif isinstance(statement, (Store, Let, Set)) and statement.value is not None:
            note(statement.value)
    return [invoke for invoke in found if name in ("", invoke.instruction.name)]
