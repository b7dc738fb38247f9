"""The headers of saved kernels, for a product and for a program."""

from __future__ import annotations

from collections.abc import Sequence

from cpu.codegen.frame.call import OR_OUTSIDE, OUT_OF_BOUNDS, TEAM_PARAMETERS
from cpu.codegen.frame.frames import TEMPLATES
from cpu.runtime.numbers import ELEMENTS
from microkernels.tile.isa_row import Isa
from tiling.problem import Problem


def kernel_header(
    problem: Problem,
    elements: tuple[str, str, str],
    scheme: str,
    symbol: str,
    isa: Isa,
    threads: int,
    packed: int,
    scratch: int | None,
    run: Sequence[str],
    residuals: Sequence[str],
    packs_in_team: bool,
) -> str:
    """The header of a product's kernel.

    elements: the formats of x, the weights and the output. packed: how many numbers the packed weights have. scratch:
    bytes that SYMBOL_run asks for; None where that is not known. run: its parameters. residuals: the arrays of the
    epilogue that may be the output itself. packs_in_team: threads share SYMBOL_pack_run.
    """
    tensors = problem.broadcast, problem.vector, problem.output
    _, w, _ = types = [ELEMENTS[name].c for name in elements]
    names = [tensor.name for tensor in tensors]
    arrays = [(t.name, t, f"of {dtype}") for t, dtype in zip(tensors, elements)]
    arrays += [(f"e_{a.name}", a, f"of f32, {a.name} of the epilogue") for a in problem.epilogue_arrays]
    product, weights = f"{names[0]} * {names[1]}", f"const {w} *{names[1]}, {w} *packed"
    text: str = TEMPLATES.get_template("kernel.h.j2").render(
        problem=str(problem),
        scheme=scheme,
        symbol=symbol,
        needs=", ".join(isa.cpu_flags) or "nothing special",
        runs_on=threads_text(threads),
        about_memory=[_TAKES_MEMORY] * (scratch != 0),
        but_may_be=f", but may be e_{' or e_'.join(residuals)} itself" if residuals else "",
        arrays=[f"{name}: {' x '.join(map(str, a.shape))}, {a.elements} {of}" for name, a, of in arrays],
        about_elements=[_BF16] * ("bf16" in elements),
        includes=["#include <stdint.h>", ""] * (types[0] != "float"),
        weights=weights,
        pack_run=_pack_run_lines(symbol, weights) if packs_in_team else [],
        packed=packed,
        computes=f"{problem.epilogue} with y = {product}" if problem.epilogue else f"{names[2]} = {product}",
        parameters=call_parameters(problem, elements),
        run=[] if scratch is None else _run_lines(symbol, threads, scratch, run),
    )
    return text


def call_parameters(problem: Problem, elements: tuple[str, str, str]) -> list[str]:
    """The parameters of a call, as a header names them: those of a convolution are x, packed, y, and e_b for a bias b.

    elements: the formats of x, the weights and the output.
    """
    x, w, y = (ELEMENTS[name].c for name in elements)
    arrays = [f"const float *e_{array.name}" for array in problem.epilogue_arrays]
    return [f"const {x} *{problem.broadcast.name}", f"const {w} *packed", f"{y} *{problem.output.name}", *arrays]


_TAKES_MEMORY = " * A call takes memory of its own meanwhile; where there is none it ends the program with a sentence."
_BF16 = " * A bf16 is the upper half of the float of the same value."
_ELEMENTS = {"bf16": _BF16, "f16": " * An f16 is the 16 bits of a half float.", "bool": " * A bool is a byte, 0 or 1."}


def _run_lines(symbol: str, threads: int, scratch: int, run: Sequence[str]) -> list[str]:
    """The comment and the declaration of SYMBOL_run in a header."""
    return [
        "",
        "/* Bytes of memory, from a cache line on, that a call needs meanwhile. */",
        f"#define {symbol.upper()}_SCRATCH {scratch}L",
        "",
        f"/* The same for a caller that has {_of_its_own(threads)}. */",
        f"void {symbol}_run({', '.join(run)});",
    ]


def _pack_run_lines(symbol: str, weights: str) -> list[str]:
    """The comment and the declaration of SYMBOL_pack_run in a header."""
    return [
        "",
        "/* The same for a caller that has threads of its own: packs the part of thread `thread` of `threads`. All",
        " * weights are packed when each of these threads has made this call. */",
        f"void {symbol}_pack_run({', '.join([weights, *TEAM_PARAMETERS])});",
    ]


def program_header(
    program: Sequence[str],
    arrays: Sequence[str],
    numbers: Sequence[tuple[str, int]],
    symbol: str,
    isa: Isa,
    threads: int,
    scratch: int,
    parameters: Sequence[str],
    run: Sequence[str],
    reports: bool,
) -> str:
    """The header of a program's kernel.

    program, arrays: the lines that say what it computes, and from which arrays. numbers: (name, largest value) of its
    extents. scratch: bytes that SYMBOL_run asks for at most. parameters, run: the parameters of SYMBOL and of
    SYMBOL_run; extents come last. reports: SYMBOL may return 1.
    """
    extents = bool(numbers)
    text: str = TEMPLATES.get_template("program.h.j2").render(
        program=program,
        arrays=arrays,
        about_extents=about_extents("a", numbers),
        runs_on=threads_text(threads) + (f", on CPUs with {', '.join(isa.cpu_flags)}" if isa.cpu_flags else ""),
        symbol=symbol,
        about_elements=[line for dtype, line in _ELEMENTS.items() if any(f" {dtype}[" in array for array in arrays)],
        returns=f"Returns 0{OR_OUTSIDE * reports}{OUT_OF_BOUNDS * extents}.",
        parameters=[*parameters, *(f"long {name}" for name, _ in numbers)],
        and_extents=", and then of the places of the extents" * extents,
        at_most=" at most" * extents,
        scratch=scratch,
        of_its_own=_of_its_own(threads),
        tests_neither="neither the CPU nor the extents" if extents else "no CPU",
        run=", ".join(run) or "void",
    )
    return text


def threads_text(threads: int) -> str:
    """`2 threads`."""
    return f"{threads} thread{'s' * (threads > 1)}"


def about_extents(whose: str, numbers: Sequence[tuple[str, int]]) -> list[str]:
    """The lines of a comment on the extents of `whose` call."""
    lines = [" *", f" * Extents of {whose} call:"] * bool(numbers)
    return lines + [f" *     {name}: from 1 to {most}" for name, most in numbers]


def _of_its_own(threads: int) -> str:
    """The comment on what a caller of SYMBOL_run must have, and what the function does with it."""
    if threads == 1:
        return "memory of its own"
    does = f"what thread `thread` of `threads` does, at most {threads}, which are one\n * team of OpenMP"
    return f"memory and threads of its own: {does} and all make this call"
