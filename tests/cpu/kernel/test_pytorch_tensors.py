"""PyTorch's tensors as a CPU kernel's arrays: what comes in as a tensor comes out as one, and no image is copied."""

from __future__ import annotations

import numpy as np
import pytest

from cpu.runtime.machine.host import supports
from microkernels.tile.isa import isa_named
from search import generate_conv, generate_matmul
from tiling.arguments import ArgumentError

torch = pytest.importorskip("torch", reason="PyTorch, whose tensors are handed over, is not installed")

SHAPE = {"n": 2, "c": 8, "h": 9, "w": 7, "k": 12, "r": 3, "s": 3, "padding": 1}


def whole_numbers(*shape: int):
    """A tensor of small whole numbers, whose sums no float rounds."""
    return torch.randint(-4, 5, shape, generator=torch.Generator().manual_seed(sum(shape))).float()


def images(*shape: int):
    """The same as (N,C,H,W) images that lie channels last."""
    return whole_numbers(*shape).contiguous(memory_format=torch.channels_last)


def test_channels_last_tensors_go_in_and_come_out_as_pytorch_has_them():
    kernel = generate_conv(**SHAPE, epilogue="relu(y + b + z)", isa="portable")
    x, w, b, z = images(2, 8, 9, 7), images(12, 8, 3, 3), whole_numbers(12), images(2, 12, 9, 7)
    expected = torch.relu(torch.nn.functional.conv2d(x, w, b, padding=1) + z)
    for weights in (w, kernel.pack(w)):
        y = kernel(x, weights, b, z)
        assert torch.equal(y, expected) and y.is_contiguous(memory_format=torch.channels_last)
    out = torch.full_like(y, torch.nan)
    assert kernel(x, kernel.pack(w), b, z, out=out) is out and torch.equal(out, expected)


def test_a_tensor_of_the_kernels_own_axes_gives_one_of_them():
    kernel = generate_conv(**SHAPE, isa="portable")
    x, w = whole_numbers(2, 9, 7, 8), whole_numbers(12, 8, 3, 3)
    y = kernel(x, w)
    assert torch.equal(y.permute(0, 3, 1, 2), torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w, padding=1))
    assert y.is_contiguous()


def test_the_strides_of_an_image_say_what_its_axes_are_where_its_shape_does_not():
    kernel = generate_conv(c=8, h=8, w=8, k=8, r=1, s=1, isa="portable")
    x, w = whole_numbers(1, 8, 8, 8), whole_numbers(8, 8, 1, 1)
    lying = x.contiguous(memory_format=torch.channels_last)
    assert torch.equal(kernel(lying, w), torch.nn.functional.conv2d(x, w))
    assert torch.equal(kernel(x, w), torch.nn.functional.conv2d(x.permute(0, 3, 1, 2), w).permute(0, 2, 3, 1))


def test_a_channels_first_kernel_takes_no_image_that_lies_channels_last():
    kernel = generate_conv(c=8, h=8, w=8, k=8, r=1, s=1, layout="nchw", isa="portable")
    x, w = whole_numbers(1, 8, 8, 8).contiguous(memory_format=torch.channels_last), whole_numbers(8, 8, 1, 1)
    with pytest.raises(ArgumentError, match=r"x is not C-contiguous: pass .* x.contiguous()"):
        kernel(x, w)


def test_images_of_numpy_may_have_the_same_axes():
    kernel = generate_conv(**SHAPE, isa="portable")
    x, w = (tensor.numpy() for tensor in (images(2, 8, 9, 7), images(12, 8, 3, 3)))
    y = kernel(x, w)
    assert type(y) is np.ndarray and y.shape == (2, 12, 9, 7)
    assert np.array_equal(y, torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding=1).numpy())


def test_channels_first_images_are_a_channels_first_kernels():
    x, w = whole_numbers(2, 8, 9, 7), whole_numbers(12, 8, 3, 3)
    y = generate_conv(**SHAPE, layout="nchw", isa="portable")(x, w)
    assert torch.equal(y, torch.nn.functional.conv2d(x, w, padding=1))
    made_for = r"x has shape \(2, 8, 9, 7\), but this kernel was made for \(2, 9, 7, 8\)"
    with pytest.raises(ArgumentError, match=rf'{made_for}: pass it as a channels-last tensor, or .* layout="nchw"$'):
        generate_conv(**SHAPE, isa="portable")(x, w)
    with pytest.raises(ArgumentError, match=r"but this kernel was made for \(2, 9, 7, 8\)$"):
        generate_conv(**SHAPE, isa="portable")(x[:, :4], w)  # no order of these axes is the kernel's


def test_a_product_takes_and_gives_tensors():
    a, b = whole_numbers(9, 16), whole_numbers(11, 16)
    kernel = generate_matmul(m=9, n=11, k=16, isa="portable")
    assert torch.equal(kernel(a, b.T), a @ b.T)


def test_bfloat16_tensors_give_bfloat16_tensors():
    if not supports(isa_named("avx512bf16").cpu_flags):
        pytest.skip("needs avx512bf16")
    x, w = images(2, 8, 9, 7).bfloat16(), images(12, 8, 3, 3).bfloat16()
    for output_dtype, expected in (("bf16", torch.bfloat16), ("f32", torch.float32)):
        y = generate_conv(**SHAPE, dtype="bf16", output_dtype=output_dtype)(x, w)
        assert y.dtype == expected
        exact = torch.nn.functional.conv2d(x.float(), w.float(), padding=1).to(expected)
        assert torch.equal(y, exact)


def test_a_tensor_that_wants_a_gradient_is_refused():
    kernel = generate_conv(**SHAPE, isa="portable")
    with pytest.raises(ArgumentError, match=r"x cannot be read in place .*detach"):
        kernel(images(2, 8, 9, 7).requires_grad_(), whole_numbers(12, 8, 3, 3))
