"""Lanes of a vector in C: names for the first of them, and the shuffles that bring each lane another's content."""

from __future__ import annotations

from microkernels.isa import Isa

_QUAD = 4  # lanes of 128 bits


def tail_definition(isa: Isa, lanes: int) -> str:
    """The C text that defines TAIL for a last vector of which `lanes` lanes are used."""
    return lanes_definition(isa, "TAIL", lanes, "the last vector")


def block_definition(isa: Isa, rows: int) -> str:
    """The C text that defines FIRST_n for a transposed block of n `rows`."""
    return lanes_definition(isa, f"FIRST_{rows}", rows, f"a block of {rows} rows")


def lanes_definition(isa: Isa, name: str, lanes: int, what: str) -> str:
    """The C text that defines `name` for the first `lanes` lanes of a vector, `what` being said in its comment."""
    lane_list = ", ".join("-1" if lane < lanes else "0" for lane in range(isa.lanes))
    words = {"name": name, "array": f"{name.lower()}_lanes", "what": what}
    return isa.lanes_definition.format(**words, lanes=lanes, mask=(1 << lanes) - 1, lane_list=lane_list)


def shuffle_definition(isa: Isa) -> list[str]:
    """The C text that `shuffle` needs before it."""
    return [
        "#ifdef __clang__",
        "#define PICK(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)",
        "#else",
        f"typedef int places __attribute__((vector_size({isa.lanes * 4})));",
        "#define PICK(a, b, ...) __builtin_shuffle(a, b, (places){__VA_ARGS__})",
        "#endif",
    ]


def exchange_definitions(isa: Isa, size: int) -> list[str]:
    """The C functions `exchange_1(x)` … that bring every lane the other channels of its group of `size`.

    What crosses 128 bits goes there first: then three exchanges share that shuffle, and none needs a register of
    places.
    """
    lines = [
        f"/* Lane l of exchange_c(x) is lane l ^ c of x: in {size} steps every lane meets all {size} channels of its "
        f"group. */",
        *shuffle_definition(isa),
    ]
    for c in range(1, size):
        value = isa.shuffle.format(a="x", b="x", places=", ".join(str(lane ^ c) for lane in range(isa.lanes)))
        if c > _QUAD and c % _QUAD:
            value = f"exchange_{c % _QUAD}(exchange_{c - c % _QUAD}(x))"
        lines.append(f"static inline {isa.vector_type} exchange_{c}({isa.vector_type} x) {{ return {value}; }}")
    return lines
