"""`generate_conv`, `generate_matmul`: a problem in, a kernel for this machine out. `load_kernel`: one that
was saved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cpu.batch_norm import fold_batch_norm
from cpu.export import load
from cpu.kernel import Kernel
from cpu.toolchain import CompileError
from microkernels.database import ignore
from search import store
from search.options import TARGETS, on_cpu
from search.workshop import DEFAULT_BUDGET, Workshop, workshop
from tiling.epilogue import fused
from tiling.machine import Timing
from tiling.notation import parse
from tiling.operators import conv2d, matmul
from tiling.problem import Problem, ProblemError
from tiling.scheme import Scheme, SchemeError

if TYPE_CHECKING:
    from gpu.kernel import Kernel as GpuKernel
    from search.gpu_target import TwinKernel

__all__ = ["fold_batch_norm", "generate", "generate_conv", "generate_matmul", "load_kernel"]

# Of the model's candidates, until one compiles: where so many do not, it is the compiler that is at fault.
MOST_BUILDS = 4


def generate_conv(
    *,
    n: int = 1,
    c: int,
    h: int | None = None,
    w: int,
    k: int,
    r: int | None = None,
    s: int,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
    layout: str = "nhwc",
    transposed: bool = False,
    d: int | None = None,
    dtype: str | None = None,
    output_dtype: str | None = None,
    epilogue: str | None = None,
    threads: int = 1,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
    isa: str | None = None,
    target: str = "cpu",
    algorithm: str = "direct",
) -> Kernel | GpuKernel | TwinKernel:
    """A kernel for one 2-D convolution on this machine: y = kernel(x, w).

    x is (N,H,W,C) float32, w is (K,C/groups,R,S) float32 as PyTorch has it, y is (N,OH,OW,K); with layout="nchw" x
    is (N,C,H,W) and y (N,K,OH,OW), as PyTorch has them, and depthwise kernels and those of bf16 and int8 first copy x.
    `stride` and `dilation` are a number or (h, w); `padding` is a number, (h, w), ((top, bottom), (left, right)),
    "same" or "valid". Without `h` and `r`, both 1, it is one-dimensional along w (`tiling.operators.conv2d`).
    `epilogue` is what the stores do to each sum, such as "relu(y + b + z)" (`tiling.epilogue`); the arrays that it
    names follow: kernel(x, w, b, z), b (K,) and z as y lies, (N,OH,OW,K). tune="model" trusts the model and measures
    nothing; "measure" tries the most promising schemes for about `budget` seconds. What was chosen is kept, and the
    next call with the same arguments returns at once, until the machine is ranked anew or the compiler changes.

    dtype="bf16" and "int8" compute in these where the CPU has AVX512-BF16 or AVX512-VNNI, by AMX where it has that and
    the system gives its registers, unless `isa` names another; they are refused where it has none.
    bf16: x and w as uint16 (the bits), ml_dtypes.bfloat16 or DLPack tensors, summed in f32, by an instruction to which
    subnormal numbers are 0; y of `output_dtype` "bf16" or "f32". int8: x uint8 times w int8, summed exactly in int32; y
    is "s32", or of an epilogue of the sum as a float "f32", "u8" or "s8", rounded to nearest even and saturated:
    epilogue="y*scale[k] + b" with output_dtype="u8" requantises by channel. An epilogue's arrays are float32. x's zero
    point z is the caller's to fold into b, as -z·scale·Σw, which counts every tap: where there is padding, what is left
    out is 0 and not z. The channels of each pixel should be a multiple of 2 (bf16) or 4 (int8): others are copied
    first, with zeros between or a window's row as one run; but not those of a depthwise convolution, or of groups that
    share a vector. For AMX x is also copied where a row has padding, or where x does not begin with a cache line.

    algorithm="winograd" computes 3 x 3 convolutions of stride 1 with fewer multiplications and larger errors
    (`tiling.winograd`): of float32, channels last, without groups or dilation, and is refused for others. "auto" takes
    whichever of the two is faster.

    target="cuda" gives a `gpu.kernel.Kernel` for this process's GPU: CuPy arrays or DLPack tensors of `dtype`, "f16",
    "bf16" or "tf32" (float32 arrays), f16 by default, with w (K,R,S,C), channels last. target="cuda-twin" gives the
    same kernel as a function of NumPy arrays, which a CPU computes thread by thread: small shapes, no speed, the
    model's choice. threads, isa and algorithm are the CPU's.

    Not covered, and refused before anything is compiled: transposed convolutions, a depth `d` (3-D), on a GPU groups
    and layout="nchw".
    Raises ProblemError for these and for a shape or epilogue that cannot be computed, ToolchainError without a C
    compiler, CacheError or StoreError where files cannot be kept, TuningError where no candidate runs; for a GPU what
    `search.gpu_target.generate_gpu` says.
    """
    if transposed:
        raise ProblemError("a transposed convolution is not covered: only forward ones of 1 or 2 dimensions are")
    if d is not None or any(isinstance(each, (tuple, list)) and len(each) == 3 for each in (stride, padding, dilation)):
        raise ProblemError("a 3-D convolution is not covered: only forward ones of 1 or 2 dimensions are")
    axes = {"stride": stride, "padding": padding, "dilation": dilation}
    problem = conv2d(n=n, c=c, h=h, w=w, k=k, r=r, s=s, **axes, groups=groups, layout=layout)
    of_the_cpu = {
        "threads": threads,
        "tune": tune,
        "budget": budget,
        "isa": isa,
        "output_dtype": output_dtype,
        "algorithm": algorithm,
    }
    return _generated(fused(problem, epilogue), target, dtype, of_the_cpu)


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
) -> Kernel | GpuKernel | TwinKernel:
    """A kernel for one matrix product on this machine: c = kernel(a, b).

    a is (M,K) float32, b is (K,N), c is (M,N), all row-major; with `transpose_a` a lies as (K,M), which kernels of bf16
    and int8 first copy, as they do where K is no multiple of 2 (bf16) or 4 (int8); with `transpose_b` b lies as (N,K).
    A `batch` of products, each of its own a and b, lies one after the other: a (L,M,K), b (L,K,N), c (L,M,N).
    In an `epilogue` y is the product and b a bias (N,). The other arguments, what is kept, and the errors are those of
    `generate_conv`.
    """
    of_the_cpu = {"threads": threads, "tune": tune, "budget": budget, "isa": isa, "output_dtype": output_dtype}
    problem = matmul(m=m, n=n, k=k, batch=batch, transpose_a=transpose_a, transpose_b=transpose_b)
    return _generated(fused(problem, epilogue), target, dtype, of_the_cpu)


def load_kernel(path) -> Kernel:
    """The kernel that `kernel.save` wrote: `path` is its folder, or its .json where a folder holds several.

    Needs no compiler. Raises ExportError where this is no saved kernel or its library is another, CpuError on a CPU
    without the kernel's instruction set.
    """
    return load(path)


_CPU_DEFAULTS = {
    "threads": 1,
    "tune": "model",
    "budget": DEFAULT_BUDGET,
    "isa": None,
    "output_dtype": None,
    "algorithm": "direct",
}


def _generated(problem: Problem, target: str, dtype: str | None, of_the_cpu: dict) -> Kernel | GpuKernel | TwinKernel:
    """As `generate_conv`, for any problem of f32; `of_the_cpu` are the arguments that a GPU has no use for."""
    if target not in TARGETS:
        raise ProblemError(f"target={target!r} must be one of {', '.join(TARGETS)}")
    if target == "cpu":
        return generate(on_cpu(problem, dtype, of_the_cpu.pop("output_dtype")), **of_the_cpu)
    meant = ("tune", "budget") if target == "cuda" else ()
    for name, value in of_the_cpu.items():
        if value != _CPU_DEFAULTS[name] and name not in meant:
            raise ProblemError(f"{name}={value!r} means nothing to target={target!r}: leave it out")
    tune, budget = of_the_cpu["tune"], of_the_cpu["budget"]
    _check_tuning(tune, budget)
    from search.gpu_target import generate_gpu  # a kernel for the CPU does not wait for what only a GPU needs

    return generate_gpu(problem, dtype, target, tune, budget)


def generate(
    problem: Problem, *, threads: int, tune: str, budget: float, isa: str | None = None, algorithm: str = "direct"
) -> Kernel:
    """As `generate_conv`, for any problem."""
    _check_tuning(tune, budget)
    shop = workshop(isa, threads, problem.dtype, algorithm)
    problem = shop.problem(problem)
    key, kind = shop.key(problem), shop.kind(tune, problem)
    kernel = _kept(shop, key, kind, problem)
    if kernel:
        return kernel
    candidates = shop.candidates(problem)
    wanted: list[tuple[Scheme, Timing | None]] = [(scheme, None) for scheme in candidates[:MOST_BUILDS]]
    if tune == "measure":
        outcome = shop.tune(candidates, budget=budget)
        if outcome.interrupted:
            raise KeyboardInterrupt  # what was measured is in the store, and the next call goes on from there
        wanted = [(measured.scheme, measured.timing) for measured in (outcome.best, *outcome.runners_up)]
    kernel, timing = _first_built(shop, wanted)
    store.choose(key, kind, kernel.scheme.text, timing)  # only now: what does not compile is nobody's choice
    return kernel


def _check_tuning(tune: object, budget: object) -> None:
    if tune not in ("model", "measure"):
        raise ProblemError(f'tune={tune!r} must be "model" or "measure"')
    if isinstance(budget, bool) or not isinstance(budget, (int, float)) or not 0 < budget < 1e6:
        raise ProblemError(f"budget={budget!r} must be a number of seconds above 0")


def _first_built(shop: Workshop, wanted: Sequence[tuple[Scheme, Timing | None]]) -> tuple[Kernel, Timing | None]:
    """The first of `wanted` that compiles. Raises the first one's CompileError where none does."""
    refused: CompileError | None = None
    for scheme, timing in wanted:
        try:
            return _built(shop, scheme, timing), timing
        except CompileError as error:
            refused = refused or error
    raise refused


def _built(shop: Workshop, scheme: Scheme, timing: Timing | None) -> Kernel:
    kernel = shop.build(scheme)
    if timing:
        kernel.timing = timing
    return kernel


def _kept(shop: Workshop, key: store.Key, tune: str, problem: Problem) -> Kernel | None:
    """What an earlier search settled on, unless it is no scheme of this problem on this CPU or does not compile."""
    found = store.choice(key, tune)
    try:
        return _built(shop, parse(problem, found[0]), found[1]) if found else None
    except SchemeError as error:
        ignore([f"the choice for {key.shape}: {error}"])
        return None
    except CompileError:
        return None  # no fault of the record's: the compiler's options or limits have changed since
