"""Prints the function that packs the weights: the loops that `cpu.passes.memory.packing` makes."""

from __future__ import annotations

from cpu.codegen.arrays import elements_of
from cpu.codegen.indices import local_strides
from cpu.codegen.print import Printer
from cpu.passes.control.divide_from_zero import divide_from_zero
from cpu.passes.memory.pack_weights import WEIGHTS, pack_weights
from cpu.passes.memory.packing import PACKED, packing
from cpu.passes.vectors.exchange_lanes import exchange_lanes
from cpu.runtime.numbers import ELEMENTS
from tiling.arrays.access import access_of
from tiling.loops.language import Kernel
from tiling.loops.lowering.lower import lower_scheme
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.rewrite.weight_groups import packed_words, weight_groups_of
from tiling.scheme.scheme import Scheme


def pack_loops(scheme: Scheme) -> Kernel:
    """The loops that pack the weights of a scheme."""
    dots = scheme_in_dot_groups(scheme)
    plain = lower_scheme(dots)
    exchanged = access_of(dots.problem).exchange_dim
    if exchanged:
        plain = exchange_lanes(plain, exchanged)
    return packing(plain, pack_weights(plain, dots.problem, packed_words(scheme)), weight_groups_of(scheme))


def pack_lines(scheme: Scheme) -> list[str]:
    """The body of `void pack(const TYPE *W, TYPE *packed)`. W lies as the problem's tensor does: (K,C/groups,R,S)
    or (K,N).
    """
    loops, (_, element, _) = divide_from_zero(pack_loops(scheme)), elements_of(scheme.problem)
    printer = Printer(loops, dict.fromkeys((WEIGHTS, PACKED), ELEMENTS[element].c), "", {})
    return [*local_strides(loops), *printer.body()]
