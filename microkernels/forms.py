"""What the emitters know of an instruction set, as text: the fields of a row of the table in `isa`.

Forms: `p` is a pointer to floats, `acc`, `x`, `w`, `v` are names of vector variables. `lanes` names the first lanes of
a partly used vector, such as TAIL, and is defined by `lanes_definition`. `constant` spreads the number `s`; `larger`
and `smaller` of the vectors `a` and `b` give b where either is no number; `shuffle` takes the lanes `places` of both,
those of `b` counted on, by a macro that `microkernels.lanes` defines. For everything else the vector types of all rows
have C's own operators, which gcc and clang define: + - * / lane by lane, < giving lanes of all bits or none.
"""

from __future__ import annotations

from dataclasses import dataclass

from tiling.problem import Problem


@dataclass(frozen=True)
class Narrow:
    """How a vector of floats `v` is stored as numbers of fewer bits, rounded to nearest even; `definition` comes
    before.

    in_line: so many vectors fill a cache line, and `store_line` stores them, `v` their list, as one.
    """

    dtype: str
    definition: str
    store: str
    store_tail: str
    stream: str
    in_line: int
    store_line: str


@dataclass(frozen=True)
class Lanes:
    """How as many neighbouring narrow numbers as a vector has lanes are loaded from `p`, and what becomes of them in
    `v`.

    number: the C type of x's; alone: each is the lowest bits of a lane, the others 0; moved: the same, up by `bits`;
    together: they stay side by side, in the first lanes.
    """

    number: str
    load: str
    load_tail: str
    alone: str
    moved: str
    together: str


@dataclass(frozen=True)
class Matrix:
    """Tile registers, each of up to `rows` rows of up to `bytes` bytes, and the forms of what is done with them.

    Forms: `t`, `x`, `w`, `acc` are numbers of tile registers, `p` is a pointer to the first row and `step` the bytes
    from one row to the next. multiply: to each row of acc and each of its lanes the products of a row of x with a
    column of w are added. shaped: makes the shapes at `p` those of all tile registers, which it zeroes. definition:
    with `{bytes}`, those that a row of x has. awake: what keeps the units awake that the way of the sums needs.
    """

    rows: int
    bytes: int
    registers: int
    definition: str
    zero: str
    load: str
    store: str
    multiply: str
    awake: str
    shaped: str
    release: str


@dataclass(frozen=True)
class Isa:
    """An instruction set as the emitters see it.

    lanes: f32 per vector; registers: vector registers there are; cpu_flags: what /proc/cpuinfo must list;
    compiler_flags: what makes gcc and clang accept the forms; any_cpu: the attribute of a function that is compiled
    without them, and supported: the C condition that the CPU it runs on has cpu_flags; embedded_broadcast: an FMA can
    read and spread a scalar from memory by itself, so a broadcast needs no register of its own. dtype: of what `fma`
    multiplies; word: the C type that x and the weights are read as; floats: the float vector of the sums in `v`;
    narrow: the stores of other dtypes; numbers: of narrow ones, the loads that give each a lane of its own; ranked_as:
    the instruction set whose measured tiles stand for this one's, empty for its own. matrix: what multiplies blocks
    (`tiling.words`); then `vectors` is the instruction set of its schemes of words.
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
    zero: str
    load: str
    load_tail: str
    store: str
    store_tail: str
    stream: str
    stream_fence: str
    broadcast: str
    fma: str
    constant: str
    larger: str
    smaller: str
    shuffle: str = "PICK({a}, {b}, {places})"
    dtype: str = "f32"
    word: str = "float"
    floats: str = "{v}"
    narrow: tuple[Narrow, ...] = ()
    numbers: Lanes | None = None
    ranked_as: str = ""
    matrix: Matrix | None = None
    vectors: str = ""

    @property
    def ranked(self) -> str:
        """The instruction set whose measurements, of tiles and of caches, hold for this one."""
        return self.ranked_as or self.name

    def narrow_to(self, dtype: str) -> Narrow | None:
        """The stores of this output dtype; None for one that is stored by whole vectors."""
        return next((row for row in self.narrow if row.dtype == dtype), None)

    def x_type(self, problem: Problem) -> str:
        """The C type that tiles read x as: that of a number where they load vectors of narrow ones, of a word where
        blocks of several overlap.
        """
        if problem.broadcast.reach:
            return "uint32_t"
        return self.numbers.number if self.numbers and problem.lanewise else self.word
