"""A layer of a network from Python: one convolution, its weights packed once, called on one input after another.

python examples/layer.py
"""

import numpy as np

from search import generate_conv

# 64 channels of 56 x 56 pixels in, 64 out, by windows of 3 x 3. tune="measure" would search for the fastest scheme;
# without it the model of data movement chooses one, and nothing is measured.
kernel = generate_conv(c=64, h=56, w=56, k=64, r=3, s=3, padding=1, epilogue="relu(y + b)")

rng = np.random.default_rng(0)
weights = kernel.pack(rng.standard_normal((64, 64, 3, 3), np.float32))  # (K,C,R,S), as PyTorch has them
bias = rng.standard_normal(64, np.float32)
y = kernel.empty()
for _ in range(3):
    image = rng.standard_normal((1, 56, 56, 64), np.float32)  # (N,H,W,C)
    kernel(image, weights, bias, out=y)  # without out= there is a new array each time
    print(f"y {y.shape}, {np.mean(y > 0):.0%} of it above 0")

print(f"computed by {kernel.scheme}")
print(
    f"{1e3 * kernel.timing.seconds:.3f} ms a call, {kernel.timing.fraction_of_peak(kernel.problem.flops):.0%} of peak"
)
