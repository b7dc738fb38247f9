"""Kernels of programs for this CPU: how they are built and measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cpu.codegen.program.emit import ProgramSource, emit
from cpu.codegen.program.explain import explained
from cpu.codegen.program.names import with_c_names
from cpu.kernel.anchored import AnchoredKernel
from cpu.kernel.callable import CpuKernel
from cpu.kernel.program import ProgramKernel, build_program
from cpu.kernel.random_inputs import random_inputs
from cpu.passes.forms import program_forms
from cpu.passes.order import PROGRAM
from cpu.runtime.machine.host import host
from cpu.runtime.machine.samples import quietly
from microkernels.tile.isa import ISAS_OF, best_isa, isa_named
from search.evaluator.cpu.target import cpu_target
from search.tuner.target import Target, Wanted
from tiling.loops.listing import listing
from tiling.loops.passes import names
from tiling.machine import Timing
from tiling.program.infer import Sized
from tiling.program.rewrite.anchored import Anchored, anchored

__all__ = [
    "PASS_NAMES",
    "ProgramKernel",
    "anchored_for",
    "around",
    "build",
    "explanation",
    "loops_after",
    "measured",
    "random_inputs",
    "target_of_anchor",
    "text_of",
]

PASS_NAMES = names(PROGRAM)


def build(program: Sized, target: Target) -> ProgramKernel:
    """The kernel of a program. Raises ToolchainError, CacheError or CpuError."""
    return build_program(program, isa_named(target.isa), target.threads)


def text_of(program: Sized, target: Target) -> ProgramSource:
    """The C text of a program, which is not compiled here."""
    return emit(program, isa_named(target.isa), target.threads)


def anchored_for(program: Sized, target: Target, ahead: frozenset[str] = frozenset()) -> Anchored | str:
    """The program around its anchor, in the dtypes that this CPU has instructions for; else why it has none.

    ahead: inputs that a caller packs once for many calls.
    Other dtypes than f32 have instruction sets of their own. They are left out where a narrower one was asked for.
    """
    flags = host().flags
    others = () if target.isa != best_isa(flags).name else tuple(dtype for dtype in ISAS_OF if dtype != "f32")
    found = (dtype for dtype in others if any(flags >= set(isa.cpu_flags) for isa in ISAS_OF[dtype].values()))
    return anchored(program, ("f32", *found), ahead)


def target_of_anchor(found: Anchored, target: Target) -> Target:
    """The target of the anchor's own kernel."""
    dtype = found.stores.problem.dtype
    if dtype == target.dtype:
        return target
    other = cpu_target(Wanted(dtype, None, target.threads, target.algorithm, cluster=target.cluster))
    return replace(other, cache=target.cache)


def around(program: Sized, found: Anchored, anchor: CpuKernel, target: Target) -> AnchoredKernel:
    """The kernel of a program around that of its anchor. Raises ToolchainError, CacheError or CpuError."""
    before = build(found.before, target) if found.before else None
    after = build(found.after, target) if found.after else None
    return AnchoredKernel(program, found, anchor, before, after)


def loops_after(program: Sized, target: Target) -> list[tuple[str, str]]:
    """The loops after each pass, as text."""
    forms = program_forms(with_c_names(program), isa_named(target.isa), target.threads)
    return [(name, listing(kernel)) for name, kernel in forms]


def explanation(program: Sized, target: Target) -> list[str]:
    """Why the kernel has its loops."""
    isa, found = isa_named(target.isa), anchored_for(program, target)
    if isinstance(found, str):
        return [found, *explained(program, isa, target.threads)]
    stores, sentences = found.stores, []
    sentences += [f"{array} is read where it was before it was laid out anew" for array in found.moved]
    sentences.append(f"{found.anchor.array} is the anchor: {found.anchor.problem}")
    inside = " ".join(array for array in stores.fused if array != found.anchor.array)
    if inside:
        sentences.append(f"the stores of {found.anchor.array} compute {inside}: {stores.problem.epilogue}")
    sentences += stores.stopped
    for part, when in ((found.before, "before"), (found.after, "after")):
        if part:
            names = " ".join(statement.array for statement in part.program.statements)
            sentences.append(f"{names} by rules, {when} the anchor")
            sentences += explained(part, isa, target.threads)
    return sentences


def measured(kernel: ProgramKernel, inputs: Sequence[np.ndarray], seconds: float) -> Timing:
    """The time of a warm call, tried again while other programs disturb it. seconds: the time of all samples."""
    return quietly(lambda: kernel.measure(inputs, seconds), kernel.threads)
