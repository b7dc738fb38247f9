"""The line that repeats a failed random case: `python -m tests.exactness` run on it checks that very kernel."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microkernels.tile.isa import EVERY_ISA
from tests import exactness
from tests.support.kernels import random_cases
from tests.support.kernels.cases import EPILOGUE_CASES
from tests.support.kernels.guard import PLACES
from tests.support.kernels.random_cases import Case
from tiling.text.notation import parse


def repeated(drawn: Case, *more: str) -> dict:
    """What the case's line asks `check` for."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exactness, "check", lambda **job: seen.append(job))
        program, flag, module, *words = shlex.split(drawn.command)
        assert (program, flag, module) == ("python", "-m", "tests.exactness")
        assert exactness.main([*words, *more]) == 0
    (job,) = seen
    return job


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_the_line_of_a_case_repeats_it(random):
    drawn = random_cases.case(random, tuple(EVERY_ISA))
    assert repeated(drawn) == exactness.job(drawn) | {"places": PLACES}


@pytest.mark.parametrize("name", EPILOGUE_CASES)
def test_the_line_carries_epilogue_and_place(name):
    problem, text = EPILOGUE_CASES[name]
    drawn = Case(parse(problem, text.format(v=4)), "portable", threads=3, stream=True)
    job = repeated(drawn, "--place", "unaligned")
    assert job == exactness.job(drawn) | {"places": ("unaligned",)}
    assert f"epilogue={problem.epilogue}" in job["shape"]


@pytest.mark.parametrize("place", PLACES)
def test_the_line_runs(place, capsys):
    problem, text = EPILOGUE_CASES["strided, then a residual"]
    drawn = Case(parse(problem, text.format(v=4)), "portable", threads=1, stream=False)
    assert exactness.main([*shlex.split(drawn.command)[3:], "--place", place]) == 0
    assert capsys.readouterr().out == f"--place {place}\nexact\n"
