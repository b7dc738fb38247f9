"""The one plan of streaming stores: what is emitted and what is predicted follow it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from cpu.codegen.emit import emit
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import EVERY_ISA, isa_named
from search.cost.predict import predict
from tests.support.kernels.random_cases import case
from tests.support.sampled import in_turns
from tests.support.search.model_cases import MACHINE
from tiling.loops.lowering.stream_plan import may_stream, outgrows
from tiling.operators import conv2d
from tiling.rewrite.dot_groups import scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.text.notation import parse

STREAMS = "int stream"  # the flag of tile functions that have both kinds of stores


@pytest.mark.slow
@in_turns(4)
def test_what_is_emitted_follows_the_plan(turn):
    """All are planned, and the scheme of each turn emitted."""
    planned = []
    for seed in range(150):
        drawn = case(Random(seed), tuple(EVERY_ISA))
        if isinstance(drawn.scheme, Scheme):
            may = may_stream(drawn.scheme)
            assert may_stream(scheme_in_dot_groups(drawn.scheme)) == may
            planned.append(may)
            if len(planned) % 4 == turn:
                text, plain = (
                    emit(drawn.scheme, isa_named(drawn.isa), drawn.threads, stream=stream).text
                    for stream in (True, False)
                )
                assert (STREAMS in text) == (text != plain) == may, drawn.command
    assert planned.count(True) > 10 and planned.count(False) > 10


def test_what_is_predicted_follows_the_plan():
    """Sums that compilers keep in registers between passes are stored in each pass, as far as C says."""
    problem, isa = conv2d(c=64, h=64, w=64, k=32, r=1, s=1), isa_named("avx512f")
    small = replace(MACHINE, caches=(*MACHINE.caches[:-1], replace(MACHINE.caches[-1], bytes=1 << 18)))
    for text, streams in (
        ("T(h,64) T(w,4) S(y) T(c,64) U(w,16) U(k,2) V(k,16)", True),
        ("T(h,64) T(w,4) T(c,2) S(y) T(c,32) U(w,16) U(k,2) V(k,16)", False),
    ):
        scheme = parse(problem, text)
        assert may_stream(scheme) == streams == (STREAMS in emit(scheme, isa, stream=True).text)
        for machine in (MACHINE, small):
            nearest = predict(scheme, machine, estimate).traffic[0]
            bypassed = streams and outgrows(problem, machine.caches[-1].bytes)
            assert (nearest.of("y") == 0) == bypassed
    assert outgrows(problem, 1 << 18) and not outgrows(problem, problem.output.elements * 4)
