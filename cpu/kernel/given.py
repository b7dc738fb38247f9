"""Which array of a call is which, by place and by name; and the extents that the shapes of arrays tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cpu.runtime.plural import plural
from tiling.arguments import ArgumentError
from tiling.problem import Problem
from tiling.program.infer import Array, Sized
from tiling.program.runtime import extent_name, solved
from tiling.tensor import Tensor


def epilogue_arrays_of_call(
    problem: Problem, given: Sequence[object], named: Mapping[str, object]
) -> list[tuple[Tensor, object]]:
    """What a call gives for each array of the epilogue, in its order. Raises ArgumentError."""
    tensors = problem.epilogue_arrays
    names = [tensor.name for tensor in tensors]
    if len(given) > len(tensors):
        follow = "1 array follows" if len(given) == 1 else f"{len(given)} arrays follow"
        takes = f"epilogue takes {' and '.join(names) or 'no array'}"
        first, second = problem.broadcast.called, problem.vector.called
        raise ArgumentError(f"{follow} {first} and {second}, but this kernel's {takes}; the output goes into out=…")
    found = dict(zip(names, given))
    for name, array in named.items():
        if name in found:
            raise ArgumentError(f"{name} is given twice")
        found[name] = array
    # A misspelt name is unknown, and its array is missing. The message is about the name that the caller wrote.
    unknown = found.keys() - set(names)
    if unknown:
        arrays = " ".join(names) or "none"
        raise ArgumentError(f"this kernel has no argument {min(unknown)!r}; the arrays of its epilogue: {arrays}")
    missing = [name for name in names if name not in found]
    if missing:
        needs = f"needs {' and '.join(missing)}: pass {missing[0]}=…"
        raise ArgumentError(f"the epilogue {problem.epilogue} {needs}")
    return [(tensor, found[tensor.name]) for tensor in tensors]


def inputs_of_call(inputs: Sequence[Array], arrays: Sequence[object], named: Mapping[str, object]) -> list[object]:
    """What a call gives for each input, in the order of the inputs. Raises ArgumentError."""
    names = [array.name for array in inputs]
    takes = f"the program takes {', '.join(names) or 'no arrays'}"
    if len(arrays) > len(names):
        raise ArgumentError(f"the call gives {plural(len(arrays), 'arrays')}, but {takes}; outputs go into out=…")
    found = dict(zip(names, arrays))
    for name, value in named.items():
        if name in found:
            raise ArgumentError(f"{name} is given twice")
        if name not in names:
            raise ArgumentError(f"there is no input {name}: {takes}")
        found[name] = value
    missing = [name for name in names if name not in found]
    if missing:
        raise ArgumentError(f"{missing[0]} is missing: {takes}")
    return [found[name] for name in names]


def outputs_of_call(outputs: Sequence[Array], out: object) -> list[object]:
    """What `out` gives for each output: an array, or a dict of arrays by name. Raises ArgumentError."""
    if len(outputs) == 1 and not isinstance(out, dict):
        return [out]
    names = [array.name for array in outputs]
    given = out if isinstance(out, dict) else {names[0]: out} if len(names) == 1 else {}
    if set(given) != set(names):
        raise ArgumentError(
            f"out must be {'an array' if len(names) == 1 else 'a dict of arrays'} for {', '.join(names)}"
        )
    return [given[name] for name in names]


def runtime_extents(program: Sized, arrays: Sequence[Array], shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
    """The extent of each runtime dim, from the shapes of arrays. Raises ArgumentError where shapes disagree."""
    told: dict[str, tuple[int, str]] = {}
    for array, shape in zip(arrays, shapes):
        for size, length in zip(array.sizes, shape) if len(shape) == len(array.sizes) else ():
            name, points = solved(size, length) or ("", 0)
            before, where = told.setdefault(name, (points, array.name))
            if name and before != points:
                dim = next(dim for dim in program.runtime if extent_name(dim) == name)
                raise ArgumentError(f"dim {dim} has two extents, {before} in {where} and {points} in {array.name}")
    found = {}
    for dim in program.runtime:
        points, where = told.get(extent_name(dim), (0, ""))
        most = program.extents[dim]
        if not where:
            raise ArgumentError(f"no shape that is given tells how many points dim {dim} has: pass out=…, which does")
        if not 1 <= points <= most:
            raise ArgumentError(f"dim {dim} has {points} points in {where}, but this kernel takes 1 to {most}")
        found[dim] = points
    return found
