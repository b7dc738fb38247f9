"""A machine of known speeds with a clock of its own, and schemes that a search tries on it."""

from __future__ import annotations

from search.tuner.tune import tune
from tests.support.search.searching import PROBLEM
from tiling.machine import Timing
from tiling.text.notation import parse

CANDIDATES = [
    parse(PROBLEM, f"T(h,{12 // rows}) R(k) T(w,12) S(y) T(r,3) T(s,3) T(c,8) U(h,{rows}) V(k,4)")
    for rows in (1, 2, 3, 4, 6, 12)
]


class Bench:
    """A machine of known speeds with a clock of its own; `seconds` by scheme text, or a reason."""

    def __init__(self, seconds, peak=lambda n: 100.0, each=1.0, jitter=0.0):
        self.seconds, self.peak, self.each, self.jitter = seconds, peak, each, jitter
        self.now, self.calls, self.prepared, self.uncompiled = 0.0, [], [], {}

    def measure(self, scheme, seconds, patience):
        self.calls.append(scheme.text)
        self.now += self.each
        found = self.seconds[scheme.text]
        if isinstance(found, (str, BaseException)):
            if isinstance(found, BaseException):
                raise found
            return found
        peak = self.peak(len(self.calls))
        exact = found * 100 / peak
        low, high = exact * (1 - self.jitter), exact * (1 + self.jitter)
        return Timing((low, low, exact, high, high), peak)

    def tune(self, **options):
        options = {"budget": 1e6, "trials": len(CANDIDATES)} | options
        return tune(CANDIDATES, self.measure, self.prepare, clock=lambda: self.now, **options)

    def prepare(self, schemes, patience):
        self.prepared.append([scheme.text for scheme in schemes])
        return {text: reason for text, reason in self.uncompiled.items() if text in self.prepared[-1]}
