"""The command `python -m bench.tiles`: the times of tile registers on this CPU, on which tile shapes are based.

Each case repeats a few statements of `microkernels.tile.amx`, as kernels contain them. It runs on one thread with data
in L1 and L2, and the fastest of several turns counts.
"""

from __future__ import annotations

import sys

from cffi import FFI

from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.library import load
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.machine.host import supports, tiles_given
from cpu.runtime.options import Parser
from microkernels.tile.isa import isa_named
from microkernels.tile.matrix import shapes_definition

TURNS, TIMES = 5, 20000
_PRODUCTS = (
    "tile_dot(tmm0, tmm4, tmm6); tile_dot(tmm1, tmm4, tmm7); tile_dot(tmm2, tmm5, tmm6); tile_dot(tmm3, tmm5, tmm7);"
)
_STORES = " ".join(f"tile_store(tmm{t}, Y + {1024 * t}, 64);" for t in range(4))


def _step(offset: int = 0) -> str:
    """A step of 2 runs of 16 rows by 2 vectors, number `s` of 36; x so many bytes off a cache line."""
    x = [f"tile_load(tmm{4 + run}, X + {7168 * run + offset} + s * 64, 448);" for run in range(2)]
    w = [f"tile_load(tmm{6 + v}, W + s * 2048 + {1024 * v}, 64);" for v in range(2)]
    return " ".join((*x, *w, _PRODUCTS))


def _steps(inside: str) -> str:
    return f"for (long s = 0; s < 36; ++s) {{ {inside} }}"


def _runs() -> str:
    """A step of 4 runs by 1 vector, rows of x side by side."""
    x = [
        f"tile_load(tmm{5 + r % 3}, X + s * 64 + {1024 * r}, 64); tile_dot(tmm{r}, tmm{5 + r % 3}, tmm4);"
        for r in range(4)
    ]
    return " ".join(("tile_load(tmm4, W + s * 1024, 64);", *x, "stay_awake();"))


# Each case, with the rows of the tile registers of sums and of x.
CASES = {
    "four products of 16 rows": (16, _PRODUCTS),
    "36 steps of four products, their x and weights loaded": (16, _steps(_step())),
    "the same, x 16 bytes off a cache line": (16, _steps(_step(16))),
    "36 steps, their sums stored": (16, f"{_steps(_step())} {_STORES}"),
    "the same, a vector multiplied in each step": (16, f"{_steps(_step() + ' stay_awake();')} {_STORES}"),
    "36 steps of four runs of 16 rows by one vector": (16, _steps(_runs())),
    "the same, runs of 12 rows": (12, _steps(_runs())),
    "the same, runs of 9 rows": (9, _steps(_runs())),
    "the same, runs of 7 rows": (7, _steps(_runs())),
    "shapes of the registers loaded": (16, "shaped(&SHAPES_16, 0);"),
}

_PROGRAM = """
#include <time.h>

static _Alignas(64) char X[1 << 16], W[1 << 18], Y[1 << 13];
SHAPES

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Nanoseconds of one repetition. All pages are written first: untouched ones are one and the same page of zeros. */
double tiles_timed(int which, long times)
{
    memset(X, 1, sizeof X), memset(W, 1, sizeof W), memset(Y, 1, sizeof Y);
    if (!tiles_given()) return -1;
    double begin = 0;
    switch (which) {
CASES
    }
    const double took = now() - begin;
    tiles_end();
    return took / times;
}
"""


def _shapes(rows: int) -> str:
    """Gives all tile registers so many rows. Register 4 holds weights, so it has 16."""
    return shapes_definition(f"SHAPES_{rows}", tuple((16 if register == 4 else rows, 64) for register in range(8)))


def measured() -> dict[str, float]:
    """Nanoseconds of each case. Raises ToolchainError, CacheError."""
    isa, ffi = isa_named("amxbf16"), FFI()
    ffi.cdef("double tiles_timed(int which, long times);")
    arms = [
        f"    case {n}: shaped(&SHAPES_{rows}, 0); begin = now(); for (long i = 0; i < times; ++i) {{ {text} }} break;"
        for n, (rows, text) in enumerate(CASES.values())
    ]
    shapes = [_shapes(rows) for rows in sorted({rows for rows, _ in CASES.values()})]
    assert isa.matrix is not None
    definition = isa.matrix.definition
    program = _PROGRAM.replace("SHAPES\n", "\n".join(shapes), 1).replace("CASES", "\n".join(arms))
    text = "\n".join([isa.prologue, "#include <string.h>", definition, program])
    library = load(text, isa.compiler_flags, ffi.dlopen, False)
    turns = [[library.tiles_timed(n, TIMES) for n in range(len(CASES))] for _ in range(TURNS)]
    return dict(zip(CASES, map(min, zip(*turns))))


def main(arguments: list[str] | None = None) -> int:
    """Prints a line a case and returns the exit code. 1: this CPU has no tile registers."""
    Parser(
        "python -m bench.tiles", description="Times the instructions of tile registers; needs a CPU with AMX."
    ).parse_args(arguments)
    if not supports(isa_named("amxbf16").cpu_flags) or not tiles_given():
        print("this CPU has no tile registers (AMX), or the system does not give them to this process", file=sys.stderr)
        return 1
    try:
        found = measured()
    except (ToolchainError, CacheError) as error:
        print(error, file=sys.stderr)
        return 1
    for case, nanoseconds in found.items():
        print(f"{nanoseconds:9.1f} ns  {case}")
    return 0
