"""Names of arrays and dims that neither CUDA nor the device layer has taken: `int` becomes `int_`."""

from __future__ import annotations

import re

from cpu.runtime.taken_names import is_taken
from gpu.passes.facts.workers import WORKERS
from tiling.program.infer import Sized
from tiling.program.language import DTYPES
from tiling.program.rewrite.free_names import with_free_names

_WORDS = "row point turn part each outside report threadIdx blockIdx four lane at main "
_WORDS += "kernel stream folder error memory arguments"
_OURS = frozenset([*WORKERS, *_WORDS.split()])
_BEGIN = "acc|best|where|at|get|put|across|from|round|program|tilewright|twin|load|store|cp|mma|ldmatrix"
_END = f"extent|of|each|warp|parts|wide|begin|run|grown|number|{'|'.join(DTYPES)}"
_PATTERN = re.compile(rf"({_BEGIN})\w*_.*|.*_({_END})|.*_\w*\d|[A-Z_][A-Z0-9_]*|_.*")


def with_cuda_names(program: Sized) -> Sized:
    """The program with names that the text may have. Names that may stay do."""
    return with_free_names(program, _is_taken)


def _is_taken(name: str) -> bool:
    return name in _OURS or is_taken(name) or _PATTERN.fullmatch(name) is not None
