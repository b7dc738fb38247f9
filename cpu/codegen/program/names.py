"""Names of arrays and dims that neither C nor the file itself has taken: `int` becomes `int_`."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

from cpu.runtime.taken_names import is_taken
from tiling.program.infer import Sized
from tiling.program.language import DTYPES
from tiling.program.rewrite.rename import renamed

# Names of the file, and of loops: functions of vectors by their endings, and what passes make of a name.
_WORDS = """
    extent lane each worker task thread threads scratch outside note bits vec vec_at spread places truths constant
    choose dynamic arrays sum packed laid next
"""
_OURS = frozenset([*_WORDS.split(), "positions", "transposed", "typeof", "row", "place"])
_BEGIN = "acc|best|where|at|load|store|broadcast|across|first|quotient|remainder|constant|expm1|power|rest|program"
_END = f"extent|of|here|lanes|new|tail|supported|block|begin|run|grown|{'|'.join(DTYPES)}"
_PATTERN = re.compile(rf"({_BEGIN})_.*|.*_of_.*|.*_({_END})|.*_\w*\d|({'|'.join(DTYPES)})s|[A-Z_][A-Z0-9_]*|_.*")


def with_c_names(program: Sized) -> Sized:
    """The program with names that C code may have. Names that may stay do."""
    dims = [name for name, _ in program.dims]
    arrays = [array.name for array in (*program.inputs, *program.assigned)]
    axes = max((len(array.shape) for array in (*program.inputs, *program.assigned)), default=0)
    new_dims: dict[str, str] = {}
    # No new name may be an old one that comes later.
    taken = {*dims, *arrays}
    for dim in dims:
        new_dims[dim] = dim if not _is_taken(dim) else _free(dim, lambda name: name not in taken)
        taken.add(new_dims[dim])
    walked = [*new_dims.values(), *(f"axis{axis}" for axis in range(axes))]
    new_arrays: dict[str, str] = {}
    used = set(new_dims.values())  # dims, arrays, and the strides of arrays

    def is_free(name: str, own: str) -> bool:
        strides = {f"{name}_{dim}" for dim in walked}
        others = taken - {own} if name == own else taken
        return (
            name not in used
            and name not in strides
            and used.isdisjoint(strides)
            and others.isdisjoint({name, *strides})
        )

    for array in arrays:
        stays = not _is_taken(array) and is_free(array, array)
        name = array if stays else _free(array, lambda new, old=array: is_free(new, old))  # type: ignore[misc]
        new_arrays[array] = name
        used |= {name, *(f"{name}_{dim}" for dim in walked)}
    return renamed(program, new_arrays, new_dims)


def _is_taken(name: str) -> bool:
    return name in _OURS or is_taken(name) or _PATTERN.fullmatch(name) is not None


def _free(name: str, is_free: Callable[[str], bool]) -> str:
    """The name with as many `_` as it takes to be a new one. What begins or ends like one of ours gets a letter too."""
    letter = "" if not _PATTERN.fullmatch(f"{name}_") else "v"
    return next(new for n in count(1) if is_free(new := f"{letter}{name}{'_' * n}"))
