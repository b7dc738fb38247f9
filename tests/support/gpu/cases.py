"""What the GPU tests share: a problem's scheme by hand, exact inputs, and the reference in the problem's own layout."""

import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from cpu.reference.oracle import reference
from cpu.runtime.numbers import from_bits, to_bits
from gpu.codegen.loops.scheme import emit_scheme
from gpu.codegen.pipeline.instructions import instruction_for
from gpu.twin.launch import TwinError, layer_for, run_on_twin, twin_text
from tests.support.running.own_cache import shared_object
from tiling.operators import conv2d, matmul
from tiling.text.notation import parse


def product_scheme(problem, *, warps=(2, 2), unrolled=(2, 2, 2), depth=3, group=1):
    """A scheme of warps, for any GPU. `group` tiles of rows are walked before the next tile of columns."""
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


# A product, and a scheme of it whose sums are split.
PROBLEM = matmul(m=40, n=24, k=56, dtype="f16")
SPLIT = parse(PROBLEM, "T(k,2)@block " + product_scheme(PROBLEM, unrolled=(2, 2, 1)).text.replace("T(k,4)", "T(k,2)"))


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
    wanted, source = expected(problem, *inputs), emit_scheme(scheme)
    for seed in seeds:
        run = run_on_twin(source, *inputs, seed=seed)
        np.testing.assert_array_equal(run.output, wanted)
    return run.conflicts


def check_within_arrays(scheme):
    """Compiles a kernel's text with what a compiler sees of indices beyond an array, which would let it cut loops
    short.
    """
    source = emit_scheme(scheme)
    shared_object(
        layer_for(source, whole=True) + twin_text(source),
        ("-Werror=aggressive-loop-optimizations", "-Werror=array-bounds"),
    )


def survives(source, seeds=range(4)):
    """Whether a kernel gives the right result in every order tried, and the twin finds nothing wrong."""
    problem = source.scheme.problem
    inputs = integers(problem)
    wanted = expected(problem, *inputs)
    try:
        return all((run_on_twin(source, *inputs, seed=seed).output == wanted).all() for seed in seeds)
    except TwinError:
        return False


def left_out(source, statements, seeds):
    """The statements of a kernel's text, and those that can be left out, one alone, in every order tried.

    One program serves for all of them: it asks the environment which statement it is to leave out.
    """
    numbers = count()
    asks = statements.sub(lambda s: f'if (atoi(getenv("LEFT_OUT")) != {next(numbers)}) {{ {s[0]} }}', source.text)
    asking, needless = replace(source, text=asks), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEFT_OUT", "-1")
        assert survives(asking, range(2)), "nothing is left out"
        for number, statement in enumerate(found := statements.findall(source.text)):
            patch.setenv("LEFT_OUT", str(number))
            needless += [statement] if survives(asking, seeds) else []
        patch.setenv("LEFT_OUT", "-1")
        assert survives(asking, range(2)), "what was left out before still tells"
    return found, needless


def wgmma_scheme(problem, *, groups=(2, 1), rows=1, columns=64, depth=4, taps=""):
    """taps: those of a convolution that loops take one at a time, as for the copy engine."""
    m, n, k = ("nhw", "k", "c" if taps else "rsc") if problem.op == "conv2d" else ("m", "n", "k")
    a, b, c = (problem.broadcast.name, problem.vector.name, problem.output.name)
    batch = f"T(l,{problem.extents['l']})@block " if "l" in problem.extents else ""
    part = 8 if problem.dtype == "tf32" else 16
    steps = -(-problem.extent(k) // (4 * part))
    tiles = (-(-problem.extent(m) // (64 * rows * groups[0])), -(-problem.extent(n) // (columns * groups[1])))
    return parse(
        problem,
        f"{batch}T({m},{tiles[0]})@block T({n},{tiles[1]})@block S({c}) "
        f"{''.join(f'T({tap},{problem.extents[tap]}) ' for tap in taps)}T({k},{steps}) S({a}, "
        f"{depth}) S({b}, {depth}) T({m},{groups[0]})@warpgroup T({n},{groups[1]})@warpgroup U({k},4) U({m},{rows}) "
        f"U({n},1) M({m}64{n}{columns}{k}{part})",
    )


def tma_scheme(problem, *, cluster=(1, 1), takers=(1, 1), groups=(1, 1), rows=1, columns=64, depth=3, group=1):
    """`cluster` blocks, `takers` and warpgroups of each (`groups`), along rows and columns. `group` tiles of rows are
    walked before the next of columns.
    """
    conv = problem.op == "conv2d"
    m, n, k = ("nhw", "k", "c") if conv else ("m", "n", "k")
    taps = f"T(r,{problem.extents['r']}) T(s,{problem.extents['s']}) " if conv else ""
    a, b, c = (problem.broadcast.name, problem.vector.name, problem.output.name)
    batch = f"T(l,{problem.extents['l']})@cluster " if "l" in problem.extents else ""
    part = 8 if problem.dtype == "tf32" else 16
    steps = -(-problem.extents[k] // (4 * part))
    tiles = (
        -(-problem.extent(m) // (64 * rows * groups[0] * takers[0] * cluster[0])),
        -(-problem.extent(n) // (columns * groups[1] * takers[1] * cluster[1])),
    )
    own = "".join(f"T({axis},{count})@warpgroup " for axis, count in zip((m, n), takers) if count > 1)
    return parse(
        problem,
        f"{batch}T({m},{-(-tiles[0] // group)})@cluster T({n},{tiles[1]})@cluster T({m},{group})@cluster "
        f"T({m},{cluster[0]})@block T({n},{cluster[1]})@block {own}S({c}) {taps}T({k},{steps}) "
        f"S({a}, {depth}) S({b}, {depth}) T({m},{groups[0]})@warpgroup T({n},{groups[1]})@warpgroup U({k},4) "
        f"U({m},{rows}) U({n},1) M({m}64{n}{columns}{k}{part})",
    )


def product(m=200, n=136, k=200, dtype="f16", transpose_b=True, **options):
    return matmul(m=m, n=n, k=k, dtype=dtype, transpose_b=transpose_b, **options)


def image(n=2, c=16, h=9, w=10, k=40, r=3, s=3, padding=1, dtype="bf16", **options):
    return conv2d(n=n, c=c, h=h, w=w, k=k, r=r, s=s, padding=padding, dtype=dtype, filters="krsc", **options)


SYNCHRONISATION = re.compile(
    r"(?<!\w)(?:mbarrier_\w+\([^;]*|cluster_(?:arrive|wait)\(\)|fence_proxy_async\(\)|__sync\w+\(\)|wgmma_fence\(\)|"
    r"wgmma_commit\(\)|wgmma_wait\(\d\)|tma_commit\(\)|tma_wait_read\(\d\));"
)
