"""Which groups go on block by block, and what their loops give."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.programs.programs import interpreted
from tiling.loops.language import Alloc, For
from tiling.loops.walk import walk
from tiling.program.infer import sized
from tiling.program.lowering.group import groups
from tiling.program.lowering.lower import lower_program
from tiling.program.lowering.online import BLOCK, ROWS, online
from tiling.program.read import read

LARGEST = "m[i] = max[j] t[i,j]; "
EXPS = LARGEST + "e[i,j] = exp(t[i,j] - m[i]); d[i] = sum[j] e[i,j]; "
WHOLE = EXPS + "a[i,c] = sum[j] e[i,j] * v[j,c]; y[i,c] = a[i,c] / d[i]"
EXTENTS = {"i": 5, "j": 600, "c": 3}


def found(text, outputs=(), **extents):
    declared = {dim: n for dim, n in (EXTENTS | extents).items() if dim in read(text).dims}
    program = sized(read(text), declared, outputs=outputs)
    return [one for group in groups(program) if (one := online(program, group))]


def test_a_maximum_and_sums_of_exponentials():
    (one,) = found(WHOLE)
    assert one.dim == "j" and one.largest.array == "m"
    assert [s.array for s in one.sums] == ["d", "a"]
    assert [s.array for s in one.inside] == ["m", "e", "d", "a"]
    assert [s.array for s in one.after] == ["y"]


@pytest.mark.parametrize(
    "text",
    [
        LARGEST + "y[i,c] = sum[j] exp(t[i,j] - m[i]) * v[j,c]",
        LARGEST + "y[i,c] = sum[j] v[j,c] * (exp(t[i,j] - m[i]) * b[j])",
        "s[i,j] = sum[c] q[i,c] * k[j,c]; " + WHOLE.replace("t[i,j]", "s[i,j] / 8"),
        WHOLE + "; z[i,c] = y[i,c] + log(d[i]) + m[i]",
    ],
)
def test_other_texts_of_it(text):
    assert len(found(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        # Few points; no product, whose operands would be read once for all rows; e is needed as a whole.
        EXPS + "y[i,j] = e[i,j] / d[i]",
        EXPS + "y[i] = log(d[i]) + m[i]",
        # Another maximum, another power, no power, two powers.
        WHOLE.replace("max[j] t[i,j]", "max[j] v[j,0] * t[i,j]"),
        WHOLE.replace("exp(t[i,j] - m[i])", "exp(t[i,j] + m[i])"),
        WHOLE.replace("exp(t[i,j] - m[i])", "t[i,j] - m[i]"),
        WHOLE.replace("e[i,j] * v[j,c]", "e[i,j] * e[i,j] * v[j,c]"),
        WHOLE.replace("e[i,j] * v[j,c]", "e[i,j] * (v[j,c] + m[i])"),
        WHOLE.replace("e[i,j] * v[j,c]", "e[i,j] * v[j,c] / d[i]"),
        WHOLE.replace("e[i,j] * v[j,c]", "e[i,j] + v[j,c]"),
        WHOLE.replace("sum[j] e[i,j] * v", "max[j] e[i,j] * v"),
        # An element is read at another place; values are rounded, so that another maximum would round otherwise.
        WHOLE.replace("e[i,j] * v[j,c]", "e[i,599-j] * v[j,c]"),
        "m: f16; " + WHOLE,
        "e: bf16; " + WHOLE,
    ],
)
def test_what_is_none_of_it(text):
    assert not found(text)


def test_what_is_stored_whole_or_short_is_none_of_it():
    assert not found(WHOLE, ("e", "y")) and not found(WHOLE, ("m", "y"))
    assert found(WHOLE, ("d", "y"))
    assert not found(WHOLE, j=BLOCK) and found(WHOLE, j=BLOCK + 1)


@pytest.mark.parametrize("rows, points", [(1, BLOCK + 1), (ROWS, 2 * BLOCK), (ROWS + 3, 2 * BLOCK + 5)])
def test_loops_give_the_definition(rows, points):
    """Exactly, as scores are so far apart that exponentials are 0 or 1."""
    random = np.random.default_rng(rows)
    t, v = 1000.0 * random.integers(-2, 3, (rows, points)), random.integers(-3, 4, (points, 3)).astype(float)
    t[0, :BLOCK] = -np.inf
    program = sized(read(WHOLE + "; z[i,c] = y[i,c] * d[i]"), {}, {"t": t.shape, "v": v.shape}, "f64", ("y", "z", "d"))
    top = t == t.max(1, keepdims=True)
    y = interpreted(program, lower_program(program), {"t": t, "v": v})
    np.testing.assert_array_equal(y["d"], top.sum(1))
    np.testing.assert_array_equal(y["y"], top @ v / top.sum(1, keepdims=True))


def test_a_row_that_sees_nothing_is_no_number():
    t, v = np.full((2, 300), -np.inf), np.ones((300, 3))
    t[1, 299] = 4
    program = sized(read(WHOLE), {}, {"t": t.shape, "v": v.shape}, "f64", ("d", "y"))
    found = interpreted(program, lower_program(program), {"t": t, "v": v})
    assert np.isnan(found["y"][0]).all() and np.isnan(found["d"][0])
    assert (found["y"][1] == 1).all() and found["d"][1] == 1


def test_of_what_is_read_once_there_is_a_block():
    program = sized(read(WHOLE), EXTENTS | {"j": 1000})
    kernel = lower_program(program)
    rows = {s.buffer.name: s.buffer.shape for s in walk(kernel.body) if isinstance(s, Alloc)}
    assert rows["e"] == (BLOCK,) and rows["a_run"] == (5, 3) and rows["d_run"] == (5,)
    starts = [(str(s.start), str(s.stop)) for s in walk(kernel.body) if isinstance(s, For) and s.name == "j_begin"]
    assert starts == [("0", "768"), ("768", "1000")]


def test_blocks_end_under_a_mask():
    text = "t[i,j] = where(j <= i, x[i,j] * x[i,j], -inf); " + WHOLE
    kernel = lower_program(sized(read(text), {"i": 600, "j": 600, "c": 3}))
    limits = [str(s.limit) for s in walk(kernel.body) if isinstance(s, For) and s.name == "j_begin"]
    assert limits == [f"i_begin + {ROWS}"] * 4
