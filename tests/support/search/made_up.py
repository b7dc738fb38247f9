"""A back end whose kernels are made up: the search around it is what a test looks at."""

from __future__ import annotations

import time

import numpy as np

from bench.peers.interface.peer import Peer, Prepared
from cpu.reference.oracle import reference
from microkernels.tile.isa import ISAS
from search.tuner.target import Target
from tests.support.search.made_up_results import MACHINE
from tiling.operators import conv2d
from tiling.text.shapes import canonical

PROBLEM = conv2d(c=4, h=6, w=8, k=8, r=3, s=3, padding=1)


class Made(Peer):
    """A peer that computes with the reference, and is wrong, late or absent on demand."""

    name, title = "made", "made up"

    def __init__(self, spoil=lambda y: y, absent=None, unsupported=None, broken=None, calls=None):
        self.spoil, self.absent, self.unsupported, self.broken, self.calls = spoil, absent, unsupported, broken, calls

    def missing(self):
        return self.absent

    def version(self):
        return "made 1"

    def environment(self, threads):
        return {"MADE_THREADS": str(threads)}

    def unsupported_reason(self, problem):
        return self.unsupported

    def prepare(self, problem, x, w, threads, *arrays):
        if self.broken:
            raise self.broken
        y = self.spoil(reference(problem, x, w, *arrays)).astype(np.float32)
        return Prepared(lambda: self.calls is None or self.calls.append(time.perf_counter()), lambda: y, "NHWC")


def made_up_backend():
    class Backend:
        target, machine = Target("cpu", MACHINE.fingerprint, "portable", "f32"), MACHINE

        def problem(self, problem):
            return problem

        def ranking(self, problem):
            return ISAS["portable"], "conv2d"

        def predicted_seconds(self, schemes):
            return []

        def job(self, scheme):
            return {
                **{"op": "conv2d", "shape": canonical(PROBLEM), "scheme": scheme.text, "isa": "portable"},
                **{"threads": 1, "stream": False},
            }

    return Backend()
