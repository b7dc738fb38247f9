"""Random kernels, and those of every layer of every suite, beside guard pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from time import monotonic

from cpu.runtime.machine.host import host, supports
from microkernels.tile.isa import EVERY_ISA, ISAS, isa_named
from search.evaluator.cpu.backend import cpu_backend
from tests import exactness
from tests.support.kernels import random_cases
from tests.support.kernels.random_cases import Case
from tiling.dtypes.products import OUTPUT_DTYPES
from tiling.operators import LAYOUTS, in_layout
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import unsupported_reason
from tiling.text.shapes import suite
from tiling.text.suite import suites

RUNNABLE = tuple(isa.name for isa in EVERY_ISA.values() if supports(isa.cpu_flags))


def test_soak_random_kernels(soak_seconds, soak_seed):
    """`python -m tests.exactness` runs the same for a number of cases."""
    deadline = monotonic() + soak_seconds
    found: list[str] = []
    passed, failed = exactness.run(
        soak_seed, lambda started: started > 50 and monotonic() > deadline, host().cores, found.append
    )
    print(exactness.summary(passed, failed))
    assert not failed, "\n".join(found)


def ways(layer: Problem, random: Random) -> Iterator[tuple[Problem, str, str]]:
    """(problem, instruction set, algorithm): a layer on every instruction set of f32; and, each once and where it can
    be, channels first, by Winograd's algorithm, and of every narrow dtype in either layout.
    """
    of_f32 = [isa for isa in RUNNABLE if isa in ISAS]
    for isa in of_f32:
        yield layer, isa, "direct"
    if layer.op != "matmul":
        yield in_layout(layer, "nchw"), random.choice(of_f32), "direct"
    if not unsupported_reason(layer):
        yield layer, random.choice(of_f32), "winograd"
    for isa in RUNNABLE:
        dtype = isa_named(isa).dtype
        if dtype != "f32":
            laid_out = layer if layer.op == "matmul" else in_layout(layer, random.choice(LAYOUTS))
            narrow = replace(laid_out, dtype=dtype, output_dtype=random.choice(OUTPUT_DTYPES[dtype]))
            yield random_cases.followed(random, narrow), isa, "direct"


def test_soak_suites_beside_guard_pages(soak_seconds, soak_seed):
    """The model's choice for every layer of every suite in all `ways`, in random order, while there is time."""
    deadline = monotonic() + soak_seconds
    random = Random(soak_seed)
    layers = dict.fromkeys(layer.problem for name in suites() for layer in suite(name) if layer.problem)
    wanted = [way for layer in layers for way in ways(layer, random)]
    random.shuffle(wanted)
    backend = cache(cpu_backend)

    def cases():
        for found, isa, algorithm in wanted:
            own = backend(isa, 1, found.dtype, algorithm)
            chosen = own.candidates(own.problem(found))[0]
            yield Case(chosen, isa, 1, stream=random.random() < 0.5)
            if monotonic() > deadline:
                return

    found: list[str] = []
    passed, failed = exactness.check_all(cases(), host().cores, found.append)
    print(f"of {len(wanted)} ways to take a layer: {exactness.summary(passed, failed)}")
    assert not failed, "\n".join(found)
