"""The vector instructions of programs: loads and stores of every dtype, positions, and sums across lanes.

A vector has as many lanes as one of floats, whatever its dtype, so one of f64 may fill two registers. Floats use the
instruction set's own forms, other dtypes functions that the printed file defines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isinf, isnan

from microkernels.tile.instructions import at
from microkernels.tile.isa_row import Isa
from tiling.loops.buffer import Buffer
from tiling.loops.index import LANE, ZERO, Index, applied, constant, variable
from tiling.loops.language import (
    Alloc,
    Apply,
    Body,
    For,
    If,
    Immediate,
    Inside,
    Instruction,
    Load,
    Mask,
    Number,
    Position,
    Store,
    Value,
)
from tiling.text.numbers import shortest

_USED = Inside(variable("lanes") - LANE, 1, None)  # this lane is one of the first `lanes`
_FLOATS = ("load", "load_tail", "store", "store_tail", "broadcast")  # the forms of a row of the table `isa`


@dataclass(frozen=True)
class AccessForms:
    """The accesses to arrays of one dtype. A tail has fewer lanes than a vector; store_first stores lane 0 alone.

    masked: tails take a mask, as an instruction set's own forms do, and not the number of lanes.
    """

    load: Instruction
    load_tail: Instruction
    store: Instruction
    store_tail: Instruction
    store_first: Instruction
    broadcast: Instruction
    masked: bool

    def first(self, lanes: Index) -> Mask | Immediate:
        """The operand of a tail for so many lanes."""
        return Mask(lanes) if self.masked else Immediate(lanes)


@lru_cache(maxsize=64)
def memory_of(isa: Isa, dtype: str) -> AccessForms:
    """The accesses to arrays of a dtype with the lanes of an instruction set."""
    form = {name: f"{name}_{dtype}({{p}})" for name in ("load", "broadcast")}
    form |= {"load_tail": f"load_tail_{dtype}({{p}}, {{lanes}})", "store": f"store_{dtype}({{p}}, {{v}})"}
    form |= {name: f"{name}_{dtype}({{p}}, {{v}}{more})" for name, more in _STORES.items()}
    own = _FLOATS if dtype == "f32" else ()
    form |= {name: getattr(isa, name) for name in own}

    def each(statement: Store | If) -> Body:
        return (_over_lanes(isa.lanes, statement),)

    def access(name: str, meaning: Body, gives: str = "f32") -> Instruction:
        return Instruction(name, form[name], meaning, gives, calls=() if name in own else (name, dtype))

    from_memory, to_memory = Store("out", (LANE,), at("p")), Store("p", (LANE,), at("v"))
    nothing = Store("out", (LANE,), Number(0, dtype))
    return AccessForms(
        load=access("load", each(from_memory), dtype),
        load_tail=access("load_tail", each(If((_USED,), (from_memory,), (nothing,))), dtype),
        store=access("store", each(to_memory)),
        store_tail=access("store_tail", each(If((_USED,), (to_memory,)))),
        store_first=access("store_first", (Store("p", (ZERO,), at("v", ZERO)),)),
        broadcast=access("broadcast", each(Store("out", (LANE,), at("p", ZERO))), dtype),
        masked="load_tail" in own,
    )


_STORES = {"store": "", "store_tail": ", {lanes}", "store_first": ""}


@lru_cache(maxsize=64)
def across(function: str, dtype: str, lanes: int) -> Instruction:
    """All lanes of `v` combined: the halves of a vector lane by lane, then quarters, and so on.

    Every lane of the value has the result. The order is fixed, so the bits are too.
    """
    body: list[Alloc | For] = []
    source, half = "v", lanes // 2
    while half:
        target = f"by_{half}" if half > 1 else "out"
        pair: tuple[Value, ...] = (at(source), Load(source, (applied("^", LANE, constant(half)),)))
        body += [Alloc(Buffer(target, (lanes,), ("lane",), dtype, "registers"))] * (target != "out")
        body.append(_over_lanes(lanes, Store(target, (LANE,), Apply(function, pair))))
        source, half = target, half // 2
    text, calls = f"across_{function}_{dtype}({{v}})", ("across", function, dtype)
    return Instruction(f"across_{function}", text, tuple(body), dtype, calls=calls)


@lru_cache(maxsize=64)
def first_lanes(lanes: int) -> Instruction:
    """Which lanes are used: the first of them."""
    body = If((_USED,), (Store("out", (LANE,), Number(1, "bool")),), (Store("out", (LANE,), Number(0, "bool")),))
    calls = ("first_lanes",)
    return Instruction("first_lanes", "first_lanes({lanes})", (_over_lanes(lanes, body),), "bool", calls=calls)


@lru_cache(maxsize=256)
def positions(step: int, lanes: int) -> Instruction:
    """The numbers `first`, first + step, … of the lanes."""
    each = Store("out", (LANE,), Position(variable("first") + LANE * step))
    text = f"positions({{first}}, {step})" if step else "constant_s64({first})"
    return Instruction("positions", text, (_over_lanes(lanes, each),), "s64", calls=("positions",))


@lru_cache(maxsize=64)
def spread(dtype: str, lanes: int) -> Instruction:
    """A number in all lanes."""
    text = "constant({value})" if dtype == "f32" else f"constant_{dtype}({{value}})"
    loop = _over_lanes(lanes, Store("out", (LANE,), at("value", ZERO)))
    return Instruction("constant", text, (loop,), dtype, calls=("constant", dtype))


def literal(number: Number) -> str:
    """A number as C text."""
    value = number.value
    if number.dtype not in ("f32", "f64"):
        whole = int(value)  # the least whole number of 64 bits is no literal in C
        return f"{whole + 1} - 1" if whole == -(1 << 63) else f"{whole}{'u' * (whole >= 1 << 63)}"
    if isnan(value) or isinf(value):
        return "NAN" if isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
    return f"{shortest(value)}f" if number.dtype == "f32" else repr(float(value))


@lru_cache(maxsize=64)
def transposed(lanes: int) -> Instruction:
    """The numbers from `p` on of as many rows as a vector has lanes, `apart` elements from each other, as columns.

    `to` gets a vector for each place in the rows.
    """
    text = "transposed({to}, {p}, {apart})"
    return Instruction("transposed", text, _transposed_loops(constant(lanes), lanes), calls=("transposed",))


@lru_cache(maxsize=64)
def transposed_to(lanes: int) -> Instruction:
    """As `transposed`, with vectors that begin `to_apart` elements from each other."""
    text = "transposed_to({to}, {to_apart}, {p}, {apart})"
    return Instruction("transposed_to", text, _transposed_loops(variable("to_apart"), lanes), calls=("transposed_to",))


def _transposed_loops(to_apart: Index, lanes: int) -> Body:
    row, place = variable("row"), variable("place")
    to, p = (applied("*", each, far) for each, far in ((place, to_apart), (row, variable("apart"))))
    one = Store("to", (to + row,), Load("p", (p + place,)))
    return (For("row", ZERO, constant(lanes), 1, (For("place", ZERO, constant(lanes), 1, (one,)),)),)


@lru_cache(maxsize=64)
def braided(rows: int, lanes: int) -> Instruction:
    """As many numbers as a vector has lanes of each of `rows` rows from `p` on, `apart` elements from each other.

    `to` gets the first of each row, then the second of each, and so on.
    """
    row, place = variable("row"), variable("place")
    one = Store("to", (place * rows + row,), Load("p", (applied("*", row, variable("apart")) + place,)))
    body = For("row", ZERO, constant(rows), 1, (For("place", ZERO, constant(lanes), 1, (one,)),))
    text = f"braided_{rows}({{to}}, {{p}}, {{apart}})"
    return Instruction(f"braided_{rows}", text, (body,), calls=("braided", str(rows)))


# Notes that an index read from an array lies outside another: the kernel's result then says so.
OUTSIDE = Instruction("outside", "note(&outside)", ())


def _over_lanes(lanes: int, statement: Store | If) -> For:
    return For("lane", ZERO, constant(lanes), 1, (statement,), "vector")
