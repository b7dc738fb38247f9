"""`graph.library.kernels`: what a model's team needs of each kernel."""

from graph.library.kernels import Kernels
from search.evaluator.cpu.backend import cpu_backend
from tiling.operators import conv2d
from tiling.rewrite.pointwise import pointwise2d
from tiling.text.notation import parse


def test_every_thread_of_a_team_has_memory_of_its_own():
    """Two tasks for four threads: the fourth does one of them, in a panel behind those of all others."""
    problem = pointwise2d(conv2d(c=8, h=4, w=8, k=12, r=1, s=1, layout="nchw"))
    scheme = parse(problem, "T(w,2)@core T(w,4) S(x) T(k,3) S(y) T(c,8) U(k,4) V(w,4)")
    found = Kernels(lambda dtype: cpu_backend("portable", 4, dtype)).text(problem, scheme)
    panel = 8 * 4 * 4  # bytes of eight channels of a vector
    assert found.threads == 2 and found.scratch == 4 * panel
