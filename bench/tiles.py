"""`python -m bench.tiles`: what tile registers take on this CPU: figures that the tiles of matrix instructions rest on.

Each case is a few statements of `microkernels.amx`, as kernels contain them, repeated; the fastest of several turns
counts, on one thread and data in L1 and L2.
"""

from __future__ import annotations

import argparse
import sys

from cffi import FFI

from cpu.cache import CacheError
from cpu.host import supports, tiles_given
from cpu.library import load
from cpu.toolchain import ToolchainError
from microkernels.isa import isa_named

TURNS, TIMES = 5, 20000
_PRODUCTS = "tile_dot(0, 4, 6); tile_dot(1, 4, 7); tile_dot(2, 5, 6); tile_dot(3, 5, 7);"
_STORES = " ".join(f"tile_store({t}, Y + {1024 * t}, 64);" for t in range(4))


def _step(offset: int = 0) -> str:
    """A step of 2 runs of 16 rows by 2 vectors, number `s` of 36; x so many bytes off a cache line."""
    x = [f"tile_load({4 + run}, X + {7168 * run + offset} + s * 64, 448);" for run in range(2)]
    w = [f"tile_load({6 + v}, W + s * 2048 + {1024 * v}, 64);" for v in range(2)]
    return " ".join((*x, *w, _PRODUCTS))


def _steps(inside: str) -> str:
    return f"for (long s = 0; s < 36; ++s) {{ {inside} }}"


CASES = {
    "four products of 16 rows": _PRODUCTS,
    "36 steps of four products, their x and weights loaded": _steps(_step()),
    "the same, x 16 bytes off a cache line": _steps(_step(16)),
    "36 steps, their sums stored": f"{_steps(_step())} {_STORES}",
    "the same, a vector multiplied in each step": f"{_steps(_step() + ' stay_awake();')} {_STORES}",
    "shapes of the registers loaded": "shaped(&SHAPES, 0);",
}

_PROGRAM = """
#include <time.h>

static _Alignas(64) char X[1 << 16], W[1 << 18], Y[1 << 13];
static const struct shapes SHAPES = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

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
    shaped(&SHAPES, 0);
    const double begin = now();
    switch (which) {
CASES
    }
    const double took = now() - begin;
    tiles_end();
    return took / times;
}
"""


def measured() -> dict[str, float]:
    """Nanoseconds of each case. Raises ToolchainError, CacheError."""
    isa, ffi = isa_named("amxbf16"), FFI()
    ffi.cdef("double tiles_timed(int which, long times);")
    arms = [
        f"    case {n}: for (long i = 0; i < times; ++i) {{ {text} }} break;" for n, text in enumerate(CASES.values())
    ]
    definition = isa.matrix.definition.format(bytes=isa.matrix.bytes)
    text = "\n".join([isa.prologue, "#include <string.h>", definition, _PROGRAM.replace("CASES", "\n".join(arms))])
    library = load(text, isa.compiler_flags, ffi.dlopen, False)
    turns = [[library.tiles_timed(n, TIMES) for n in range(len(CASES))] for _ in range(TURNS)]
    return dict(zip(CASES, map(min, zip(*turns))))


def main(arguments: list[str] | None = None) -> int:
    """Prints a line a case; 1 where this CPU has no tile registers."""
    argparse.ArgumentParser("python -m bench.tiles", description=__doc__.splitlines()[0]).parse_args(arguments)
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


if __name__ == "__main__":
    sys.exit(main())
