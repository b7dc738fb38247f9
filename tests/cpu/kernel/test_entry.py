"""The short way into a kernel takes arrays that are just as they should be, and calls nothing for any others."""

from __future__ import annotations

import sys
import threading
from functools import cache

import cffi
import numpy as np
import pytest

from cpu.kernel import entry as module
from cpu.kernel.entry import MOST_ARRAYS, NOT_AS_IT_SHOULD_BE, entry
from cpu.kernel.program import build_program
from cpu.runtime.compiler.library import load
from cpu.runtime.compiler.toolchain import ToolchainError
from microkernels.tile.isa import PORTABLE
from tiling.program.infer import sized
from tiling.program.read import read

_FFI = cffi.FFI()
_FFI.cdef("int run(void *const *arrays);")
# y[i] = x[i] + b, and 7 where b is negative.
_LIBRARY = load(
    """
    int run(void *const *arrays)
    {
        const float *x = arrays[0];
        float *y = arrays[2], b = *(const double *)arrays[1];
        for (int i = 0; i < 6; ++i)
            y[i] = x[i] + b;
        return b < 0 ? 7 : 0;
    }
    """,
    (),
    _FFI.dlopen,
)
_RUN = int(_FFI.cast("uintptr_t", _LIBRARY.run))
_F32 = np.dtype(np.float32)
X, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(10.0)
ENTER = entry(_RUN, [(_F32, (2, 3)), (np.dtype(np.float64), ()), (_F32, (2, 3))])


def test_arrays_as_they_should_be_are_taken_and_let_go():
    y = np.zeros((2, 3), np.float32)
    before = [sys.getrefcount(array) for array in (X, B, y)]
    assert ENTER((X, B), y) == 0 and np.array_equal(y, X + 10)
    assert ENTER((X, np.array(-1.0)), y) == 7
    assert [sys.getrefcount(array) for array in (X, B, y)] == before
    y.resize((4, 3))  # which NumPy refuses while a view is held


class _Own(np.ndarray):
    pass


@pytest.mark.parametrize(
    "inputs, out",
    [
        ((X,), None),
        ((X, B, B), None),
        ((X, X), None),
        ((X, B.astype(np.float32)), None),
        ((X.astype(">f4"), B), None),
        ((X.view(np.int32), B), None),
        ((X.view(_Own), B), None),
        ((X.reshape(3, 2), B), None),
        ((X.reshape(3, 2).T, B), None),
        ((X[:, ::-1], B), None),
        ((memoryview(X), B), None),
        ((X.tolist(), B), None),
        ((None, B), None),
        ((X, B), X),
        ((X, B), np.broadcast_to(np.float32(0), (2, 3))),
        ((X, B), bytearray(24)),
        ((X, B), {"y": X}),
    ],
)
def test_others_are_not(inputs, out):
    y = np.zeros((2, 3), np.float32)
    before = X.copy()
    assert ENTER(inputs, y if out is None else out) == NOT_AS_IT_SHOULD_BE
    assert not y.any() and np.array_equal(X, before)


def test_what_is_read_only_may_be_read_but_not_written():
    frozen = X.copy()
    frozen.flags.writeable = False
    y = np.zeros((2, 3), np.float32)
    assert ENTER((frozen, B), y) == 0 and np.array_equal(y, X + 10)
    assert ENTER((X, B), frozen) == NOT_AS_IT_SHOULD_BE


@pytest.mark.parametrize("apart, taken", [(0, False), (5, False), (6, True), (-5, False), (-6, True)])
def test_an_output_overlaps_no_input(apart, taken):
    room = np.zeros(20, np.float32)
    x, y = (room[first : first + 6].reshape(2, 3) for first in (7, 7 + apart))
    assert (ENTER((x, B), y) == 0) == taken


def test_several_threads_may_call():
    found = [np.zeros((2, 3), np.float32) for _ in range(4)]
    threads = [threading.Thread(target=lambda y=y: [ENTER((X, B), y) for _ in range(200)]) for y in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(y, X + 10) for y in found)


def test_more_arrays_than_there_is_room_for_go_the_other_way():
    assert entry(_RUN, [(_F32, (1,))] * (MOST_ARRAYS + 1)) is None
    names = [f"x{number}" for number in range(MOST_ARRAYS)]
    text = "y[i] = " + " + ".join(f"{name}[i]" for name in names)
    kernel = build_program(sized(read(text), {}, {name: (3,) for name in names}), PORTABLE)
    assert kernel(*[np.full(3, number, np.float32) for number in range(MOST_ARRAYS)]).tolist() == [120.0] * 3


def test_without_a_compiler_calls_go_the_other_way(monkeypatch):
    """It is looked for once, not for each kernel."""
    tried = []

    def missing(*arguments):
        tried.append(arguments)
        raise ToolchainError("no C compiler found")

    monkeypatch.setattr(module, "load", missing)
    monkeypatch.setattr(module, "_library", cache(module._library.__wrapped__))
    assert entry(_RUN, []) is None
    kernel = build_program(sized(read("y[i] = x[i] + 1"), {}, {"x": (3,)}), PORTABLE)
    y = np.zeros(3, np.float32)
    assert kernel(np.ones(3, np.float32), out=y) is y and y.tolist() == [2, 2, 2]
    assert len(tried) == 1
