"""Weights in the order in which a kernel's loops read them, found by running those loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from cpu.codegen.inside import facts_of_scheme
from cpu.passes.forms import packing_forms
from cpu.passes.order import PACK_WEIGHTS, PLACE_BARRIERS, SHARE_THREADS
from microkernels.tile.isa import EVERY_ISA
from tiling.loops.buffer import Buffer
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.language import Body, For, If, Inside, Load, Store
from tiling.loops.rewrite import parts_of, places
from tiling.loops.walk import inside, walk
from tiling.rewrite.dot_groups import uses_matrix_instructions
from tiling.rewrite.weight_groups import packed_elements, weight_groups_of
from tiling.scheme.scheme import Scheme

PACKING = PACK_WEIGHTS
_OF_A_THREAD = SHARE_THREADS, PLACE_BARRIERS


def packed(plain: Kernel, packing: Kernel, w: np.ndarray) -> np.ndarray:
    """The weights as the kernel after "pack weights" reads them.

    Both kernels have the same products: where the plain one reads W[i], the other reads packed[j]. A place has one
    number; what no product reads is NaN, and what only lanes beyond the last column read is 0.
    """
    (buffer,) = [b for b in packing.arrays if b.name == "W"]
    found, known = unread(buffer, w.dtype), np.zeros(buffer.shape, bool)
    bodies = plain.body, packing.body
    reads = [place.at for body in bodies for place in places(body) if place.buffer == buffer.name]
    ends = [(s.start, s.stop) for body in bodies for s in walk(body) if isinstance(s, For)]
    moving = {name for indices in (*reads, *ends) for index in indices for name in index.names()}
    for edges, source, target, numbers in _pairs(*bodies, {}, (), moving):
        # Only an edge that the weight moves along says whether it exists: there is another one of pixels in lanes.
        along = {name for index in source.at for name in index.names()}
        exists = all(e.index.at(numbers) < e.high for e in edges if along.issuperset(e.index.names()))
        value = w[tuple(i.at(numbers) for i in source.at)] if exists else w.dtype.type(0)
        (place,) = (i.at(numbers) for i in target.at)
        assert not known[place] or found[place] == value, f"W[{place}] is two numbers"
        found[place], known[place] = value, True
    return found


def unread(buffer: Buffer, dtype: np.dtype) -> np.ndarray:
    """What packed weights hold where nobody has written, and nobody may read."""
    number = 0x7FC07FC0 if dtype.itemsize == 4 else 0x5A
    return np.full(buffer.shape, np.nan if dtype == np.float32 else number, dtype)


def packed_forms(forms: Mapping[str, Kernel]) -> tuple[Kernel, Kernel]:
    """The kernel before W is packed, and after that. forms: all forms."""
    names = list(forms)
    return forms[names[names.index(PACKING) - 1]], forms[PACKING]


def forms_that_pack(scheme: Scheme, threads: int = 1) -> list[tuple[str, Kernel]]:
    """The loops that pack the weights of a scheme, after each pass. threads: how many share a call."""
    rows = (isa for isa in EVERY_ISA.values() if (isa.dtype, isa.lanes) == (scheme.problem.dtype, scheme.lanes))
    isa = next(isa for isa in rows if bool(isa.matrix) == uses_matrix_instructions(scheme))
    return list(packing_forms(facts_of_scheme(scheme, isa, False, threads), weight_groups_of(scheme)))


def pack_loops(scheme: Scheme) -> Kernel:
    """The same before any pass."""
    return forms_that_pack(scheme)[0][1]


def by_loops(scheme: Scheme, w: np.ndarray, threads: int = 1) -> np.ndarray:
    """The weights as the kernel's own packing leaves them, in any form. Numbers that it left out would be -1."""
    packed = []
    for name, kernel in forms_that_pack(scheme, threads):
        found = {"W": w, "packed": np.full(packed_elements(scheme), -1).astype(w.dtype)}
        interpret(kernel, found, threads=threads if name in _OF_A_THREAD else 1)
        packed.append(found["packed"])
    for found in packed[1:]:
        np.testing.assert_array_equal(found, packed[0])
    return packed[0]


def _pairs(one: Body, other: Body, numbers: dict[str, int], edges: tuple[Inside, ...], moving: set[str]) -> Iterator:
    """Every product: its conditions on edges, its weight in the one and in the other, and the variables' values.

    moving: the variables with which weights move; a loop over another one is followed once.
    """
    for a, b in zip(one, other, strict=True):
        if isinstance(a, For):
            values = range(a.start.at(numbers), a.stop.at(numbers), a.step)
            for value in values if a.name in moving else values[:1]:
                yield from _pairs(a.body, b.body, {**numbers, a.name: value}, edges, moving)
        elif isinstance(a, Store):
            loads = [[p for p in parts_of(s.value) if isinstance(p, Load) and p.buffer == "W"] for s in (a, b)]
            yield from ((edges, *pair, numbers) for pair in zip(*loads, strict=True))
        elif isinstance(a, If):
            # A tap on padding reads no x; its weight is there all the same.
            here = tuple(c for c in a.conditions if isinstance(c, Inside) and c.low is None)
            yield from _pairs(a.body, b.body, numbers, (*edges, *here), moving)
            yield from _pairs(a.otherwise, b.otherwise, numbers, edges, moving)
        else:
            for inner, its in zip(inside(a), inside(b), strict=True):
                yield from _pairs(inner, its, numbers, edges, moving)
