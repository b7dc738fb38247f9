"""Prints the function that packs the weights: the loops that `cpu.passes.memory.packing` makes."""

from __future__ import annotations

from cpu.codegen.arrays import types_of
from cpu.codegen.indices import local_strides
from cpu.codegen.print import Printer
from cpu.passes.facts import ProductFacts
from cpu.passes.forms import packing_forms
from tiling.rewrite.weight_groups import weight_groups_of
from tiling.scheme.scheme import Scheme


def pack_lines(scheme: Scheme, facts: ProductFacts) -> list[str]:
    """The body of `void pack(const TYPE *W, TYPE *packed)`. W lies as the problem's tensor does: (K,C/groups,R,S)
    or (K,N).
    """
    *_, (_, loops) = packing_forms(facts, weight_groups_of(scheme))
    body = Printer(loops, types_of(loops)).body()
    return [*local_strides(loops, body), *body]
