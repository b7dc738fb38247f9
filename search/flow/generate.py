"""The Python entry points for convolutions and matrix products: `generate_conv` and `generate_matmul` make kernels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from search.evaluator import target_of
from search.evaluator.interface.files import fold_batch_norm, load
from search.flow.find import DEFAULT_BUDGET
from search.flow.kernels import check_tuning, kernel_for
from search.tuner.dtypes import typed
from search.tuner.target import TARGETS, Wanted, check_meant
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.problem import Problem, ProblemError
from tiling.volumes import conv3d

if TYPE_CHECKING:
    from search.evaluator.kernels import CpuKernel, GpuKernel, TwinKernel

__all__ = ["fold_batch_norm", "generate_conv", "generate_matmul", "load_kernel"]


def generate_conv(
    *,
    n: int = 1,
    c: int,
    h: int | None = None,
    w: int,
    k: int,
    r: int | None = None,
    s: int,
    stride: int | tuple[int, ...] = 1,
    padding: int | str | tuple[int, ...] | tuple[tuple[int, int], ...] = 0,
    dilation: int | tuple[int, ...] = 1,
    groups: int = 1,
    layout: str = "nhwc",
    transposed: bool = False,
    d: int | None = None,
    q: int | None = None,
    dtype: str | None = None,
    output_dtype: str | None = None,
    epilogue: str | None = None,
    threads: int = 1,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
    isa: str | None = None,
    target: str = "cpu",
    algorithm: str = "direct",
    cache: str = "warm",
) -> CpuKernel | GpuKernel | TwinKernel:
    """A kernel for one convolution on this machine: y = kernel(x, w).

    Arrays are float32. x is (N,H,W,C), w is (K,C/groups,R,S) as in PyTorch, y is (N,OH,OW,K). With layout="nchw" x is
    (N,C,H,W) and y is (N,K,OH,OW), as in PyTorch; depthwise kernels, and kernels for bf16 and int8, then first copy x.
    stride, dilation: a number or (h, w). padding: a number, (h, w), ((top, bottom), (left, right)), "same" or "valid".
    h, r: both 1 by default, for a convolution of one dimension along w (`tiling.operators.conv2d`).
    d, q: the depth of volumes and the taps along it, for float32 on a CPU, without groups (`tiling.volumes.conv3d`).
    Then x is (N,D,H,W,C), w is (K,C,Q,R,S), and stride, dilation and padding are along d, h and w.
    epilogue: what the stores do to each sum, such as "relu(y + b + z)" (`tiling.epilogue`). The arrays that it names
    follow x and w, as in kernel(x, w, b, z), with b (K,) and z in the shape of y.

    tune="measure" tries the most promising schemes for about `budget` seconds, then checks the winner on random reals.
    tune="model" measures nothing: it takes the choice of an earlier measured search for the same problem, whose timing
    `kernel.timing` then holds, or else trusts the model. Each choice is kept. The next call with the same arguments
    returns at once, until the machine is ranked anew or the compiler changes.
    Where other programs took the cores during a measured search, a RuntimeWarning and `kernel.timing.disturbed` say so,
    in later calls that take its choice too. The next call with tune="measure" measures the choice again beside its
    rivals if the machine is quiet by then.

    dtype="bf16" needs a CPU with AVX512-BF16, dtype="int8" one with AVX512-VNNI; both use AMX where the CPU has it and
    the system grants its registers, unless `isa` names another instruction set.
    For bf16, x and w are uint16 (the bits), ml_dtypes.bfloat16 or DLPack tensors. Sums are f32, by an instruction that
    treats subnormal numbers as 0. output_dtype: "bf16" or "f32".
    For int8, x is uint8, w is int8, and sums are exact in int32. output_dtype: "s32"; with an epilogue, which takes the
    sum as a float, "f32", "u8" or "s8", rounded to nearest even and saturated. So epilogue="y*scale[k] + b" with
    output_dtype="u8" requantises by channel. Arrays of the epilogue are float32. The caller folds the zero point z of x
    into b, as -z·scale·Σw. That counts every tap, but the padding of x is 0 and not z.
    The channels of each pixel should be a multiple of 2 (bf16) or 4 (int8). Otherwise the kernel first copies x, with
    zeros between pixels or with the row of a window as one run; depthwise convolutions, and groups that share a vector,
    need no copy. For AMX x is also copied where a row has padding, or where x does not begin with a cache line.

    cache="cold" chooses, and times, for calls that find all arrays in memory and in no cache, as the weights of a large
    network are; "warm" for calls that find them where the call before left them. Each has its own choices in the store.

    algorithm="winograd" computes 3 x 3 convolutions of stride 1 with fewer multiplications and larger errors
    (`tiling.rewrite.winograd.algorithm`). It is for float32, channels last, without groups or dilation. "auto" takes
    the faster of the two algorithms.

    target="cuda" gives a `gpu.runtime.kernel.GpuKernel` for this process's GPU. Its arrays are CuPy arrays or DLPack
    tensors of `dtype`: "f16" (the default), "bf16", "tf32" (float32 arrays) or, without tensor cores, "f32". w is
    (K,R,S,C), with layout="nchw" (K,C,R,S).
    target="cuda-twin" gives the same kernel as a function of NumPy arrays, which a CPU computes thread by thread. It is
    for small shapes, untimed, and takes the model's choice. threads, isa and algorithm are for the CPU only.

    Not covered, and refused before anything is compiled: transposed convolutions.
    Raises ProblemError for these and for a shape or epilogue that cannot be computed, ToolchainError without a C
    compiler, CacheError or StoreError where files cannot be kept. A search raises TuningError where no candidate runs,
    and CandidateError where none passes its last check. A GPU raises SchemeError for tf32 with groups or
    layout="nchw", DeviceError without a GPU, CompileError without NVRTC (the twin needs neither), and WorkerError where
    the device fails. All errors can be imported from `search`.
    """
    if transposed:
        raise ProblemError("a transposed convolution is not covered: only forward ones are")
    sliding = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "layout": layout}
    given: dict[str, Any] = {"n": n, "c": c, "h": h, "w": w, "k": k, "r": r, "s": s, **sliding}
    flat = d is None and q is None
    problem = conv2d(**given) if flat else _volumes(given | {"d": d, "q": q})
    of_the_cpu = {
        "threads": threads,
        "tune": tune,
        "budget": budget,
        "isa": isa,
        "output_dtype": output_dtype,
        "algorithm": algorithm,
        "cache": cache,
    }
    return _generated(fused(problem, epilogue), target, dtype, of_the_cpu)


def _volumes(given: Mapping[str, Any]) -> Problem:
    """The convolution of volumes that these arguments say. Raises ProblemError."""
    missing = [name for name in ("d", "h", "q", "r") if given[name] is None]
    if missing:
        raise ProblemError(f"conv3d: {missing[0]} is missing: give d, h, q and r, or neither d nor q for an image")
    return conv3d(**given)


def generate_matmul(
    *,
    m: int,
    n: int,
    k: int,
    batch: int = 1,
    transpose_a: bool = False,
    transpose_b: bool = False,
    dtype: str | None = None,
    output_dtype: str | None = None,
    epilogue: str | None = None,
    threads: int = 1,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
    isa: str | None = None,
    target: str = "cpu",
    cache: str = "warm",
) -> CpuKernel | GpuKernel | TwinKernel:
    """A kernel for one matrix product on this machine: c = kernel(a, b).

    Arrays are float32 and row-major: a is (M,K), b is (K,N), c is (M,N). transpose_a: a is (K,M). transpose_b: b is
    (N,K). batch: so many products, each with its own a and b, one after the other: a (L,M,K), b (L,K,N), c (L,M,N).
    Kernels for bf16 and int8 first copy a transposed a, or an a whose K is no multiple of 2 (bf16) or 4 (int8). Kernels
    for float32 first copy a transposed a where that is predicted, or measured, to be faster.
    In an `epilogue` y is the product and b a bias (N,). The other arguments, the kept choices and the errors are those
    of `generate_conv`.
    """
    of_the_cpu = {
        **{"threads": threads, "tune": tune, "budget": budget, "isa": isa, "output_dtype": output_dtype},
        "cache": cache,
    }
    problem = matmul(m=m, n=n, k=k, batch=batch, transpose_a=transpose_a, transpose_b=transpose_b)
    return _generated(fused(problem, epilogue), target, dtype, of_the_cpu)


def load_kernel(path: str | Path) -> CpuKernel:
    """The kernel that `kernel.save` wrote. path: its folder, or its .json where the folder holds several kernels.

    This needs no compiler. Raises ExportError where `path` is no saved kernel or its library has changed, CpuError on a
    CPU without the kernel's instruction set.
    """
    return load(path)


_DEFAULTS: Mapping[str, Any] = {
    "threads": 1,
    "tune": "model",
    "budget": DEFAULT_BUDGET,
    "isa": None,
    "output_dtype": None,
    "algorithm": "direct",
    "cache": "warm",
}


def _generated(
    problem: Problem, name: str, dtype: str | None, options: Mapping[str, Any]
) -> CpuKernel | GpuKernel | TwinKernel:
    """As `generate_conv`, for any problem of f32. options: the arguments that mean nothing to some targets."""
    if name not in TARGETS:
        raise ProblemError(f"target={name!r} must be one of {', '.join(TARGETS)}")
    options = {**_DEFAULTS, **options}
    changed = [key for key, value in options.items() if value != _DEFAULTS[key]]
    check_meant(name, changed, lambda key: f"{key}={options[key]!r} means nothing to target={name!r}")
    tune, budget = options["tune"], options["budget"]
    check_tuning(tune, budget)
    problem = typed(problem, name, dtype, options["output_dtype"])
    used = {key: options[key] for key in ("isa", "threads", "algorithm", "cache")}
    return kernel_for(problem, target_of(name, Wanted(problem.dtype, **used)), tune, budget)
