"""Names of arrays and dims that neither C nor the file itself has taken: `int` becomes `int_`."""

from __future__ import annotations

import re
from itertools import count

from cpu.codegen.taken_names import is_taken
from tiling.program.infer import Sized
from tiling.program.language import DTYPES
from tiling.program.rename import renamed

# Names of the file, and of loops: functions of vectors by their endings, and what passes make of a name.
_WORDS = "lane each worker task outside note bits vec vec_at spread places truths constant choose dynamic arrays sum"
_OURS = frozenset(_WORDS.split())
_BEGIN = "acc|best|where|at|load|store|broadcast|across|first|quotient|remainder|constant|expm1|power|rest|program"
_END = rf"of|here|lanes|new|tail|supported|\d+|{'|'.join(DTYPES)}"
_PATTERN = re.compile(rf"({_BEGIN})_.*|.*_({_END})|({'|'.join(DTYPES)})s|[A-Z_][A-Z0-9_]*|_.*")


def with_c_names(program: Sized) -> Sized:
    """The program with names that C code may have. Names that may stay do."""
    dims, arrays = {name for name, _ in program.dims}, {a.name for a in (*program.inputs, *program.assigned)}
    strides = {f"{array}_{dim}" for array in arrays for dim in dims}
    # Any other name that ends with "_" might be what one of these is called.
    known = dims | arrays
    new_dims = {name: _free(name, known) for name in sorted(dims) if _is_taken(name)}
    known |= set(new_dims.values())
    new_arrays = {}
    for name in sorted(arrays):
        if _is_taken(name) or name in dims or name in strides:
            new_arrays[name] = _free(name, known)
            known.add(new_arrays[name])
    return renamed(program, new_arrays, new_dims)


def _is_taken(name: str) -> bool:
    return name in _OURS or is_taken(name) or _PATTERN.fullmatch(name) is not None


def _free(name: str, known: set[str]) -> str:
    """The name with as many `_` as it takes to be a new one. What begins or ends like one of ours gets a letter too."""
    letter = "" if not _PATTERN.fullmatch(f"{name}_") else "v"
    return next(new for n in count(1) if (new := f"{letter}{name}{'_' * n}") not in known)
