"""Random schedules of random problems are exact on the twin."""

from __future__ import annotations

import random
import time

from gpu.model.devices import DEVICES
from gpu.model.space import candidates
from tests.support.gpu.cases import check_on_twin
from tiling.operators import conv2d, matmul
from tiling.problem import ProblemError

A100, H200 = DEVICES["A100"], DEVICES["H200"]


def test_random_schedules_of_random_problems_are_exact(soak_seconds, soak_seed):
    draw = random.Random(soak_seed)
    end, done = time.monotonic() + soak_seconds, 0
    while not done or time.monotonic() < end:
        problem = random_problem(draw)
        scheme = draw.choice(candidates(problem, draw.choice((A100, H200))))
        try:
            assert check_on_twin(scheme, seeds=(draw.randrange(1 << 30),)) == 0
        except Exception:
            print(problem, problem.tensors, problem.dtype, scheme.text)
            raise
        done += 1
    print(f"{done} kernels exact on the twin")


def random_problem(draw):
    dtype = draw.choice(("f16", "bf16", "tf32"))
    if draw.random() < 0.5:
        sizes = {dim: draw.choice((1, 8, 31, 64, draw.randrange(1, 200))) for dim in "mnk"}
        transposed = {f"transpose_{name}": draw.random() < 0.5 for name in "ab"}
        return matmul(**sizes, **transposed, batch=draw.choice((1, 1, 2)), dtype=dtype)
    while True:
        try:
            return conv2d(
                n=draw.choice((1, 2, 3)),
                **{dim: draw.randrange(1, 14) for dim in "hw"},
                **{dim: draw.choice((1, 2, 3, 5)) for dim in "rs"},
                **{dim: draw.choice((1, 3, 4, 8, 12, 32, 40)) for dim in "ck"},
                **{name: (draw.randrange(1, 4), draw.randrange(1, 4)) for name in ("stride", "dilation")},
                padding=tuple((draw.randrange(4), draw.randrange(4)) for _ in "hw"),
                dtype=dtype,
                filters="krsc",
            )
        except ProblemError:
            continue
