"""The end of a ResNet block on PyTorch's tensors: convolution, batch normalisation, residual and ReLU in one kernel.

python examples/pytorch_block.py        needs PyTorch
"""

import sys

from search import fold_batch_norm, generate_conv

try:
    import torch
except ModuleNotFoundError:
    sys.exit("this example needs PyTorch: pip install 'tilewright[torch]'")

CHANNELS, SIZE = 32, 14
torch.manual_seed(0)
convolution = torch.nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False)
norm = torch.nn.BatchNorm2d(CHANNELS).eval()
norm.running_mean.uniform_(-0.1, 0.1)
norm.running_var.uniform_(0.5, 1.5)

# A batch normalisation disappears into weights and bias; what is left follows each sum before it is stored.
statistics = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
w, b = fold_batch_norm(*(t.detach().numpy() for t in (convolution.weight, *statistics)), norm.eps)
kernel = generate_conv(c=CHANNELS, h=SIZE, w=SIZE, k=CHANNELS, r=3, s=3, padding=1, epilogue="relu(y + b + z)")
packed = kernel.pack(w)

# Channels last, as PyTorch itself computes fastest: then no image is copied, neither on the way in nor out.
x = torch.randn(1, CHANNELS, SIZE, SIZE).contiguous(memory_format=torch.channels_last)
y = kernel(x, packed, b, x)  # the residual z is the block's own input

with torch.no_grad():
    expected = torch.relu(norm(convolution(x)) + x)
lying = y.is_contiguous(memory_format=torch.channels_last)
print(f"y is a {type(y).__name__} of {tuple(y.shape)}, channels last: {lying}")
print(f"largest difference from PyTorch {float((y - expected).abs().max()):.1e}")
assert torch.allclose(y, expected, atol=1e-4)
