"""Every form of a kernel: its plain loops, then those after each pass. A whole kernel may have several parts.

product_forms(facts, copy), program_forms(program, isa, threads) -> (name, kernel), …
packing_forms(facts, groups)                            -> those of the loops that pack a product's weights
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise

from cpu.passes.control.bind_cores import bound, core_loops
from cpu.passes.facts import ProductFacts, ProgramFacts
from cpu.passes.memory.packing import packing
from cpu.passes.order import PACK_WEIGHTS, PRODUCT, PROGRAM
from microkernels.tile.isa_row import Isa
from tiling.loops.facts.nests import steps_of, trips
from tiling.loops.index import ZERO
from tiling.loops.kernel import Function, Kernel
from tiling.loops.language import LINE, Address, Aligned, Alloc, Body, Call, Decide, Flag, For, If, Seen, Statement
from tiling.loops.lowering.lower import lower_scheme
from tiling.loops.passes import LOWER, Forms, Pass, forms, names
from tiling.program.infer import Sized
from tiling.program.lowering.lower import lower_program
from tiling.program.rewrite.order import rewritten
from tiling.rewrite.copies.im2col import COPY
from tiling.rewrite.copies.lower import CopyOfX
from tiling.rewrite.parts import lower_addition, with_addition
from tiling.rewrite.weight_groups import WeightGroups
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.rewrite.winograd.loops import lower_around, with_product
from tiling.rewrite.winograd.weights import lower_weights

COPY_OF_X = "copy_of_x"  # the function that copies x before a kernel computes
INPUT = "input"  # the array that is copied
_TASKS = 4  # of packing for each thread at least, so that none has much more to do than another
COPIES = "copies"  # the flag of a copy that not every call makes


def product_forms(facts: ProductFacts, copy: CopyOfX | None = None) -> Forms:
    """The kernel as plain loops, then after each pass. copy: the copy of x that it makes first."""
    parts = _with_addition(facts)
    if copy:
        parts = _together(partial(_calling, copy), copy_forms(copy.loops, facts), parts)
    return _whole(parts, facts)


def _with_addition(facts: ProductFacts) -> Forms:
    """The product, and where cores share a sum the addition of its parts."""
    if not facts.parts:
        return _product_forms(facts)
    addition = lower_addition(facts.problem, facts.parts, facts.isa.lanes)
    return _together(with_addition, _product_forms(facts), _beside_forms(addition, facts))


def _product_forms(facts: ProductFacts) -> Forms:
    """The product by itself; where cores share a sum, the product of its parts."""
    return forms(lower_scheme(facts.scheme), (each for each in PRODUCT if not each.whole), facts)


def _beside_forms(kernel: Kernel, facts: ProductFacts) -> Forms:
    """Loops beside a product after each pass: the transforms of Winograd's algorithm, or an addition of parts."""
    return forms(kernel, (each for each in PRODUCT if each.beside), facts)


def copy_forms(copy: Kernel, facts: ProductFacts) -> Forms:
    """The loops that copy x before a kernel computes, after each pass."""
    return forms(copy, (Pass(each.name, each.copy) for each in PRODUCT if each.copy), facts)


def _together(join: Callable[..., Kernel], *parts: Forms) -> Forms:
    """Parts as one kernel, after each pass that one of them needs. join: makes one kernel of the parts."""
    found = [dict(part) for part in parts]
    kernels = [each[LOWER] for each in found]
    for name in names(PRODUCT):
        if any(name in each for each in found):
            kernels = [each.get(name, kernel) for each, kernel in zip(found, kernels)]
            yield name, join(*kernels)


def _whole(parts: Forms, facts: ProductFacts) -> Forms:
    """The forms of a kernel after its parts are joined, then after each pass that it takes as a whole."""
    for name, kernel in parts:
        yield name, kernel
    yield from islice(forms(kernel, (each for each in PRODUCT if each.whole), facts), 1, None)


