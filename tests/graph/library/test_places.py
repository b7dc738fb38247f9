"""`graph.library.places`: a residual and the sum that it is added to are one memory, where that is safe."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from graph import compile_model
from graph.library.kernels import Kernels
from search.evaluator.cpu.backend import cpu_backend
from tests.support.models.onnx_models import model, whole
from tiling.epilogue import fused
from tiling.operators import conv2d
from tiling.text.notation import parse

BYTES = 4 * 16 * 12 * 12  # of each image between the convolutions


def blocks(*added):
    """A stem, then for each name two convolutions, the second with that array added, and a last one."""

    def conv(number, x, y):
        return helper.make_node("Conv", [x, f"w{number}", f"b{number}"], [y], y, pads=[1, 1, 1, 1])

    nodes, x = [conv(0, "x", "a0")], "a0"
    for block, name in enumerate(added, 1):
        nodes += [conv(1, x, f"c{block}"), helper.make_node("Relu", [f"c{block}"], [f"r{block}"], f"r{block}")]
        nodes += [conv(2, f"r{block}", f"d{block}"), helper.make_node("Add", [f"d{block}", name], [f"s{block}"])]
        nodes.append(helper.make_node("Relu", [f"s{block}"], [f"a{block}"], f"a{block}"))
        x = f"a{block}"
    nodes.append(conv(3, x, "y"))
    channels = [(16, 3), (16, 16), (16, 16), (4, 16)]
    weights = {f"w{n}": whole(n, *two, 3, 3, most=1) for n, two in enumerate(channels)}
    biases = {f"b{n}": whole(9 + n, two[0]) for n, two in enumerate(channels)}
    return model(nodes, {"x": [1, 3, 12, 12]}, ["y"], {**weights, **biases})


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("added, images", [(("a0", "a1"), 2), (("a0", "a0"), 3)])
def test_a_sum_takes_the_memory_of_a_residual_that_nothing_reads_again(added, images, threads):
    """Two blocks whose residual is the block's own input, or that of the first block: that one is needed again."""
    made = blocks(*added)
    compiled = compile_model(made, threads=threads)
    assert images * BYTES <= compiled.arena_bytes < (images + 1) * BYTES
    x = whole(20, 1, 3, 12, 12, most=1)
    (wanted,) = ReferenceEvaluator(made).run(None, {"x": x})
    for _ in range(2):
        assert np.array_equal(compiled(x)[0], wanted)


@pytest.mark.parametrize(
    "text, places",
    [
        ("T(h,4) T(w,4) T(k,2) S(y) T(c,8) U(w,2) V(k,4)", (3,)),
        ("T(c,2) T(h,4) T(w,4) T(k,2) S(y) T(c,4) U(w,2) V(k,4)", ()),
    ],
)
def test_sums_of_several_passes_have_memory_of_their_own(text, places):
    """Partial sums wait in the output and would overwrite the residual. A bias is never the output."""
    problem = fused(conv2d(c=8, h=4, w=8, k=8, r=1, s=1), "relu(y + b + z[n,h,w,k])")
    kernels = Kernels(lambda dtype: cpu_backend("portable", 1, dtype))
    assert kernels.text(problem, parse(problem, text)).residuals == places
