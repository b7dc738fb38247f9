"""Many random programs on the twin."""

from __future__ import annotations

import time
from random import Random

import numpy as np
import pytest

from tests.support.gpu.programs import expected, on_twin
from tests.support.programs.programs import inputs_of, random_long_program, random_program


def test_many_random_programs_are_exact(soak_seconds, soak_seed):
    end, random = time.monotonic() + soak_seconds, Random(soak_seed)
    while time.monotonic() < end:
        program = random.choice((random_program, random_long_program))(random)
        arrays = inputs_of(program, random)
        wanted = expected(program, arrays)
        for output, found in on_twin(program, arrays).items() if wanted else ():
            np.testing.assert_allclose(found, wanted[output], rtol=1e-4, atol=1e-4, err_msg=str(program.program))


def test_many_random_programs_of_reals_are_within_the_bound(soak_seconds, soak_seed):
    pytest.importorskip("torch", reason="PyTorch, an independent reference, is not installed")
    from tests.support.programs.beside_torch import check_bounded

    end, random = time.monotonic() + soak_seconds, Random(soak_seed)
    sure = []
    while time.monotonic() < end:
        sure.append(check_bounded(random.randrange(2**32), lambda program, arrays, _: on_twin(program, arrays)))
    assert sum(sure) > len(sure) / 2  # points of whose values there is a bound