def packing_forms(facts: ProductFacts, groups: WeightGroups) -> Forms:
    """The loops that pack the weights, as "pack weights" leaves them, then after each pass. groups: what each holds."""
    passed = pairwise(_product_forms(facts))
    before, after = next((before, after) for (_, before), (name, after) in passed if name == PACK_WEIGHTS)
    packs = packing(before, after, groups)
    return _packing_forms(_shared(packs, facts.threads) if facts.threads > 1 else packs, facts)


def _shared(packs: Kernel, threads: int) -> Kernel:
    """The loops that pack with their outermost ones bound to cores. Each weight has a place of its own, so no thread
    waits for another.

        for k_rows in 0..64 by 8:  ->    for worker in 0..8, core:
                                           k_rows = 8*worker
    """
    nests = (replace(packs, body=(_on_cores(nest, _TASKS * threads),)) for nest in packs.body)
    found = ((nest.body[0], core_loops(nest)) for nest in nests)
    return replace(packs, body=tuple(bound(loops) if loops else nest for nest, loops in found))


def _on_cores(nest: Statement, tasks: int) -> Statement:
    """A nest whose outermost loops are core loops: as many as have so many steps together."""
    if not isinstance(nest, For) or tasks <= 1 or not trips(nest).is_constant:
        return nest
    inner = tuple(_on_cores(s, -(-tasks // steps_of(nest))) for s in nest.body) if len(nest.body) == 1 else nest.body
    return replace(nest, body=inner, kind="core")


def _packing_forms(packs: Kernel, facts: ProductFacts) -> Forms:
    """The forms of the loops that pack."""
    for name, kernel in _whole(forms(packs, (each for each in PRODUCT if each.packs), facts), facts):
        yield PACK_WEIGHTS if name == LOWER else name, kernel


def _calling(copy: CopyOfX, first: Kernel, kernel: Kernel) -> Kernel:
    """The kernel that first copies its input, by the loops `first`. Its X is then the copy."""
    (given, copied), (x, *others) = first.arrays, kernel.arrays
    shown = tuple(replace(f, views=tuple(map(_of_input, f.views))) for f in first.functions)
    views = (("X", INPUT), (COPY, COPY))
    # A function of its own: gcc would inline it, and the loops around tiles then take longer (decision 033).
    function = Function(COPY_OF_X, views, (), (), first.body, comment=copy.about, apart=True, outlined=True)
    places = (Address(buffer, (ZERO,) * len(of.shape)) for buffer, of in ((INPUT, given), (COPY, copied)))
    call = Call(COPY_OF_X, tuple(places))
    made: Body = (Alloc(copied), call, Seen(x, COPY))
    if not copy.always:
        unlike = Decide(COPIES, (Aligned(INPUT, LINE, does=False),))
        made = (Alloc(copied), unlike, If((Flag(COPIES),), (call,)), Seen(x, COPY, COPIES, INPUT))
    arrays, functions = (replace(given, name=INPUT), *others), (*kernel.functions, *shown, function)
    return replace(kernel, arrays=arrays, body=(*made, *kernel.body), functions=functions)


def _of_input(view: tuple[str, str]) -> tuple[str, str]:
    name, array = view
    return name, INPUT if array == "X" else array


def winograd_forms(winograd: Winograd, around: ProductFacts, product: ProductFacts) -> Forms:
    """The transforms and the product as one kernel: `product` becomes a function for one point."""
    outer = _beside_forms(lower_around(winograd, around.threads), around)
    return _whole(_together(with_product, outer, _product_forms(product)), around)


def winograd_packing_forms(
    winograd: Winograd, around: ProductFacts, product: ProductFacts, groups: WeightGroups
) -> Forms:
    """The loops that transform the weights and pack them as `product` reads them, which one thread runs. groups: how
    many groups the product has.
    """
    _, packs = next(packing_forms(product, groups))
    return _packing_forms(lower_weights(winograd, packs), replace(around, threads=1))


def program_forms(program: Sized, isa: Isa, threads: int) -> Forms:
    """The plain loops of a program, with cheap maps inlined and long sums in parts; then after each pass."""
    return forms(lower_program(rewritten(program, transposes=True)), PROGRAM, ProgramFacts(isa, threads))
