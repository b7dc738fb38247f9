"""Outputs whose neighbours are rows of a tile: blocks of rows are transposed in registers."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.codegen.definitions import transposed_rows
from cpu.passes.vectors.transpose_stores import TRANSPOSED
from cpu.passes.vectors.vectorise import vectorise
from microkernels.tile.instructions import instructions_of, transpose_instruction
from microkernels.tile.isa import ISAS
from tests.support.loops.loops import inputs, result, statements
from tests.support.loops.packed_weights import PACKING, packed
from tests.support.loops.passes import around, forms_by_name, instructions
from tiling.epilogue import fused
from tiling.loops.buffer import Buffer
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Alloc, Do, For, Load, Mask, Store
from tiling.loops.listing import listing
from tiling.loops.meaning.memory import Fault
from tiling.operators import conv2d

NAME = "transpose stores"
PLAIN = conv2d(c=2, h=2, w=6, k=7, r=1, s=1, layout="nchw")
ROWS = "R(k) T(h,2) S(y) T(c,2) U(w,6) V(k,{v})"
TWO_LINES = "T(c,2) R(k) S(y) U(h,2) U(w,6) V(k,{v})"


def arrays_of(problem, text):
    """The arrays of a kernel with its weights packed, and what it computes."""
    given, by_name = inputs(problem), forms_by_name(problem, text)
    wanted = result(by_name["lower"], given)
    return given | {"W": packed(by_name["lower"], by_name[PACKING], given["W"])}, wanted


@pytest.mark.parametrize(
    "problem, text", [(PLAIN, ROWS), (PLAIN, TWO_LINES), (fused(PLAIN, "relu(y)*b + z"), TWO_LINES)]
)
def test_stores_go_to_neighbours_in_memory(problem, text):
    before, after = around(NAME, problem, text)
    arrays, wanted = arrays_of(problem, text)
    np.testing.assert_array_equal(result(before, arrays), wanted)
    np.testing.assert_array_equal(result(after, arrays), wanted)
    lanes = [s for s in statements(after) if isinstance(s, For) and s.kind == "vector"]
    stores = [store for loop in lanes for store in loop.body if isinstance(store, Store) and store.buffer == "y"]
    assert stores and all("lane" in {*store.at[2].names(), *store.at[3].names()} for store in stores)
    assert not any("lane" in store.at[1].names() for store in stores)


def test_a_tile_of_six_rows_is_a_whole_block_and_a_masked_one():
    _, after = around(NAME, PLAIN, ROWS)
    text = listing(after)
    assert "transpose_4(t: t, r0: acc[0, 0, lane], r1: acc[1, 0, lane]" in text
    assert "transpose_2(t: t, r0: acc[4, 0, lane], r1: acc[5, 0, lane])" in text
    assert "if lane < 2:\n          y[0, place, 0, lane + 4] = t[place, lane]" in text
    _, after = around("unroll", PLAIN, ROWS)
    masked = instructions(after, "store_tail")
    assert {given.lanes.offset for i in masked for _, given in i.operands if isinstance(given, Mask)} == {2}
    # 7 channels: 4 vectors of rows in the first tile, 3 in the second, from each of its two blocks.
    assert len(masked) == len(instructions(after, "store")) == 4 + 3


def test_lines_that_are_neighbours_share_a_block():
    """Rows 4 to 7 of 2 x 6 are the end of one line and the beginning of the next: y as memory, place by place."""
    _, after = around(NAME, PLAIN, TWO_LINES)
    assert transposed_rows(after) == {4}
    assert "y[0, place, (lane + 4) / 6, (lane + 4) % 6] = t[place, lane]" in listing(after)
    _, after = around("vectorise", PLAIN, TWO_LINES)
    assert "store(p: y + [0, place, 0, 4], v: t[place, lane])" in listing(after)


def test_arrays_are_read_along_the_rows_or_broadcast():
    problem = fused(PLAIN, "y*b + t[k,w] - z")
    _, after = around("unroll", problem, ROWS)
    for epilogue in instructions(after, "epilogue"):
        kinds = {name: given.instruction.name for name, given in epilogue.operands if name.startswith("e_")}
        assert kinds["e_b"] == "broadcast" and {kinds["e_t"], kinds["e_z"]} <= {"load", "load_tail"}


def test_sums_of_an_earlier_pass_are_transposed_back():
    text = "T(c,2) R(k) T(h,2) S(y) U(w,6) V(k,{v})"
    _, after = around(NAME, PLAIN, text)
    assert transposed_rows(after) == {2, 4}
    loaded = [
        s for s in statements(after) if isinstance(s, Store) and s.buffer == TRANSPOSED and isinstance(s.value, Load)
    ]
    assert loaded and all(s.value.buffer == "y" for s in loaded)
    arrays, wanted = arrays_of(PLAIN, text)
    np.testing.assert_array_equal(result(after, arrays), wanted)


def test_a_block_lies_in_registers_and_its_functions_are_counted():
    before, after = around(NAME, PLAIN, ROWS)
    assert transposed_rows(before) == set() and transposed_rows(after) == {2, 4}
    blocks = [s.buffer for s in statements(after) if isinstance(s, Alloc) and s.buffer.name == TRANSPOSED]
    assert {(buffer.shape, buffer.memory) for buffer in blocks} == {((4, 4), "registers")}
    assert not any(isinstance(s, Alloc) for s in after.body)
    assert any(isinstance(s, Do) for s in statements(after))


def test_without_the_pass_vectors_are_stored_to_the_wrong_places():
    """Vectors of channels, stored as they lie, come where other pixels belong."""
    before, _ = around(NAME, PLAIN, ROWS)
    arrays, wanted = arrays_of(PLAIN, ROWS)
    stored = vectorise(before, instructions_of(ISAS["portable"]), 4, False)
    try:
        found = result(stored, arrays)
    except Fault:
        return
    assert not np.array_equal(found, wanted)


def test_other_outputs_need_no_such_pass():
    assert NAME not in forms_by_name(conv2d(c=2, h=2, w=6, k=8, r=1, s=1), ROWS)


@pytest.mark.parametrize("rows", [1, 3, 4])
def test_the_instruction_transposes_by_its_meaning(rows):
    instruction = transpose_instruction(rows, 4)
    assert instruction.text == f"transpose_{rows}({{t}}, {', '.join(f'{{r{row}}}' for row in range(rows))})"
    block = np.arange(4 * rows, dtype=np.float32).reshape(rows, 4)
    given = {f"r{row}": block[row] for row in range(rows)} | {"t": np.full(16, np.nan, np.float32)}
    kernel = Kernel(tuple(Buffer(name, each.shape, ("at",)) for name, each in given.items()), instruction.meaning)
    interpret(kernel, given)
    np.testing.assert_array_equal(given["t"].reshape(4, 4)[:, :rows], block.T)
