"""Programs as text: what is written reads back the same, and what cannot be read is one sentence with its place."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sampled import examples
from tiling.program.functions import BINDING, FUNCTIONS
from tiling.program.language import (
    DTYPES,
    REDUCTIONS,
    Access,
    Apply,
    Declaration,
    Dim,
    Number,
    Program,
    Reduce,
    Statement,
)
from tiling.program.names import ProgramError
from tiling.program.read import DEEPEST, LONGEST, read

numbers = st.integers(-9, 99) | st.floats(-1e6, 1e6).map(lambda v: v + 0.0) | st.just(float("inf"))
OUTSIDE = st.none() | numbers


@cache  # a strategy takes longer to make than to draw from
def expressions(dims):
    """Any tree of values over these dims. Arrays a, b and c have 1, 2 and 3 axes."""

    def larger(inner):
        calls = [
            st.builds(Apply, st.just(name), st.tuples(*[inner] * function.arguments))
            for name, function in FUNCTIONS.items()
        ]
        elements = [
            st.builds(Access, st.just(name), st.tuples(*[inner] * axes), OUTSIDE)
            for axes, name in enumerate("abc", start=1)
        ]
        return st.one_of(*calls, *elements)

    return st.recursive(st.builds(Number, numbers) | st.builds(Dim, st.sampled_from(dims)), larger, max_leaves=12)


@st.composite
def programs(draw):
    """A program of one to three statements, where each may use those before."""
    statements = []
    for name in ("y", "z", "u")[: draw(st.integers(1, 3))]:
        dims = tuple(draw(st.lists(st.sampled_from("ij"), unique=True)))
        kind = draw(st.none() | st.sampled_from(REDUCTIONS))
        over = ("k", "l")[: draw(st.integers(1, 1 if kind and kind.startswith("arg") else 2))] if kind else ()
        known = (*dims, *over)
        value = draw(expressions(known)) if known else Number(draw(numbers))
        for earlier in statements:
            at = tuple(Dim(draw(st.sampled_from(known))) if known else Number(0) for _ in earlier.dims)
            value = Apply("add", (value, Access(earlier.array, at)))
        statements.append(Statement(name, dims, Reduce(kind, over, value) if kind else value))
    declared = [Declaration("y", draw(st.sampled_from(DTYPES)), None)] if draw(st.booleans()) else []
    return Program(tuple(statements), tuple(declared))


@pytest.mark.slow
@examples(40)
@given(programs())
def test_the_text_reads_back_the_same(program):
    assert read(str(program)) == program


def test_names_of_functions_bind_as_their_operators():
    assert set(BINDING) <= set(FUNCTIONS)


@pytest.mark.parametrize(
    "text, printed",
    [
        ("y[i]=x[i]*2+1", "y[i] = x[i] * 2 + 1"),
        ("y[i] = (a[i] + b[i]) * -c[i]", "y[i] = (a[i] + b[i]) * -c[i]"),
        ("y[i] = a[i] - (b[i] - c[i])", "y[i] = a[i] - (b[i] - c[i])"),
        ("y[i] = (a[i] - b[i]) - c[i]", "y[i] = a[i] - b[i] - c[i]"),
        ("y[i] = - 2 * -(3) - -x[i]", "y[i] = -2 * -(3) - -x[i]"),
        ("y = sum[i,j] x[i,j] # the total\n", "y[] = sum[i,j] x[i, j]"),
        ("x:bf16[n,56]; idx : s32\n y[i] = x[idx[i], (i\n+1)]", "x: bf16[n,56]; idx: s32; y[i] = x[idx[i], i + 1]"),
        ("y[i] = x[i-1] else -inf", "y[i] = x[i - 1] else -inf"),
        ("y[i] = x[i] else 0 * 2", "y[i] = x[i] else 0 * 2"),
        (
            "y[i] = a[i]<b[i] and not c[i]==1 or i//2%3>=1.5",
            "y[i] = a[i] < b[i] and not c[i] == 1 or i // 2 % 3 >= 1.5",
        ),
        ("y[i] = (a[i] < b[i]) == (c[i] < 1)", "y[i] = (a[i] < b[i]) == (c[i] < 1)"),
        ("y[i] = where(i<2, max(x[i], 0), 1e-5)", "y[i] = where(i < 2, max(x[i], 0), 1e-05)"),
        ("m[i] = max[j] max(x[i,j], 0);;\n\ny[i] = m[i]", "m[i] = max[j] max(x[i, j], 0); y[i] = m[i]"),
    ],
)
def test_texts(text, printed):
    program = read(text)
    assert str(program) == printed and read(printed) == program


def test_inputs_come_in_the_order_of_first_use():
    program = read("m[i] = max[j] x[i,j]; y[i,j] = g[j] * (x[i,j] - m[i]) + x[idx[i],j]")
    assert program.inputs == ("x", "g", "idx") and program.dims == ("i", "j")


@pytest.mark.parametrize(
    "text, place",
    [
        ("", "the end comes before any statement"),
        ("y[i]", "the end stands where '=' is expected, after y[i]"),
        ("y[i] =\n", "the end of the line at character 7 stands where a value is expected"),
        ("y[i] = x[i", "the end stands where ',' is expected"),
        ("y[i] = (x[i]", "the end stands where ')' is expected"),
        ("y[i] = x[i])", "')' at character 12 follows a complete statement"),
        ("y[i] = x[i] x[i]", "'x' at character 13 follows a complete statement"),
        ("y[i] = summ[j] x[i,j]", "a new line is missing, or 'summ' is to be a reduction (did you mean sum?)"),
        ("y[i] = x[i]\nz[i] = $", "'$' at character 20 (line 2) cannot be read"),
        ("y[i] = f(x[i])", "'f' at character 8 is no function; there are min max"),
        ("y[i] = expp(x[i])", "'expp' at character 8 is no function (did you mean exp or expm1?); there are min max"),
        ("y[i] = exp(x[i], 2)", "')' at character 19 ends exp after 2: it takes 1"),
        ("y[i] = where(i < 2, 1)", "ends where after 2: it takes 3"),
        ("exp[i] = x[i]", "'exp' at character 1 is a word of the language"),
        ("y[3] = x[i]", "'3' at character 3 stands where a dim is expected"),
        ("y[i,i] = 1", "names a dim twice"),
        ("y[i] = a[i] < b[i] < c[i]", "'<' at character 20 compares a comparison"),
        ("y[i] = 1 + sum[j] x[j]", "'sum' at character 12 begins no value inside an expression"),
        ("y[i] = sum[] x[i]", "follows sum[], which names no dim to reduce over"),
        ("y[i] = sum[i] x[i]", "follows sum over i, which is a dim of y too"),
        ("y[i] = argmax[j,k] x[i,j,k]", "it gives the position along one"),
        ("y[i] = x[i]; y[i] = 2", "begins a second assignment of y"),
        ("y[i] = x[j]", "statement 1, y: j is neither a dim of y nor reduced over"),
        (
            "y[i] = x",
            "statement 1, y: x is neither a dim of y nor reduced over; an element of an array is written x[…]",
        ),
        ("y[i] = y[i]", "statement 1, y uses itself"),
        ("y[i] = z[i]; z[i] = x[i]", "statement 1, y uses z, which is assigned later"),
        ("y[i] = x[i] + x[i,i]", "statement 1, y: x[i, i] has 2 indices, elsewhere 1"),
        ("y[i] = x[i] else i", "'i' at character 18 stands where the number is expected that x has outside"),
        ("y[i] = 1e39", "'1e39' at character 8 is larger than any f32"),
        ("x: f31; y[i] = x[i]", "'f31' at character 4 stands where a dtype is expected"),
        ("x: [0]; y[i] = x[i]", "'0' at character 5 is no extent"),
        ("x: f32; x: [3]; y[i] = x[i]", "declares x again"),
        ("z: f32; y[i] = x[i]", "z is declared and not used"),
        ("y: [3]; y[i] = x[i]", "an assigned array has the extents of its dims"),
        ("x: [3,4]; y[i] = x[i]", "x: [3,4] has 2 axes, elsewhere 1"),
        ("y[i] = " + "(" * (DEEPEST + 1), f"is inside more than {DEEPEST} brackets and signs"),
        ("y[i] = " + "- " * (DEEPEST + 1) + "x[i]", f"is inside more than {DEEPEST} brackets and signs"),
        ("#" * (LONGEST + 1), f"{LONGEST} are the most supported"),
        (b"y[i] = 1", "a program is a text such as"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text, place):
    with pytest.raises(ProgramError) as error:
        read(text)
    assert place in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["y[i] = x[i] x[i]", "x: f32 y[i] = x[i]"])
def test_an_array_that_is_like_no_reduction_is_not_taken_for_one(text):
    with pytest.raises(ProgramError, match=r"a new line is missing$"):
        read(text)
