"""What the GPU tests share: a problem's scheme by hand, exact inputs, and the reference in the problem's own layout."""

import numpy as np

from cpu.library import shared_object
from cpu.numbers import from_bits, to_bits
from cpu.oracle import reference
from gpu.emit import emit
from gpu.instructions import instruction_for
from gpu.twin import run_on_twin, twin_text
from tiling.notation import parse


def product_scheme(problem, *, warps=(2, 2), unrolled=(2, 2, 2), depth=3, group=1):
    """A scheme of the portable pipeline. `group` tiles of rows are walked before the next tile of columns."""
    conv = problem.op == "conv2d"
    rows, columns, reduction = ("nhw", "k", "rsc") if conv else ("m", "n", "k")
    a, b, c = (problem.broadcast.name, problem.vector.name, problem.output.name)
    i = instruction_for(problem.dtype)
    tile = (warps[0] * unrolled[0] * i.rows, warps[1] * unrolled[1] * i.columns, unrolled[2] * i.depth)
    row_tiles, column_tiles, steps = (-(-problem.extent(d) // t) for d, t in zip((rows, columns, reduction), tile))
    batch = f"T(l,{problem.extents['l']})@block " if "l" in problem.extents else ""
    return parse(
        problem,
        f"{batch}T({rows},{-(-row_tiles // group)})@block T({columns},{column_tiles})@block T({rows},{group})@block "
        f"S({c}) T({reduction},{steps}) S({a}, {depth}) S({b}, {depth}) T({rows},{warps[0]})@warp "
        f"T({columns},{warps[1]})@warp U({reduction},{unrolled[2]}) U({rows},{unrolled[0]}) "
        f"U({columns},{unrolled[1]}) M({rows}{i.rows}{columns}{i.columns}{reduction}{i.depth})",
    )


def integers(problem, seed=0):
    """Inputs whose sums are exact in f32, whatever their order, and in the problem's own dtypes."""
    rng = np.random.default_rng(seed)
    tensors = (problem.broadcast, problem.vector, *problem.epilogue_arrays)
    return tuple(rng.integers(-4, 5, t.shape).astype(np.float32) for t in tensors)


def expected(problem, first, second, *arrays):
    """The exact result rounded once to the output's dtype. The oracle takes w (K,C,R,S)."""
    if problem.windows:
        second = second.transpose(0, 3, 1, 2)
    exact = reference(problem, first, second, *arrays).astype(np.float32)
    return from_bits(to_bits(exact, problem.output_dtype), problem.output_dtype)


def check_on_twin(scheme, seeds=(1,)):
    """Runs a scheme's kernel on the twin and compares exactly; the bank conflicts of the last run."""
    problem = scheme.problem
    inputs = integers(problem)
    wanted, source = expected(problem, *inputs), emit(scheme)
    for seed in seeds:
        run = run_on_twin(source, *inputs, seed=seed)
        np.testing.assert_array_equal(run.output, wanted)
    return run.conflicts


def check_within_arrays(scheme):
    """Compiles a kernel's text with what a compiler sees of indices beyond an array, which would let it cut loops
    short.
    """
    shared_object(twin_text(emit(scheme)), ("-Werror=aggressive-loop-optimizations", "-Werror=array-bounds"))
