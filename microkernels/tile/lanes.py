"""Lanes of a vector in C: names for the first lanes, and shuffles that move values between lanes."""

from __future__ import annotations

from microkernels.tile.isa_row import Isa

TAIL = "TAIL"  # the used lanes of the last vector
_QUAD = 4  # lanes of 128 bits


def tail_definition(isa: Isa, lanes: int) -> str:
    """The C text that defines TAIL, the `lanes` used lanes of the last vector."""
    return lanes_definition(isa, TAIL, lanes, "the last vector")


def lanes_definition(isa: Isa, name: str, lanes: int, what: str) -> str:
    """The C text that defines `name` for the first `lanes` lanes of a vector. Its comment says `what` uses them."""
    lane_list = ", ".join("-1" if lane < lanes else "0" for lane in range(isa.lanes))
    words = {"name": name, "array": f"{name.lower()}_lanes", "what": what}
    return isa.lanes_definition.format(**words, lanes=lanes, mask=(1 << lanes) - 1, lane_list=lane_list)


def own_loads(isa: Isa) -> tuple[str, str]:
    """The forms of the loads, whole and masked, that bring every lane an x of its own."""
    return (isa.load, isa.load_tail) if isa.numbers is None else ("words_at({p})", "words_at_tail({p})")


def own_definitions(isa: Isa, masked: bool, numbers: int, group: int = 0) -> list[str]:
    """The C functions that `own_loads` calls, none for f32. The masked load is there if a last vector is `masked`.

    By default each lane gets one number of x, and zeros. Where the channels of a group are `group` dot groups of so
    many `numbers`, each dot group goes to `numbers` lanes of its group.
    """
    if isa.numbers is None:
        return []
    loads = {"words_at": isa.numbers.load} | ({"words_at_tail": isa.numbers.load_tail} if masked else {})
    if group:
        lines = [f"/* The dot groups of {isa.lanes} neighbours in x. Every lane gets one of its group. */"]
    else:
        lines = ["/* Neighbours in x, each alone in the lowest bits of a word. */"]
    for name, load in loads.items():
        x = load.format(p="p", lanes=TAIL)
        alone = f"return ({isa.vector_type}){isa.numbers.alone.format(v=x)};"
        body = _spread(isa, isa.numbers.together.format(v=x), numbers, group) if group else [alone]
        head = f"static inline {isa.vector_type} {name}(const {isa.numbers.number} *p)"
        lines += [head, "{", *(f"    {line}" for line in body), "}"]
    return lines


def _spread(isa: Isa, x: str, numbers: int, group: int) -> list[str]:
    """Statements that return the dot groups of `x`, side by side as loaded, moved to the lanes of their groups."""
    block = numbers * group
    places = ", ".join(str(lane // block * group + lane % group) for lane in range(isa.lanes))
    return [
        f"const {isa.vector_type} x = ({isa.vector_type}){x};",
        f"return {isa.shuffle.format(a='x', b='x', places=places)};",
    ]


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
    """The C functions `exchange_1(x)` … that bring every lane the other channels or dot groups of a group of `size`.

    An exchange across 128 bits moves whole 128 bits first. Then three exchanges share that shuffle, and none needs a
    register of places.
    """
    held = "channels" if isa.numbers is None else "words"
    about = (
        f"/* Lane l of exchange_c(x) is lane l ^ c of x. In {size} steps every lane meets all {size} {held} of its "
        f"group. */"
    )
    lines = [about, *shuffle_definition(isa)] if size > 1 else shuffle_definition(isa)
    for c in range(1, size):
        value = isa.shuffle.format(a="x", b="x", places=", ".join(str(lane ^ c) for lane in range(isa.lanes)))
        if c > _QUAD and c % _QUAD:
            value = f"exchange_{c % _QUAD}(exchange_{c - c % _QUAD}(x))"
        lines.append(f"static inline {isa.vector_type} exchange_{c}({isa.vector_type} x) {{ return {value}; }}")
    return lines
