"""The text of CUDA kernels: golden sources."""

import pytest

from gpu.codegen.loops.scheme import emit_scheme
from tests.support.golden import check_golden, golden_names
from tests.support.gpu.cases import PROBLEM, SPLIT, image, product, product_scheme, tma_scheme
from tiling.epilogue import fused

GOLDENS = {
    "matmul_portable_pipeline": product_scheme(PROBLEM),
    "matmul_split_sums": SPLIT,
    "matmul_tma_clustered": tma_scheme(product(), cluster=(2, 1)),
    "conv2d_portable_epilogue": product_scheme(fused(image(), "relu(y + b + z)")),
    "conv2d_tma_pipeline": tma_scheme(image(c=64, k=64)),
}


@pytest.mark.parametrize("name", GOLDENS)
def test_golden_sources(name, update_golden, monkeypatch):
    """The emitted text itself: a change of it is reviewed as CUDA, refreshed by `pytest --update-golden`."""
    monkeypatch.setattr("gpu.codegen.loops.scheme.VERSION", "VERSION")
    check_golden(f"{name}.cu", emit_scheme.__wrapped__(GOLDENS[name]).text, update_golden)


def test_every_golden_file_is_compared():
    assert golden_names(".cu") == set(GOLDENS)
