"""The instructions of a row of the table `isa`: its text, and what each form means in loops.

The interpreter of the loop language runs the meaning, so a kernel of any instruction set runs on any machine. In a
meaning `p` is memory, `out` the vector that the instruction gives, `lanes` how many lanes a mask uses.
"""

#     load_tail   "_mm512_maskz_loadu_ps({lanes}, {p})"      for lane in 0..16:
#                                                              if lane < lanes: out[lane] = p[lane]
#                                                              else:            out[lane] = 0

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import nan

from microkernels.tile.isa_row import Isa, Narrow
from microkernels.tile.lanes import own_loads
from tiling.dtypes.products import DTYPE_BYTES, LANE_BYTES, SUM_DTYPE, WORD
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.language import Apply, Body, For, If, Inside, Instruction, Load, Number, Read, Store, Value

# A vector type of the compiler, without an instruction set, need not be a register.
_OWN = """\
/* Gives an accumulator a register of its own. Where several begin with the same bias, the compiler would keep the bias
 * in one more register, which an accumulator needs. */
#define OWN(acc) """
_IN_REGISTER, _ANYWHERE = '__asm__ volatile("" : "+v"(acc))', "((void)0)"
TRANSPOSE = "transpose"  # the functions that do so are told apart by how many rows they get
_USED = Inside(variable("lanes") - LANE, 1, None)  # this lane is one of the first `lanes`


@dataclass(frozen=True)
class NarrowStores:
    """The stores of a vector of floats as narrow numbers. line: stores vectors v_0, v_1 …, `in_line` of them."""

    store: Instruction
    store_tail: Instruction
    stream: Instruction
    line: Instruction
    in_line: int


@dataclass(frozen=True)
class Instructions:
    """The vector instructions of an instruction set. Their operands have the names of the forms' fields.

    fma_in_place: as `fma`, for an acc that must stay in its register; `fma` itself where the row has no other text.
    store_lanes: as `store_tail`, with the number of lanes in place of a mask; None where the row has no text for it.
    alone: as `load`, of narrow numbers, each into a lane of its own. gathered: for each count of numbers, the loads,
    whole and masked, of vectors from p_0, p_1 … into the words of lanes. exchange: lane l gets lane l ^ c. arithmetic:
    of two vectors, or of a number and a vector, by the names of functions. functions: what a file's own functions of
    vectors are written with, by the fields of `Isa` that have the text; those that the row has. narrow: the stores of
    what a function such as `to_bf16` rounds.
    """

    zero: Instruction
    load: Instruction
    load_tail: Instruction
    store: Instruction
    store_tail: Instruction
    stream: Instruction
    stream_fence: Instruction
    broadcast: Instruction
    fma: Instruction
    fma_in_place: Instruction
    own: Instruction
    zeros: Instruction
    floats: Instruction
    alone: Instruction
    alone_tail: Instruction
    exchange: Instruction
    store_lanes: Instruction | None = None
    gathered: tuple[tuple[Instruction, Instruction], ...] = ()
    arithmetic: Mapping[str, Instruction] = field(default_factory=dict)
    functions: Mapping[str, Instruction] = field(default_factory=dict)
    narrow: Mapping[str, NarrowStores] = field(default_factory=dict)


