"""The instructions of a warp that matrices take, with their meaning over its 32 lanes.

    mma(dtype)                      to (16,8) += a (16,depth) · b (depth,8), whose elements lanes hold
    get_matrices(dtype, across)     four 8x8 matrices of shared memory to registers
    gather(dtype)                   a thread takes up to eight neighbours of 16 bits, which begin anywhere
    put_chunk(dtype)                and stores eight to shared memory

Lane l holds these elements. The depth counts in steps of `per_word`:

    a    word r     row l/4 + 8*(r%2)        depth l%4 + 4*(r/2)
    b    word r     column l/4               depth l%4 + 4*r
    to   number e   row l/4 + 8*(e/2)        column 2*(l%4) + e%2

Source: PTX ISA, "Matrix fragments for mma.m16n8k16", "mma.m16n8k8" and "ldmatrix".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpu.passes.facts.workers import WARP_SIZE
from tiling.dtypes.products import DTYPE_BYTES, GPU_DTYPES, LANE_BYTES, word_of
from tiling.loops.index import LANE, ZERO, applied, constant, variable
from tiling.loops.language import Apply, Choose, For, Inside, Instruction, Load, Number, Read, Statement, Store, Value

ROWS, COLUMNS = 16, 8  # of every matrix instruction of a warp
SUMS = 4  # numbers of `to` that a lane holds
A_WORDS, B_WORDS = 4, 2  # 32-bit words of a and of b that a lane holds
MATRICES, MATRIX_ROWS = 4, 8  # of one ldmatrix
CHUNK_WORDS = 4  # of the chunks that threads gather


@dataclass(frozen=True)
class Words:
    """How numbers lie in the words of fragments. product: the function that multiplies two words."""

    dtype: str
    per_word: int
    product: str

    @property
    def depth(self) -> int:
        """Points that one instruction sums."""
        return 4 * A_WORDS // 2 * self.per_word

    def word(self, numbers: tuple[Value, ...]) -> Value:
        """A word of the numbers in it, which are rounded where a matrix instruction would cut them off."""
        return Apply("word" if self.per_word > 1 else f"as_{self.dtype}", numbers)


def _words(dtype: str) -> Words:
    numbers = LANE_BYTES // DTYPE_BYTES[dtype]
    return Words(word_of(dtype, numbers), numbers, f"dot_{dtype}") if numbers > 1 else Words(dtype, 1, "mul")


WORDS = {dtype: _words(dtype) for dtype in GPU_DTYPES}  # by the dtype of a problem


@lru_cache(maxsize=64)
def mma(dtype: str) -> Instruction:
    """The matrix instruction of a dtype."""
    words = WORDS[dtype]
    number, word = variable("number"), variable("word")
    group, member = applied("/", LANE, constant(4)), applied("%", LANE, constant(4))
    lower, right = applied("/", number, constant(2)), applied("%", number, constant(2))
    inner, outer = applied("%", word, constant(4)), applied("/", word, constant(4))
    a = Load("a", (group * 4 + inner, lower + outer * 2))
    b = Load("b", ((member * 2 + right) * 4 + inner, outer))
    here = (LANE, number)
    body: Statement = Store("to", here, Apply("add", (Load("to", here), Apply(words.product, (a, b)))))
    for name, count, kind in (("word", 8, "serial"), ("number", SUMS, "serial"), ("lane", WARP_SIZE, "vector")):
        body = For(name, ZERO, constant(count), 1, (body,), kind)
    shape = f"m{ROWS}n{COLUMNS}k{words.depth}"
    return Instruction(f"mma_{shape}_{dtype}", f"mma_{shape}_{dtype}({{to}}, {{a}}, {{b}})", (body,))


@lru_cache(maxsize=64)
def get_matrices(dtype: str, across: bool) -> Instruction:
    """Four 8x8 matrices of 16-bit numbers, or four of 8x4 of 32 bits: lane l gives row l%8 of matrix l/8.

    Each lane gets a word of each matrix, from row l/4, or from column l/4 where they are taken `across`. f32 become
    tf32.
    """
    words, matrix = WORDS[dtype], variable("matrix")
    group, member = applied("/", LANE, constant(4)), applied("%", LANE, constant(4))
    first = matrix * MATRIX_ROWS

    def number(which: int) -> Load:
        along = member * words.per_word + which
        return Load("p", (first + along, group) if across else (first + group, along))

    numbers = tuple(map(number, range(words.per_word)))
    value: Value = words.word(numbers)
    body: Statement = Store("to", (LANE, matrix), value)
    for name, count, kind in (("matrix", MATRICES, "serial"), ("lane", WARP_SIZE, "vector")):
        body = For(name, ZERO, constant(count), 1, (body,), kind)
    name = "get_matrices_across" if across else f"get_matrices{'_tf32' if words.per_word == 1 else ''}"
    return Instruction(name, f"{name}({{to}}, {{p}})", (body,))


@lru_cache(maxsize=4)
def gather(dtype: str) -> Instruction:
    """Neighbours from `first` on and before `end`, of the eight at a place, to their halves of words, which are 0."""
    word = variable("word")
    first, end = variable("begin"), variable("behind")

    def number(which: int) -> Value:
        at = word * 2 + which
        return Choose((Inside(at - first, 0, None), Inside(at - end, None, 0)), Load("p", (at,)), Number(0, dtype))

    numbers: Value = Apply("word", (number(0), number(1)))
    store = Store("to", (word,), Apply("bitor", (Load("to", (word,)), numbers)))
    ends = (Read("begin", Load("first", (ZERO,))), Read("behind", Load("end", (ZERO,))))
    meaning = (*ends, For("word", ZERO, constant(CHUNK_WORDS), 1, (store,)))
    return Instruction("gather", "gather_16({to}, {p}, {first}, {end})", meaning)


@lru_cache(maxsize=4)
def put_chunk(dtype: str) -> Instruction:
    """The eight numbers of four words to shared memory."""
    word = variable("word")
    halves = tuple(
        Store("to", (word * 2 + which,), Apply(f"{side}_{dtype}", (Load("v", (word,)),)))
        for which, side in enumerate(("low", "high"))
    )
    meaning = (For("word", ZERO, constant(CHUNK_WORDS), 1, halves),)
    return Instruction("put_chunk", "store_shared_16(shared_address({to}), {v})", meaning)
