"""The library of a saved model, built and called without Python: what its header promises."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

import cpu.passes.program.bind_tasks as bind_tasks
import cpu.passes.program.place_rows as place_rows
from cpu.runtime.compiler.toolchain import find_compiler
from graph import CompiledModel, compile_model
from search.evaluator.cpu.backend import cpu_backend
from tests.support.kernels.sanitizers import FLAGS, without_sanitizers
from tests.support.models.onnx_models import attention_network, whole
from tests.support.models.saved import COUNTING, SECONDS, built, ran

ALLOCATORS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign", "free", "mmap"}
X = whole(0, 1, 8, 12, 12)


@pytest.fixture(scope="module")
def patched() -> Iterator[pytest.MonkeyPatch]:
    """Small programs are shared by threads, and keep their rows in memory, as large ones do."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bind_tasks, "LEAST_ELEMENTS", 64)
        patch.setattr(place_rows, "ON_STACK", 0)
        yield patch


@pytest.fixture(scope="module")
def alone(patched) -> CompiledModel:
    return compile_model(attention_network(), threads=1, name="net")


@pytest.fixture(scope="module")
def shared(patched) -> CompiledModel:
    """For any CPU: valgrind knows no AVX-512."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graph.plan.cpu_backend", lambda _, *rest: cpu_backend("portable", *rest))
        return compile_model(attention_network(), threads=3, name="net")


@pytest.fixture(scope="module", params=["alone", "shared"])
def network(request) -> CompiledModel:
    found: CompiledModel = request.getfixturevalue(request.param)
    return found


def threads_of(model: CompiledModel) -> int:
    return 3 if "THREADS = 3" in model.source else 1


@pytest.mark.slow
def test_the_network_is_right_and_uses_all_that_is_tested_here(network):
    wanted = ReferenceEvaluator(attention_network()).run(None, {"x": X})
    for y, expected in zip(network(X), wanted, strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())
    kernels = [text for name, text in network._files.items() if name.startswith("program")]
    assert any(b"scratch" in text for text in kernels)
    shared = [text for text in kernels if b"threads" in text]
    assert bool(shared) == (threads_of(network) > 1) == ("#pragma omp barrier" in network.source)
    assert "for (int64_t iteration" in network.source


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nm"), reason="nm, of binutils, is not installed")
def test_the_library_refers_to_no_function_that_allocates(network, tmp_path):
    network.save(tmp_path)
    listed = subprocess.run(["nm", "-D", "--undefined-only", "net.so"], cwd=tmp_path, capture_output=True, text=True)
    names = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    assert listed.returncode == 0 and names and not names & ALLOCATORS


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_all_that_is_defined_is_used(network, tmp_path, monkeypatch, compiler):
    """No flag allows what nothing uses."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    monkeypatch.setenv("CC", compiler)
    if threads_of(network) > 1 and not find_compiler().openmp:
        pytest.skip(f"{compiler} has no OpenMP here")
    network.save(tmp_path)
    made = ["make", "-s", "-j2", f"CC={compiler}", "CFLAGS=-O2 -Wall -Wextra -Werror"]
    ended = subprocess.run(made, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert ended.returncode == 0 and not ended.stderr, ended.stderr[:4000]


@pytest.mark.slow
@pytest.mark.exhaustive(network=None)
def test_a_call_allocates_nothing_and_gives_the_same_bits_again(network, tmp_path):
    program = built(network, tmp_path, ("-Wno-unused-parameter",), f"#define COUNTED\n{COUNTING.read_text()}")
    calls, allocations, peak = ran(program, network, [X], calls=5)
    assert allocations == 0
    for call in [network(X), *calls]:
        assert [y.tolist() for y in call] == [y.tolist() for y in calls[0]]
    assert peak <= network.weight_bytes + network.arena_bytes + (20 << 20)
    # Fewer threads than it was compiled for compute the same bits.
    for limit in ("1", "2"):
        (fewer,), *_ = ran(program, network, [X], OMP_THREAD_LIMIT=limit)
        assert [y.tolist() for y in fewer] == [y.tolist() for y in calls[0]]


@pytest.mark.slow
@pytest.mark.exhaustive(network=None)
def test_nothing_is_undefined_or_outside(network, tmp_path):
    if without_sanitizers():
        pytest.skip(without_sanitizers())
    flags = [flag for flag in FLAGS if not flag.startswith(("-std", "-ffp"))]
    (found,), *_ = ran(built(network, tmp_path, flags), network, [X])
    for y, expected in zip(found, network(X), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_valgrind_finds_nothing(shared, tmp_path):
    tool = ["valgrind", "-q", "--error-exitcode=9", "--exit-on-first-error=yes"]
    ran(built(shared, tmp_path), shared, [X], before=tool)


@pytest.mark.slow
def test_calls_from_two_threads_at_once_have_arenas_of_their_own(network):
    inputs = [whole(seed, 1, 8, 12, 12) for seed in range(2)]
    wanted = [[y.tolist() for y in network(x)] for x in inputs]
    found: list[list] = [[], []]

    def call(place: int) -> None:
        found[place] = [[y.tolist() for y in network(inputs[place])] for _ in range(20)]

    callers = [threading.Thread(target=call, args=(place,)) for place in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [[each] * 20 for each in wanted]


@pytest.mark.slow
def test_the_header_states_what_a_call_needs(network):
    header = network._files["net.h"].decode()
    assert f"Bytes of the arena, {network.arena_bytes}; at least {network.arena_least}" in header
    assert ("one team from its first step to its last" in header) == (threads_of(network) > 1)
    assert network.arena_least <= network.arena_bytes <= 1.1 * network.arena_least
