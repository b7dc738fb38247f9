"""A small search: its shape and problem, the command that runs it, and its measuring half alone."""

from contextlib import closing

from search.conv import main as conv_command
from search.flow.recorded import tuned
from tiling.operators import conv2d

SCHEME = "R(k) T(h,12) T(w,3) S(y) T(r,3) T(s,3) T(c,8) U(w,4) V(k,4)"
SHAPE = "c=8,h=12,w=12,k=16,r=3,s=3,pad=1"
PROBLEM = conv2d(c=8, h=12, w=12, k=16, r=3, s=3, padding=1)


def tune(backend, schemes, *, budget, trials=32):
    """What the tuner settles on, of candidates that the test brings."""
    with closing(backend.evaluator(schemes[0].problem)) as evaluator:
        evaluator.ready()
        return tuned(backend, evaluator, schemes, forget=False, budget=budget, trials=trials)[0]


def conv(*arguments: str) -> int:
    return conv_command(list(arguments))
