"""What a kernel takes: arguments, foreign arrays, packed weights; and what it says of others."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.kernel.arguments import aligned_empty
from cpu.kernel.callable import build
from cpu.kernel.export import ExportError
from cpu.reference.oracle import integers, reference
from cpu.runtime.compiler.toolchain import ToolchainError
from microkernels.tile.isa import ISAS
from tests.support.kernels.cases import CASES, SAME_3X3, kernel_of
from tiling.arguments import ArgumentError
from tiling.operators import conv2d
from tiling.text.notation import parse


@pytest.mark.slow
def test_arguments_are_checked():
    kernel = kernel_of(*CASES["single rows"], "portable")
    x, w = integers(SAME_3X3)
    packed = kernel.pack(w)
    out = aligned_empty(SAME_3X3.output.shape)
    frozen = out.copy()
    frozen.flags.writeable = False
    other = kernel_of(*CASES["both windows clipped"], "portable").pack(w)
    for call, message in [
        (
            lambda: kernel(x[:, :-1], packed),
            r"x has shape \(1, 11, 12, 8\), but this kernel was made for \(1, 12, 12, 8\)",
        ),
        (lambda: kernel(x.astype(np.float64), packed), "x is float64"),
        (lambda: kernel(x.transpose(0, 2, 1, 3), packed), "x is not C-contiguous"),
        (lambda: kernel(x.tolist(), packed), "x is list"),
        # What a mask hides would be read all the same.
        (lambda: kernel(np.ma.masked_equal(x, 0), packed), r"x is a masked array.*: pass x.filled\(0\)"),
        (lambda: kernel.pack(np.ma.masked_equal(w, 0)), "w is a masked array"),
        (lambda: kernel(x, w[:-1]), "w has shape"),
        (lambda: kernel(x, other), "belong to another kernel, of c=.* by .*, and this one is of c="),
        (lambda: kernel(x, packed, out=frozen), "out is read-only"),
        (lambda: kernel(x, packed, out=out[0]), "out has shape"),
        # What is written to a converted copy would be lost.
        (lambda: kernel(x, packed, out=out.astype(np.float64)), r"out is float64.*: pass numpy.empty\(\(1, 12"),
        (lambda: kernel(x, packed, out=out[:, :, ::-1]), r"out is not C-contiguous: pass numpy.empty\(.*numpy.float32"),
        (lambda: kernel(x, packed, out=out.tolist()), r"out is list, not an array: pass numpy.empty\("),
        (
            lambda: kernel(x, packed, out=np.concatenate([packed.data, out.ravel()])[: out.size].reshape(out.shape).T),
            "out has shape",
        ),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


def test_a_product_names_its_own_arrays():
    kernel = kernel_of(*CASES["matrix product"], "portable")
    a, b = integers(kernel.problem)
    for call, message in [
        (lambda: kernel(a.tolist(), b), "^a is list"),
        (lambda: kernel(a, b.tolist()), "^b is list"),
        (lambda: kernel(a, b, a), "^1 array follows a and b, but"),
    ]:
        with pytest.raises(ArgumentError, match=message):
            call()


def test_raw_weights_are_packed_anew_in_memory_that_stays():
    kernel = kernel_of(*CASES["single rows"], "portable")
    x, w = integers(SAME_3X3)
    kept = kernel.pack(w)
    for weights in (w, w + 1, w):
        np.testing.assert_array_equal(kernel(x, weights), reference(SAME_3X3, x, weights))
        (room,) = kernel._rooms
    kernel(x, w + 2)
    assert kernel._rooms[0] is room
    with pytest.raises(ArgumentError):
        kernel(x, w[:-1])
    np.testing.assert_array_equal(kernel(x, kept), reference(SAME_3X3, x, w))  # what `pack` gave is the caller's own


def test_outputs_may_not_overlap_inputs():
    problem = conv2d(c=4, h=5, w=5, k=4, r=1, s=1)
    kernel = build(parse(problem, "R(k) R(h) R(w) S(y) T(c,4) V(k,4)"), ISAS["portable"])
    x, w = integers(problem)
    with pytest.raises(ArgumentError, match="overlaps"):
        kernel(x, w, out=x)


def test_foreign_arrays_are_used_in_place():
    kernel = kernel_of(*CASES["single rows"], "portable")
    x, w = integers(SAME_3X3)

    class Foreign:
        def __init__(self, array):
            self.__array_interface__ = array.__array_interface__
            self.array = array

    assert np.array_equal(kernel(Foreign(x), Foreign(w)), reference(SAME_3X3, x, w))


def test_dlpack_arrays_are_used_in_place():
    kernel = kernel_of(*CASES["single rows"], "portable")
    x, w = integers(SAME_3X3)

    class Capsuled:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    assert np.array_equal(kernel(Capsuled(x), w), reference(SAME_3X3, x, w))


def test_weights_packed_for_another_problem_are_refused():
    text = "R(k) R(h) R(w) S(y) T(r,3) T(s,3) T(c,8) V(k,4)"
    kernels = [kernel_of(conv2d(c=8, h=5, w=5, k=k, r=3, s=3), text, "portable") for k in (37, 48)]
    for mine, other in (kernels, kernels[::-1]):
        x, w = integers(other.problem)
        with pytest.raises(ArgumentError, match="another"):
            mine(x, other.pack(w))


def test_threads_need_openmp(monkeypatch):
    monkeypatch.setattr("cpu.runtime.compiler.toolchain._has_openmp", lambda command: False)
    with pytest.raises(ToolchainError, match="has no OpenMP, so threads=2 cannot be had"):
        kernel_of(*CASES["loops for cores"], "portable", threads=2)


def test_saving_where_nothing_can_be_written(tmp_path):
    kernel = kernel_of(*CASES["single rows"], "portable")
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="choose another folder"):
        kernel.save(tmp_path / "file" / "below")
