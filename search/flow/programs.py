"""The kernel for a program: `generate_program`, and what the command line calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from search.evaluator import target_of
from search.evaluator.cpu.programs import ProgramKernel, anchored_for, around, build, target_of_anchor
from search.flow.find import DEFAULT_BUDGET
from search.flow.kernels import check_tuning, kernel_for
from search.tuner.target import TARGETS, Wanted, check_meant
from tiling.problem import ProblemError
from tiling.program.infer import Sized, sized
from tiling.program.read import read

if TYPE_CHECKING:
    from search.evaluator.gpu.cuda_programs import CudaProgramKernel
    from search.evaluator.gpu.programs import TwinProgramKernel

_DEFAULTS: Mapping[str, Any] = {"threads": 1, "isa": None, "tune": "model", "budget": DEFAULT_BUDGET}


def generate_program(
    text: str | Sized,
    *,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    outputs: Sequence[str] = (),
    dtype: str = "f32",
    threads: int = 1,
    isa: str | None = None,
    tune: str = "model",
    budget: float = DEFAULT_BUDGET,
    target: str = "cpu",
    **extents: int | str,
) -> ProgramKernel | CudaProgramKernel | TwinProgramKernel:
    """A kernel for a program on this machine (`docs/programs.md`): y = kernel(x, …).

    text: statements, separated by `;` or new lines, or what `tiling.program.operators.program_of` gives. extents: the
    size of each dim, i=100. A dim that walks an axis of an array of known shape needs none. i="<=100" leaves the size
    to each call, up to 100: the kernel takes it from the shapes of its arrays. shapes: {"x": (100, 50)}. An input
    without a shape is as long as its indices reach. dtype: what inputs have that declare none. outputs: the arrays to
    return, by default the last. With several the kernel returns a dict. threads: the most to use; a kernel with little
    to do takes fewer.

    tune, budget: as in `generate_conv`, for a matrix product or convolution in the program. All other loops follow from
    rules. The weights of such a product are packed in each call; `k.pack(w)` packs them once, for many calls.
    target="cuda" gives the kernel for this process's GPU, as a function of CuPy arrays or DLPack tensors; `k.source` is
    its CUDA text. target="cuda-twin" gives the same as a function of NumPy arrays, which a CPU computes thread by
    thread, for small shapes. threads, isa, tune and budget are for the CPU only. Raises ProblemError for a text that
    cannot be read or computed, ToolchainError without a C compiler, and CacheError where files cannot be kept; a GPU
    raises DeviceError without a GPU, CompileError without NVRTC.
    """
    check_tuning(tune, budget)
    options = {"threads": threads, "isa": isa, "tune": tune, "budget": budget}
    if isinstance(text, Sized):
        if extents or shapes or outputs or dtype != "f32":
            raise ProblemError("a program of an operator has its sizes and dtypes already: give threads and isa alone")
        return _program_kernel(text, target, options)
    if not isinstance(text, str):
        raise ProblemError(f"a program is a text, such as 'y[i] = sum[j] x[i,j]', not {type(text).__name__}")
    wanted = (outputs,) if isinstance(outputs, str) else outputs
    if not isinstance(wanted, (tuple, list)):
        raise ProblemError(f"outputs={outputs!r} must be the names of arrays")
    given = {} if shapes is None else shapes
    if not isinstance(given, Mapping):
        raise ProblemError(f'shapes={shapes!r} must be a dict, such as {{"x": (100, 50)}}')
    known = {name: tuple(shape) if isinstance(shape, list) else shape for name, shape in given.items()}
    return _program_kernel(sized(read(text), extents, known, dtype, tuple(wanted)), target, options)


def _program_kernel(
    program: Sized, target: str, options: Mapping[str, Any]
) -> ProgramKernel | CudaProgramKernel | TwinProgramKernel:
    """The kernel of a program on a kind of target: around that of its anchor, where it has one, else by rules."""
    if target != "cpu":
        changed = [name for name, value in options.items() if value != _DEFAULTS[name]]
        # Nothing is searched for on a GPU, and so nothing is tuned.
        check_meant("cuda-twin", changed, lambda name: f"{name} means nothing to a GPU's program")
        return _gpu_program_kernel(program, target)
    here = target_of("cpu", Wanted(isa=options["isa"], threads=options["threads"]))
    found = anchored_for(program, here)
    if isinstance(found, str):
        return build(program, here)
    anchor: Any = kernel_for(found.stores.problem, target_of_anchor(found, here), options["tune"], options["budget"])
    return around(program, found, anchor, here)


def _gpu_program_kernel(program: Sized, target: str) -> CudaProgramKernel | TwinProgramKernel:
    """The kernel of a program for a GPU: loaded on this process's, or on its twin. Raises ProblemError for any other
    target.
    """
    if target not in TARGETS:
        raise ProblemError(f"target={target!r} must be one of {', '.join(TARGETS)}")
    if target == "cuda":
        from search.evaluator.gpu.cuda_programs import CudaProgramKernel

        return CudaProgramKernel(program)
    from search.evaluator.gpu.programs import TwinProgramKernel

    return TwinProgramKernel(program)
