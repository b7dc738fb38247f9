"""Groups side by side in a vector: lanes meet the channels of their group in an order of their own."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import product_forms
from cpu.passes.vectors.exchange_lanes import exchange_of
from cpu.reference.oracle import reference
from cpu.runtime.numbers import to_bits
from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa import ISAS, isa_named
from tests.support.loops.loops import inputs, result
from tests.support.loops.packed_weights import pack_loops, packed, packed_forms
from tests.support.loops.passes import around, forms_by_name, instructions
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, applied, constant, variable
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Address, Block, Do, Immediate, Invoke, Let, Register
from tiling.loops.machines import Fence
from tiling.loops.meaning.memory import Fault
from tiling.loops.passes import LOWER
from tiling.loops.rewrite import places
from tiling.loops.walk import inside, walk
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.rewrite.grouped import grouped2d
from tiling.rewrite.weight_groups import packed_elements
from tiling.text.notation import parse

NAME = "exchange lanes"
FOURS = grouped2d(conv2d(c=12, k=12, groups=3, h=3, w=4, r=3, s=3, padding=1))
PAIRS = grouped2d(conv2d(c=6, k=6, groups=3, h=3, w=4, r=1, s=3))


def text_of(problem):
    """A scheme with two pixels a tile."""
    taps, channels, pixels = problem.extents["r"], problem.extents["c"], problem.extents["w"] // 2
    return f"R(k) R(h) T(w,{pixels}) S(y) T(r,{taps}) U(s,3) U(c,{channels}) U(w,2) V(k,{{v}})"


def test_lanes_read_what_lies_side_by_side_but_for_an_exchange():
    before, after = around(NAME, FOURS, text_of(FOURS))
    shared, met = (
        {str(place.at[-1]) for place in places(kernel.body) if place.buffer == "X"} for kernel in (before, after)
    )
    assert shared == {"k + 4*(lane / 4) + c_u"} and met == {"k + 4*(lane / 4) + (lane % 4 ^ c_u)"}
    (w,) = {place.at[1] for place in places(after.body) if place.buffer == "W"}
    assert str(w) == "(lane % 4 ^ c_u)" and exchange_of(w) == variable("c_u")


@pytest.mark.parametrize("problem", [FOURS, PAIRS])
def test_every_lane_still_meets_every_channel_of_its_group_once(problem):
    before, after = around(NAME, problem, text_of(problem))
    arrays = inputs(problem)
    np.testing.assert_array_equal(result(before, arrays), result(after, arrays))
    size, lanes = problem.extents["c"], range(4)
    for lane in lanes:
        at = applied("^", LANE % size, variable("c_u"))
        assert sorted(at.at({"lane": lane, "c_u": c}) for c in range(size)) == list(range(size))


def test_a_vector_of_x_is_loaded_as_it_lies_and_its_lanes_exchanged():
    _, after = around("vectorise", FOURS, text_of(FOURS))
    factors = [dict(fma.operands)["x"] for fma in instructions(after, "fma")]
    assert {factor.instruction.name for factor in factors} == {"load", "exchange"}
    exchanged = [factor for factor in factors if factor.instruction.name == "exchange"]
    assert {dict(e.operands)["c"] for e in exchanged} == {Immediate(variable("c_u"))}
    assert {dict(e.operands)["x"].instruction.name for e in exchanged} == {"load"}


def test_no_lane_is_exchanged_with_itself():
    """Once steps are written out each exchange is a number, and 0 needs none."""
    _, after = around("order step", FOURS, text_of(FOURS))
    numbers = {dict(e.operands)["c"].number.offset for e in instructions(after, "exchange")}
    assert numbers == {1, 2, 3}


def test_the_last_groups_are_masked():
    _, after = around("unroll", PAIRS, text_of(PAIRS))
    masked = instructions(after, "load_tail")
    assert {dict(load.operands)["lanes"].lanes for load in masked} == {constant(2)}


def test_points_of_an_exchange_stay_together_where_registers_are_few():
    """12 weights fit no 16 registers beside 4 sums, but the 3 of an exchange do: each run has its own exchanges."""
    _, after = around("order step", FOURS, "R(k) R(h) S(y) T(r,3) U(s,3) U(c,4) U(w,4) V(k,{v})")
    for function in after.functions:
        runs = [{_exchange(let.value) for let in _read(run)} for run in _runs(function.body)]
        assert runs == [{0, 1, 2}, {3}] or runs == []
    assert any(_runs(function.body) for function in after.functions)


def _runs(body):
    """The blocks of points between fences."""
    for statement in body:
        if isinstance(statement, Fence):
            return [s.body for s in body if isinstance(s, Block)]
        for block in inside(statement):
            if found := _runs(block):
                return found
    return []


def _read(run):
    """The registers of a run that hold an x."""
    return [s for s in walk(run) if isinstance(s, Let) and s.name.startswith("x_")]


def _exchange(value):
    return dict(value.operands)["c"].number.offset if value.instruction.name == "exchange" else 0


def test_weights_lie_in_the_order_in_which_lanes_meet_channels():
    plain, after = packed_forms(forms_by_name(PAIRS, text_of(PAIRS)))
    w = inputs(PAIRS)["W"]
    found = packed(plain, after, w)
    # The vectors of the first tap: at first each lane's own channel, then its neighbour's.
    for c in range(2):
        np.testing.assert_array_equal(found[4 * c :][:4], [w[lane, lane % 2 ^ c, 0, 0] for lane in range(4)])


def test_the_pass_is_what_makes_loads_of_channels_right():
    """Without it all lanes of a group read one channel: a vector from there on is another, and ends beyond x."""
    x, facts = inputs(FOURS), facts_of_scheme(parse(FOURS, text_of(FOURS).format(v=4)), ISAS["portable"], False)

    def computed():
        forms = dict(product_forms(facts))
        return result(forms["vectorise"], x | {"W": packed(*packed_forms(forms), x["W"])})

    np.testing.assert_array_equal(computed(), reference(FOURS, x["X"], x["W"]))
    with patch("cpu.passes.order.exchange_lanes", lambda kernel, dim: kernel), pytest.raises(Fault):
        computed()


@pytest.mark.parametrize("size", [2, 4, 8])
def test_words_of_narrow_numbers_go_to_the_lanes_of_their_group(size):
    """bf16: a word holds two channels, and c counts words."""
    problem = grouped2d(conv2d(c=24, k=24, groups=24 // size, h=2, w=3, r=1, s=1, dtype="bf16", output_dtype="f32"))
    text = f"R(k) R(h) S(y) U(c,{size // 2}) U(w,3) D(c,2) V(k,16)"
    scheme = parse(problem, text)
    forms = dict(product_forms(facts_of_scheme(scheme_in_dot_groups(scheme), isa_named("avx512bf16"), False)))
    rng = np.random.default_rng(size)
    x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in (problem.broadcast.shape, problem.vector.shape))
    words = np.ascontiguousarray(to_bits(np.moveaxis(w, 1, -1), "bf16")).view(np.uint32)  # k, r, s, words of c
    given = {"X": to_bits(x, "bf16"), "W": np.moveaxis(words, -1, 1).astype(np.float64)}
    numbers = {"W": to_bits(w, "bf16"), "packed": np.zeros(packed_elements(scheme), np.uint16)}
    interpret(pack_loops(scheme), numbers)
    for name, kernel in forms.items():
        before = kernel.arrays == forms[LOWER].arrays
        weights = given["W"] if before else numbers["packed"].view(np.uint32)
        found = result(kernel, given | {"W": weights.astype(np.uint32)})
        np.testing.assert_array_equal(found, reference(problem, x, w), err_msg=name)
    assert bool(instructions(forms["unroll"], "exchange")) == (size > 2)
    assert instructions(forms["unroll"], "words") and instructions(forms["unroll"], "words_tail")


def test_the_instruction_exchanges_by_its_meaning():
    exchange = instructions_of(ISAS["portable"]).exchange
    assert exchange.text == "exchange_{c}({x})" and exchange.registers == 1
    moved = Invoke(exchange, (("x", Register("v")), ("c", Immediate(constant(3)))))
    load = Invoke(instructions_of(ISAS["portable"]).load, (("p", Address("X", (ZERO,))),))
    store = Invoke(instructions_of(ISAS["portable"]).store, (("p", Address("Y", (ZERO,))), ("v", moved)))
    arrays = tuple(Buffer(name, (4,), ("at",)) for name in "XY")
    given = {"X": np.arange(4, dtype=np.float32), "Y": np.zeros(4, np.float32)}
    interpret(Kernel(arrays, (Let("v", load), Do(store))), given)
    assert given["Y"].tolist() == [3, 2, 1, 0]
