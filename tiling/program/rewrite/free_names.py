"""A program with names of arrays and dims that generated code may use: `int` becomes `int_`.

Generated code also has names such as `x_i`, the stride of x along i.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

from tiling.program.infer import Sized
from tiling.program.rewrite.rename import renamed


def with_free_names(program: Sized, is_taken: Callable[[str], bool]) -> Sized:
    """The program with names that are not taken. Names that may stay do."""
    dims = [name for name, _ in program.dims]
    arrays = [array.name for array in (*program.inputs, *program.assigned)]
    axes = max((len(array.shape) for array in (*program.inputs, *program.assigned)), default=0)
    new_dims: dict[str, str] = {}
    # No new name may be an old one that comes later.
    taken = {*dims, *arrays}
    for dim in dims:
        new_dims[dim] = dim if not is_taken(dim) else _free(dim, is_taken, lambda name: name not in taken)
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
        stays = not is_taken(array) and is_free(array, array)
        name = array if stays else _free(array, is_taken, partial(is_free, own=array))
        new_arrays[array] = name
        used |= {name, *(f"{name}_{dim}" for dim in walked)}
    return renamed(program, new_arrays, new_dims)


def _free(name: str, is_taken: Callable[[str], bool], is_free: Callable[[str], bool]) -> str:
    """The name with enough `_` added to be new. A name that is taken whatever follows it gets a letter too."""
    letter = "v" if is_taken(f"{name}_") else ""
    return next(new for n in count(1) if is_free(new := f"{letter}{name}{'_' * n}"))