@lru_cache(maxsize=16)
def instructions_of(isa: Isa) -> Instructions:
    """The instructions of one row of the table."""

    def lanes(*body: Store | If) -> Body:
        return (For("lane", ZERO, constant(isa.lanes), 1, body, "vector"),)

    def out(value: Value) -> Store:
        return Store("out", (LANE,), value)

    def to_memory() -> Store:
        return Store("p", (LANE,), at("v"))

    def masked(whole: Store) -> Body:
        return lanes(If((_USED,), (whole,), (out(Number(0)),)))

    sums = SUM_DTYPE[isa.dtype]
    (adds,) = isa.fma.adds
    alone, alone_tail = own_loads(isa)
    number = out(Apply("alone", (at("p"),)))
    exchanged, words = out(at("x", applied("^", LANE, variable("c")))), "f32" if isa.numbers is None else WORD
    times = isa.constant.replace("{s}", "{s}f") + " * {v}"
    fma = Instruction("fma", isa.fma.text, lanes(out(Apply(adds, (at("x"), at("w"), at("acc"))))), sums)
    in_place = replace(fma, name="fma_in_place", text="FMA_IN_PLACE({x}, {w}, {acc})", definition=isa.fma_in_place)
    tail = Instruction("store_tail", isa.store_tail, lanes(If((_USED,), (to_memory(),))))
    some = replace(tail, name="store_lanes", text="store_lanes({p}, {v}, {lanes})", definition=isa.store_lanes)
    return Instructions(
        zero=Instruction("zero", literal(isa.zero), lanes(out(Number(0))), sums),
        load=Instruction("load", isa.load, lanes(out(at("p"))), ""),
        load_tail=Instruction("load_tail", isa.load_tail, masked(out(at("p"))), ""),
        store=Instruction("store", isa.store, lanes(to_memory())),
        store_tail=tail,
        store_lanes=some if isa.store_lanes else None,
        stream=Instruction("stream", isa.stream, lanes(to_memory())),
        stream_fence=Instruction("stream_fence", literal(isa.stream_fence), ()),
        broadcast=Instruction("broadcast", isa.broadcast, lanes(out(at("p", ZERO))), ""),
        fma=fma,
        fma_in_place=in_place if isa.fma_in_place else fma,
        own=Instruction("own", "OWN({acc})", (), definition=_OWN + (_IN_REGISTER if isa.cpu_flags else _ANYWHERE)),
        zeros=Instruction("zeros", "zeros", lanes(out(Number(0)))),
        floats=Instruction("floats", isa.floats, lanes(out(Apply("to_f32", (at("v"),))))),
        alone=Instruction("alone", alone, lanes(number), WORD),
        alone_tail=Instruction("alone_tail", alone_tail, masked(number), WORD),
        gathered=tuple((_gathered(isa, count, False), _gathered(isa, count, True)) for count in _counts(isa)),
        exchange=Instruction("exchange", "exchange_{c}({x})", lanes(exchanged), words, registers=1),
        arithmetic={
            "add": Instruction("add", "{a} + {b}", lanes(out(Apply("add", (at("a"), at("b")))))),
            "sub": Instruction("sub", "{a} - {b}", lanes(out(Apply("sub", (at("a"), at("b")))))),
            "neg": Instruction("neg", "-{v}", lanes(out(Apply("neg", (at("v"),))))),
            "mul": Instruction("times", times, lanes(out(Apply("mul", (at("s", ZERO), at("v")))))),
        },
        functions=_functions(isa),
        narrow={f"to_{row.dtype}": _narrow_stores(row, isa.lanes) for row in isa.narrow},
    )


def _functions(isa: Isa) -> dict[str, Instruction]:
    """What functions of vectors are written with, of a row that has the text."""
    a, b, v, n = map(at, "abvn")
    # Where a or b is no number, neither is greater or less.
    values: dict[str, Value] = {
        "constant": at("s", ZERO),
        "larger": Apply("where", (Apply("gt", (a, b)), a, b)),
        "smaller": Apply("where", (Apply("lt", (a, b)), a, b)),
        "no_number": Apply("where", (Apply("ne", (v, v)), v, at("found"))),
        "nan": Apply("where", (Apply("or", (Apply("ne", (a, a)), Apply("ne", (b, b)))), Number(nan), Number(0))),
        "or_nan": Apply("where", (Apply("ne", (a, a)), a, b)),
        "scale": Apply("where", (Apply("lt", (v, at("least"))), Number(0), Apply("scale", (at("p"), n)))),
        "once": Apply("fma", (a, b, at("c"))),
    }
    place = Read("place", Apply("bitand", (Apply("bits", (n,)), Number(isa.lanes - 1, "u32"))))
    bodies: dict[str, Body] = {name: (Store("out", (LANE,), value),) for name, value in values.items()}
    bodies["lookup"] = (place, Store("out", (LANE,), at("table", variable("place"))))
    each = {name: For("lane", ZERO, constant(isa.lanes), 1, body, "vector") for name, body in bodies.items()}
    texts = {name: getattr(isa, name) for name in each}
    return {name: Instruction(name, text, (each[name],)) for name, text in texts.items() if text}


