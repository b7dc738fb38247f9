"""Products whose a is (K,M): when the model copies it first, S(a), and what it says of tiles that read it in place."""

from dataclasses import replace

import pytest

from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import isa_named
from search.cost.costs import COSTS
from search.cost.predict import Predictor
from search.space.candidates import Knowledge, candidates, predicted
from search.space.explain import explain
from search.space.space import trusted
from tests.support.search.model_cases import MACHINE
from tiling.operators import matmul
from tiling.text.notation import parse

SHORT = replace(MACHINE, isa="avx2", lanes=8, registers=16)
KNOWN = Knowledge(isa_named("avx2"), SHORT, lambda op, by_matrix: Catalog("test", "avx2", op), 1, "direct")


@pytest.mark.parametrize(
    "columns, copied",
    [
        (768, True),  # 48 tiles read each number
        (16, False),  # one does: the copy costs more than it saves
    ],
)
def test_a_is_copied_where_it_is_read_often(columns, copied):
    best = candidates(matmul(m=512, n=columns, k=768, transpose_a=True), KNOWN)[0]
    assert best.text.startswith("S(a) ") == copied


def test_rows_that_lie_side_by_side_are_never_copied():
    assert not any("S(a)" in s.text for s in candidates(matmul(m=512, n=768, k=768), KNOWN))


@pytest.mark.parametrize(
    "across, rows, depth, steps",
    [
        (True, 512, 768, True),
        (True, 12, 768, False),  # a step over k stays in a line
        (False, 512, 768, False),
        (True, 512, 1, False),  # no sum has a second term
    ],
)
def test_steps_to_other_lines_show(across, rows, depth, steps):
    problem = matmul(m=rows, n=64, k=depth, transpose_a=across)
    scheme = parse(problem, f"T(n,4) T(m,{rows // 4}) S(c) T(k,{depth}) U(m,4) U(n,2) V(n,8)")
    score = trusted(KNOWN.catalog("matmul", False))
    shown = Predictor(problem, SHORT, score).predict(scheme)
    hidden = Predictor(problem, SHORT, score, costs=replace(COSTS, stepped=COSTS.exposed)).predict(scheme)
    into_l1 = shown.traffic[0]
    share = (COSTS.stepped - COSTS.exposed) * shown.movement[0] * into_l1.of("a") / into_l1.total
    assert shown.seconds - hidden.seconds == pytest.approx(share if steps else 0, abs=1e-12)


def test_the_copy_is_told():
    problem = matmul(m=512, n=768, k=768, transpose_a=True)
    first, second = predicted(candidates(problem, KNOWN)[:2], KNOWN)
    assert "; a is copied first, k last" in explain(first, (second,), SHORT)
