"""Names of arrays and dims that neither C nor the file itself has taken: `int` becomes `int_`."""

from __future__ import annotations

import re

from cpu.runtime.taken_names import is_taken
from tiling.program.infer import Sized
from tiling.program.language import DTYPES
from tiling.program.rewrite.free_names import with_free_names

# Names of the file, and of loops: functions of vectors by their endings, and what passes make of a name.
_WORDS = """
    extent lane each worker task thread threads scratch outside note bits vec vec_at spread places truths constant
    choose dynamic arrays sum packed laid next
"""
_OURS = frozenset([*_WORDS.split(), "positions", "transposed", "transposed_to", "typeof", "row", "place"])
_BEGIN = "acc|best|where|at|load|store|broadcast|across|first|quotient|remainder|constant|expm1|power|rest|program"
_END = f"extent|of|here|lanes|new|tail|supported|block|begin|run|grown|now|part|walked|{'|'.join(DTYPES)}"
_PATTERN = re.compile(rf"({_BEGIN})_.*|.*_of_.*|.*_({_END})|.*_\w*\d|({'|'.join(DTYPES)})s|[A-Z_][A-Z0-9_]*|_.*")


def with_c_names(program: Sized) -> Sized:
    """The program with names that C code may have. Names that may stay do."""
    return with_free_names(program, _is_taken)


def _is_taken(name: str) -> bool:
    return name in _OURS or is_taken(name) or _PATTERN.fullmatch(name) is not None
