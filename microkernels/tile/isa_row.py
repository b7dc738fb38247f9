"""The fields of a row of the table in `isa`: what the emitters know of an instruction set, as text.

Where no form is named, emitters use C's own operators, which gcc and clang define for vector types: + - * / lane by
lane, and <, which gives lanes of all bits or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.arrays.access import access_of
from tiling.problem import Problem


@dataclass(frozen=True)
class MultiplyAdd:
    """A multiplication: its text, and what it means.

    text: adds the products of x and w to `acc`. adds: names of functions in `tiling.loops.meaning.functions`, which
    take a word of x, a word of w, and a sum. Where there are several, each has a sum of its own over all words; then
    acc and these are added.
    """

    text: str
    adds: tuple[str, ...]


@dataclass(frozen=True)
class Narrow:
    """The stores of a vector of floats `v` as numbers of fewer bits, rounded to nearest even.

    definition: the C text that the forms need before them. in_line: how many vectors fill a cache line. store_line:
    stores so many at once; `v` is their list.
    """

    dtype: str
    definition: str
    store: str
    store_tail: str
    stream: str
    in_line: int
    store_line: str


@dataclass(frozen=True)
class NarrowLoads:
    """The loads of narrow numbers from `p`, as many as a vector has lanes, and what becomes of them in `v`.

    number: the C type of a number of x. alone: each number becomes the lowest bits of a lane, the other bits are 0.
    moved: the same, shifted up by `bits`. together: the numbers stay side by side, in the first lanes.
    """

    number: str
    load: str
    load_tail: str
    alone: str
    moved: str
    together: str


@dataclass(frozen=True)
class TileRegisters:
    """Tile registers, each of up to `rows` rows of up to `bytes` bytes, and the forms of their instructions.

    In the forms `t`, `x`, `w`, `acc` are tile registers, tmm0 …, `p` is a pointer to the first row, and `step` is
    the bytes from one row to the next.
    definition: the C text that the forms need before them.
    multiply: adds the products of a row of x with a column of w to each row and lane of acc.
    awake: an instruction that keeps the units awake that later store the sums.
    """

    rows: int
    bytes: int
    registers: int
    definition: str
    zero: str
    load: str
    store: str
    multiply: MultiplyAdd
    awake: str
    release: str


@dataclass(frozen=True)
class Isa:
    """An instruction set as the emitters see it.

    In the forms `p` is a pointer to floats; `acc`, `x`, `w`, `v`, `a`, `b` are names of vector variables; `lanes` names
    the used lanes of a partly used vector, such as TAIL, which `lanes_definition` defines. `first_lanes` gives the same
    for a number of lanes that is known only when the kernel runs.

    lanes: f32 per vector. registers: the number of vector registers.
    cpu_flags: the flags that /proc/cpuinfo must list. compiler_flags: gcc and clang need them to accept the forms.
    any_cpu: the attribute of a function that is compiled without those flags. supported: the C condition that the CPU
        has them.
    embedded_broadcast: an FMA can broadcast a scalar from memory by itself, so a broadcast needs no register.
    scale: `p` times 2 to the power of `n` rounded down, and 0 where `v` is below `least`; empty without an instruction.
    lookup: for each lane the number of the vector `table` at the place in the last bits of `n`; empty where `scale` is.
    once: a * b + c, rounded once; empty without an instruction.
    fma_in_place: the definition of a macro FMA_IN_PLACE(x, w, acc), which is `fma` for an acc that the compiler may not
        move; empty where the compiler does not move it anyway.
    store_lanes: the definition of a function store_lanes(p, v, lanes), which stores so many lanes, fewer than all, by
        plain stores of 4, 2 and 1 lanes. The compiler knows the number. Empty where a masked store takes no longer.
    constant: broadcasts the number `s`. larger, smaller: give b where a or b is NaN.
    no_number: gives v where it is NaN, else `found`; empty where that takes several instructions.
    nan: a NaN of all bits in the lanes where a or b is NaN, else 0; empty where `no_number` takes no longer.
    or_nan: b, and NaN in the lanes where `a`, which is what `nan` gives, is NaN.
    shuffle: takes the lanes `places` of a and b, by a macro that `microkernels.tile.lanes` defines. The lanes of b
        count on after the lanes of a.
    dtype: the dtype that `fma` multiplies. word: the C type that x and the weights are read as.
    floats: the sums in `v` as a vector of floats. narrow: the stores of other dtypes.
    numbers: for narrow numbers, the loads that give each a lane of its own; else None.
    ranked_as: the instruction set whose measured tiles count for this one; empty where it has its own.
    matrix: the matrix instructions (`tiling.rewrite.dot_groups`), or None.
    vectors: beside matrix instructions, the instruction set of schemes whose dot groups fill a lane.
    """

    name: str
    lanes: int
    registers: int
    cpu_flags: tuple[str, ...]
    compiler_flags: tuple[str, ...]
    any_cpu: str
    supported: str
    embedded_broadcast: bool
    vector_type: str
    prologue: str
    lanes_definition: str
    first_lanes: str
    zero: str
    load: str
    load_tail: str
    store: str
    store_tail: str
    stream: str
    stream_fence: str
    broadcast: str
    fma: MultiplyAdd
    constant: str
    larger: str
    smaller: str
    no_number: str = ""
    nan: str = ""
    or_nan: str = ""
    scale: str = ""
    lookup: str = ""
    once: str = ""
    fma_in_place: str = ""
    store_lanes: str = ""
    shuffle: str = "PICK({a}, {b}, {places})"
    dtype: str = "f32"
    word: str = "float"
    floats: str = "{v}"
    narrow: tuple[Narrow, ...] = ()
    numbers: NarrowLoads | None = None
    ranked_as: str = ""
    matrix: TileRegisters | None = None
    vectors: str = ""

    @property
    def ranked(self) -> str:
        """The instruction set whose measurements of tiles and of caches hold for this one."""
        return self.ranked_as or self.name

    def narrow_to(self, dtype: str) -> Narrow | None:
        """The stores of this output dtype; None for a dtype that is stored by whole vectors."""
        return next((row for row in self.narrow if row.dtype == dtype), None)

    def x_type(self, problem: Problem) -> str:
        """The C type that tiles read x as.

        It is the type of a number where tiles load vectors of narrow numbers, and uint32_t where dot groups overlap.
        """
        if problem.broadcast.reach:
            return "uint32_t"
        return self.numbers.number if self.numbers and access_of(problem).lanewise else self.word