def _counts(isa: Isa) -> range:
    """How many numbers a word may hold; none for f32."""
    return range(1, LANE_BYTES // DTYPE_BYTES[isa.dtype] + 1) if isa.numbers else range(0)


def _gathered(isa: Isa, count: int, masked: bool) -> Instruction:
    """Words of `count` numbers and zeros: the numbers of each place are shifted to their bits of all lanes."""
    assert isa.numbers
    load, held = isa.numbers.load_tail if masked else isa.numbers.load, len(_counts(isa))
    loads = [load.format(p=f"{{p_{number}}}", lanes="{lanes}") for number in range(count)]
    lanes = [isa.numbers.alone.format(v=loads[0])]
    lanes += [isa.numbers.moved.format(v=loads[n], bits=n * 32 // held) for n in range(1, count)]
    numbers = (at(f"p_{number}") if number < count else Number(0) for number in range(held))
    word: Store | If = Store("out", (LANE,), Apply("word", tuple(numbers)))
    word = If((_USED,), (word,), (Store("out", (LANE,), Number(0)),)) if masked else word
    each = For("lane", ZERO, constant(isa.lanes), 1, (word,), "vector")
    name = f"gathered_{count}_tail" if masked else f"gathered_{count}"
    return Instruction(name, f"({isa.vector_type})({' | '.join(lanes)})", (each,), WORD)


def _narrow_stores(row: Narrow, lanes: int) -> NarrowStores:
    def each(statement: Store | If) -> For:
        return For("lane", ZERO, constant(lanes), 1, (statement,), "vector")

    def rounded(operand: str, first: int = 0) -> Store:
        return Store("p", (LANE + first,), Apply(f"to_{row.dtype}", (at(operand),)))

    vectors = [f"v_{number}" for number in range(row.in_line)]
    line = row.store_line.format(p="{p}", v=", ".join(f"{{{vector}}}" for vector in vectors))
    of_line = tuple(each(rounded(vector, lanes * number)) for number, vector in enumerate(vectors))
    return NarrowStores(
        store=Instruction("store", row.store, (each(rounded("v")),)),
        store_tail=Instruction("store_tail", row.store_tail, (each(If((_USED,), (rounded("v"),))),)),
        stream=Instruction("stream", row.stream, (each(rounded("v")),)),
        line=Instruction("store_line", line, of_line),
        in_line=row.in_line,
    )


def at(operand: str, index: Index = LANE) -> Load:
    """An element of an operand: that of this lane, or another one."""
    return Load(operand, (index,))


def literal(text: str) -> str:
    """A text without fields as a form."""
    return text.replace("{", "{{").replace("}", "}}")


def epilogue_instruction(arrays: tuple[str, ...], value: Value, lanes: int) -> Instruction:
    """The file's own vector function of a sum `y` and a vector of each array; `zero` is one of the `arrays`."""
    names = ", ".join(f"{{{name}}}" for name in ("y", *arrays))
    each = For("lane", ZERO, constant(lanes), 1, (Store("out", (LANE,), value),), "vector")
    return Instruction("epilogue", f"epilogue({names})", (each,))


def words_instruction(text: str, numbers: tuple[Index, ...], lanes: int, masked: bool) -> Instruction:
    """The file's own load of the words of all lanes. numbers: where the numbers of a lane's word lie.

    masked: other lanes than the first get 0. One more register holds the places from which words go to lanes.
    """
    word: Store | If = Store("out", (LANE,), Apply("word", tuple(at("p", index) for index in numbers)))
    word = If((_USED,), (word,), (Store("out", (LANE,), Number(0)),)) if masked else word
    each = For("lane", ZERO, constant(lanes), 1, (word,), "vector")
    return Instruction("words_tail" if masked else "words", text, (each,), WORD, registers=1)


@lru_cache(maxsize=64)
def transpose_instruction(rows: int, lanes: int) -> Instruction:
    """The file's own function that turns vectors r0, r1 … of points into the vectors of `t`, one for each point.

    Lane l of t[place] is r_l[place]. The other lanes are undefined.
    """
    names = [f"r{row}" for row in range(rows)]
    text = f"transpose_{rows}({', '.join(f'{{{name}}}' for name in ('t', *names))})"
    values: list[Value] = [*map(at, names), *[Number(0)] * (lanes - rows)]
    stores = [Store("t", (LANE * lanes + row,), value) for row, value in enumerate(values)]
    meaning = tuple(For("lane", ZERO, constant(lanes), 1, (store,), "vector") for store in stores)
    return Instruction(f"transpose_{rows}", text, meaning, calls=(TRANSPOSE, str(rows)))
