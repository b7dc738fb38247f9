"""The instructions of a warpgroup, four warps together, with their meaning over its 128 lanes.

    wgmma(dtype, columns, across)    to (64,columns) += a (64,depth) · b (depth,columns), from shared memory
    FENCE, COMMIT, wait(pending)     what has to stand around them
    PIN                              keeps the compiler from moving a sum across its place
    PUBLISH                          makes opened mbarriers visible to the copy engine
    SHOW                             makes what a thread has brought to shared memory visible to wgmma

A row of a tile has 128 bytes: points of the depth, or where a tile lies across the depth, 64 rows of a or columns of b.
Chunk c of 16 bytes of row r lies where c ^ r % 8 would. Lane l of warp q holds elements of rows 16 q to 16 q + 15 of
`to`, the same ones as for a warp's instruction on these rows. Source: PTX ISA, "wgmma".
"""

from __future__ import annotations

from functools import lru_cache

from gpu.limits.hopper import ROW_BYTES
from gpu.passes.facts.workers import WARP_SIZE, WARPS_OF_GROUP
from gpu.passes.matrices.instructions import WORDS
from tiling.dtypes.formats import WIDENED
from tiling.dtypes.products import DTYPE_BYTES
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.language import Alloc, Apply, Body, For, Instruction, Load, Statement, Store, Value

ROWS, COLUMNS = 64, (64, 128, 192, 256)  # of the instruction
CHUNK_BYTES = 16  # of a tile
DEPTHS = {dtype: words.depth for dtype, words in WORDS.items()}  # points that an instruction sums


def row_points(dtype: str) -> int:
    """Numbers in a row of a tile."""
    return ROW_BYTES // DTYPE_BYTES[dtype]


@lru_cache(maxsize=64)
def wgmma(dtype: str, columns: int, across: tuple[bool, bool]) -> Instruction:
    """The matrix instruction of a dtype, on rows from `part` on. across: whether a, and b, lie across the depth."""
    depth, lanes = DEPTHS[dtype], WARP_SIZE * WARPS_OF_GROUP
    point, deep, number = map(variable, ("point", "deep", "number"))
    quarter, member = LANE // WARP_SIZE, LANE % WARP_SIZE
    row = quarter * 16 + number // 2 % 2 * 8 + member // 4
    column = number // 4 * 8 + member % 4 * 2 + number % 2
    product = Apply("mul", (Load("rows", (row, deep)), Load("columns", (column, deep))))
    here = (LANE, number)
    body: Body = ()
    for name, operand, count, lies in (("rows", "a", ROWS, across[0]), ("columns", "b", columns, across[1])):
        value = _element(operand, point, deep, dtype, lies)
        copied = _loop("point", count, _loop("deep", depth, Store(name, (point, deep), value)))
        body += (Alloc(Buffer(name, (count, depth), ("point", "deep"), "f32", "registers")), copied)
    each = _lanes(Store("to", here, Apply("add", (Load("to", here), product))))
    body += (_loop("deep", depth, _loop("number", ROWS * columns // lanes, each)),)
    name = f"wgmma_m{ROWS}n{columns}k{depth}_{dtype}"
    given = ", ".join(_descriptor(operand, dtype, lies) for operand, lies in zip("ab", across))
    sides = f", {int(across[0])}, {int(across[1])}" if any(across) else ""
    return Instruction(name, f"{name}{'_across' * any(across)}({{to}}, {given}{sides})", body)


def _loop(name: str, count: int, *body: Statement) -> For:
    return For(name, ZERO, constant(count), 1, body)


def _lanes(statement: Statement) -> For:
    return For("lane", ZERO, constant(WARP_SIZE * WARPS_OF_GROUP), 1, (statement,), "vector")


def _element(operand: str, point: Index, deep: Index, dtype: str, across: bool) -> Value:
    """An element of a or b as an f32, in a row or column, at a depth of the part."""
    row, chunk = row_points(dtype), CHUNK_BYTES // DTYPE_BYTES[dtype]
    deep = deep + variable("part")
    line, at = (deep, point % row) if across else (point, deep)
    block = point // row * (row * row) if across else ZERO
    place = block + line * row + applied("^", at // chunk, line % 8) * chunk + at % chunk
    load = Load(operand, (place,))
    return Apply(WIDENED[dtype], (load,)) if dtype in WIDENED else load


def _descriptor(operand: str, dtype: str, across: bool) -> str:
    place = f"shared_address({{{operand}}})"
    if across:  # blocks of as many points as a row has, of so many rows
        return f"wgmma_descriptor_across({place}, {row_points(dtype) * ROW_BYTES}, {ROW_BYTES} * ({{part}}))"
    return f"wgmma_descriptor({place}, {DTYPE_BYTES[dtype]} * ({{part}}))"


FENCE = Instruction("wgmma_fence", "wgmma_fence()", ())
COMMIT = Instruction("wgmma_commit", "wgmma_commit()", ())
PIN = Instruction("pin", "pin({to})", ())
SHOW = Instruction("fence_proxy_async", "fence_proxy_async()", ())
PUBLISH = Instruction("mbarrier_fence_init", "mbarrier_fence_init()", ())


@lru_cache(maxsize=4)
def wait(pending: int) -> Instruction:
    """Waits until all groups of products but the last ones are done."""
    return Instruction(f"wgmma_wait_{pending}", f"wgmma_wait({pending})", ())
