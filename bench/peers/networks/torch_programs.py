"""Programs of networks, each with what PyTorch computes for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

SOFTMAX = "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
LOG_SOFTMAX = "m[i] = max[j] x[i,j]; d[i] = sum[j] exp(x[i,j] - m[i]); l[i] = log(d[i]); y[i,j] = x[i,j] - m[i] - l[i]"
LAYER_NORM = (
    "m[i] = mean[j] x[i,j]; v[i] = mean[j] (x[i,j] - m[i]) * (x[i,j] - m[i]); "
    "y[i,j] = (x[i,j] - m[i]) * rsqrt(v[i] + 1e-5) * g[j] + b[j]"
)
RESIDUAL_NORM = f"t[i,j] = z[i,j] + r[i,j]; {LAYER_NORM}".replace("x[", "t[")
RMS_NORM = "v[i] = mean[j] x[i,j] * x[i,j]; y[i,j] = x[i,j] * rsqrt(v[i] + 1e-6) * g[j]"
# CINN's chain: elementwise, reduce, broadcast, elementwise, over 64 MiB.
RELU_SUM_ADD_SCALE = "a[i,j,k] = relu(x[i,j,k]); s[i,j] = sum[k] a[i,j,k]; y[i,j,k] = (a[i,j,k] + s[i,j]) * 0.5"
CHAIN = "a[i,j] = x[i,j] * 2 + 1; s[i] = sum[j] a[i,j]; t[i] = s[i] * 0.5; y[i,j] = t[i] * x[i,j] + a[i,j]"
PRODUCT = "p[i,j] = sum[c] x[i,c] * w[c,j]"
TRANSPOSED = "t[i,c] = x[c,i]; p[i,j] = sum[c] t[i,c] * w[c,j]"
POOLING = "y[h,w,c] = max[r,s] x[2*h+r-1,2*w+s-1,c] else -inf"
ATTENTION = (
    "s[h,i,j] = sum[c] q[h,i,c] * k[h,j,c]; t[h,i,j] = s[h,i,j] * 0.125; m[h,i] = max[j] t[h,i,j]; "
    "e[h,i,j] = exp(t[h,i,j] - m[h,i]); d[h,i] = sum[j] e[h,i,j]; a[h,i,c] = sum[j] e[h,i,j] * v[h,j,c]; "
    "y[h,i,c] = a[h,i,c] / d[h,i]"
)
# GPT-2's: a query sees the keys up to its own.
CAUSAL = ATTENTION.replace("s[h,i,j] * 0.125", "where(j <= i, s[h,i,j] * 0.125, -inf)")


@dataclass(frozen=True)
class Workload:
    """A program with its sizes. peer: PyTorch's result, of `torch` and the inputs in the order of `shapes`.

    bare: the program without what its kernel has fused, of the same arrays or some of them; "" for none.
    """

    name: str
    text: str
    shapes: dict[str, tuple[int, ...]]
    peer: Callable[..., Any]
    extents: dict[str, Any] = field(default_factory=dict)
    bare: str = ""


def _pool(torch: Any, x: Any) -> Any:
    # Channels last on both sides: axes (N,C,H,W) over memory (H,W,C).
    pooled = torch.nn.functional.max_pool2d(x.permute(2, 0, 1)[None], 3, 2, 1)
    return pooled[0].permute(1, 2, 0)


def _norm(torch: Any, x: Any, g: Any, b: Any) -> Any:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], g, b)


def _attention(torch: Any, q: Any, k: Any, v: Any, causal: bool = False) -> Any:
    return torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=causal)[0]


def _heads(queries: int, keys: int) -> dict[str, tuple[int, ...]]:
    return {"q": (12, queries, 64), "k": (12, keys, 64), "v": (12, keys, 64)}


def _chain(torch: Any, x: Any) -> Any:
    a = x * 2 + 1
    return a.sum(1, keepdim=True) * 0.5 * x + a


WORKLOADS = (
    Workload("softmax BERT 12x128x128", SOFTMAX, {"x": (1536, 128)}, lambda t, x: t.softmax(x, -1)),
    Workload("softmax GPT-2 12x512x512", SOFTMAX, {"x": (6144, 512)}, lambda t, x: t.softmax(x, -1)),
    Workload("softmax ResNet 1x1000", SOFTMAX, {"x": (1, 1000)}, lambda t, x: t.softmax(x, -1)),
    Workload("log-softmax GPT-2 32x50257", LOG_SOFTMAX, {"x": (32, 50257)}, lambda t, x: t.log_softmax(x, -1)),
    Workload("layer norm BERT 128x768", LAYER_NORM, {"x": (128, 768), "g": (768,), "b": (768,)}, _norm),
    Workload("layer norm GPT-2 512x768", LAYER_NORM, {"x": (512, 768), "g": (768,), "b": (768,)}, _norm),
    Workload(
        "residual, layer norm 512x768",
        RESIDUAL_NORM,
        {"z": (512, 768), "r": (512, 768), "g": (768,), "b": (768,)},
        lambda t, z, r, g, b: _norm(t, z + r, g, b),
    ),
    Workload(
        "RMS norm 2048x768",
        RMS_NORM,
        {"x": (2048, 768), "g": (768,)},
        lambda t, x, g: t.nn.functional.rms_norm(x, (768,), g, 1e-6),
    ),
    Workload("GELU BERT 128x3072", "y[i,j] = gelu(x[i,j])", {"x": (128, 3072)}, lambda t, x: t.nn.functional.gelu(x)),
    Workload(
        "GELU by tanh GPT-2 512x3072",
        "y[i,j] = gelu_tanh(x[i,j])",
        {"x": (512, 3072)},
        lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    ),
    Workload("SiLU 512x3072", "y[i,j] = silu(x[i,j])", {"x": (512, 3072)}, lambda t, x: t.nn.functional.silu(x)),
    Workload(
        "hard swish MobileNet 56x56x72",
        "y[h,w,c] = hardswish(x[h,w,c])",
        {"x": (56, 56, 72)},
        lambda t, x: t.nn.functional.hardswish(x),
    ),
    Workload(
        "add, ReLU ResNet 56x56x256",
        "y[h,w,c] = relu(x[h,w,c] + z[h,w,c])",
        {"x": (56, 56, 256), "z": (56, 56, 256)},
        lambda t, x, z: t.relu(x + z),
    ),
    Workload(
        "bias, residual BERT 128x768",
        "y[i,j] = x[i,j] + b[j] + z[i,j]",
        {"x": (128, 768), "b": (768,), "z": (128, 768)},
        lambda t, x, b, z: x + b + z,
    ),
    Workload(
        "max pooling ResNet 112x112x64",
        POOLING,
        {"x": (112, 112, 64)},
        _pool,
        {"h": 56, "w": 56, "r": 3, "s": 3, "c": 64},
    ),
    Workload(
        "global average ResNet 7x7x2048", "y[c] = mean[h,w] x[h,w,c]", {"x": (7, 7, 2048)}, lambda t, x: x.mean((0, 1))
    ),
    Workload("transposition 1024x1024", "y[j,i] = x[i,j]", {"x": (1024, 1024)}, lambda t, x: x.t().contiguous()),
    Workload(
        "heads to rows BERT 12x128x64",
        "y[i,h,c] = x[h,i,c]",
        {"x": (12, 128, 64)},
        lambda t, x: x.transpose(0, 1).contiguous(),
    ),
    Workload("sums of columns 512x768", "y[j] = sum[i] x[i,j]", {"x": (512, 768)}, lambda t, x: x.sum(0)),
    Workload("maxima of rows 512x768", "y[i] = max[j] x[i,j]", {"x": (512, 768)}, lambda t, x: x.amax(1)),
    Workload("sum of all 4194304", "y[] = sum[i] x[i]", {"x": (1 << 22,)}, lambda t, x: x.sum()),
    Workload("chain 2048x1024", CHAIN, {"x": (2048, 1024)}, _chain),
    Workload(
        "CINN's chain 16x1024x1024",
        RELU_SUM_ADD_SCALE,
        {"x": (16, 1024, 1024)},
        lambda t, x: (t.relu(x) + t.relu(x).sum(2, keepdim=True)) * 0.5,
    ),
    Workload(
        "product, ReLU 512x768x768",
        f"{PRODUCT}; y[i,j] = relu(p[i,j])",
        {"x": (512, 768), "w": (768, 768)},
        lambda t, x, w: t.relu(x @ w),
        bare=PRODUCT,
    ),
    Workload(
        "transposed, product 512x768x768",
        TRANSPOSED,
        {"x": (768, 512), "w": (768, 768)},
        lambda t, x, w: x.t() @ w,
        bare="p[i,j] = sum[c] x[c,i] * w[c,j]",
    ),
    Workload("attention BERT 12x128x64", ATTENTION, _heads(128, 128), _attention),
    Workload("causal attention 12x128x64", CAUSAL, _heads(128, 128), lambda t, q, k, v: _attention(t, q, k, v, True)),
    Workload("attention 12x512x64", ATTENTION, _heads(512, 512), _attention),
    Workload(
        "causal attention GPT-2 12x512x64",
        CAUSAL,
        _heads(512, 512),
        lambda t, q, k, v: _attention(t, q, k, v, True),
    ),
    Workload("attention of one query 12x1024x64", ATTENTION, _heads(1, 1024), _attention),
)
