"""The libraries of larger models under sanitizers."""

from __future__ import annotations

from pathlib import Path
from random import Random
from time import monotonic

import numpy as np
import onnx
import pytest

from graph import compile_model
from tests.support.kernels.sanitizers import FLAGS, without_sanitizers
from tests.support.models.saved import built, ran

# Models whose weights are made up, in onnx's package.
LIGHT = ("squeezenet", "shufflenet", "inception_v1", "densenet121", "resnet50")


def test_soak_larger_models_touch_nothing_outside(soak_seconds, soak_seed, tmp_path):
    """Each is built with sanitizers and called on as many threads as the machine has cores, and a few more."""
    if without_sanitizers():
        pytest.skip(without_sanitizers())
    end, random = monotonic() + soak_seconds, Random(soak_seed)
    flags = [flag for flag in FLAGS if not flag.startswith(("-std", "-ffp"))]
    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    done = []
    while not done or monotonic() < end:
        name, threads = random.choice(LIGHT), random.randint(1, 4)
        network = compile_model(light / f"light_{name}.onnx", threads=threads, name="net")
        inputs = [np.random.default_rng(soak_seed).random(x.shape, np.float32) for x in network.empty_inputs()]
        folder = tmp_path / f"{len(done)}"
        first, *_ = ran(built(network, folder, flags), network, inputs, calls=2)
        assert [y.tobytes() for y in first[0]] == [y.tobytes() for y in first[1]]
        for y, expected in zip(first[0], network(*inputs), strict=True):
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max(), err_msg=name)
        done.append(f"{name} on {threads}")
    print(f"{', '.join(done)} threads: clean")
