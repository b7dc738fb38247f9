"""How a lane loads the arrays that an epilogue names. It loads each number once, however many of its sums need it."""

from __future__ import annotations

from collections.abc import Callable

from gpu.codegen.copies.operand import global_offset
from gpu.codegen.pipeline.residual import residual_of
from gpu.codegen.pipeline.stages import Pipeline
from tiling.tensor import Affine, Tensor

# A lane holds pairs of neighbouring columns in each of its rows. So it reads an array in one of these ways:
#     columns   b: a pair for every tile of columns, which all rows share
#     rows      one number for every row
#     points    z: a pair for every pair of sums
# staged    z in a TMA pipeline: a pair from the shared memory to which TMA copied it (`gpu.codegen.pipeline.residual`)
# A pair is one access where its elements lie side by side, at a multiple of the pair's size.
KINDS = ("columns", "rows", "points", "staged")


def kind_of(pipeline: Pipeline, array: Tensor) -> str:
    """One of KINDS."""
    if pipeline.tma and array == residual_of(pipeline.problem):
        return "staged"
    rows, columns, _ = pipeline.axes
    if columns not in array.dims:
        return "rows"
    return "points" if array.dims & set(rows) else "columns"


def arrays_by_kind(pipeline: Pipeline) -> dict[str, list[str]]:
    """The names of the arrays that are read in each way."""
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for array in pipeline.problem.epilogue_arrays:
        found[kind_of(pipeline, array)].append(array.name)
    return found


def loading_lines(pipeline: Pipeline) -> list[str]:
    """The functions `load_e_NAME`, one for each array that threads load from global memory."""
    arrays = [(array, kind_of(pipeline, array)) for array in pipeline.problem.epilogue_arrays]
    return [line for array, kind in arrays if kind != "staged" for line in ("", *_loading(pipeline, array, kind))]


def finished(pipeline: Pipeline, places: dict[str, str]) -> Callable[[int], str]:
    """A function that gives, for element 0 or 1 of a lane's pair, the text of its value after the epilogue.

    `places` gives for each kind the index into the pairs, or numbers, that the lane has loaded.
    """
    problem = pipeline.problem
    arrays = [(f"v_{a.name}", kind_of(pipeline, a)) for a in problem.epilogue_arrays]

    def finish(element: int) -> str:
        value = f"sum[i][j][2 * half{' + 1' if element else ''}]"
        pairs = {kind: "" if kind == "rows" else f"[{element}]" for kind in KINDS}
        given = "".join(f", {name}{places[kind]}{pairs[kind]}" for name, kind in arrays)
        return f"epilogue({value}{given})" if problem.epilogue else value

    return finish


def _loading(pipeline: Pipeline, array: Tensor, kind: str) -> list[str]:
    problem, (rows, columns, _) = pipeline.problem, pipeline.axes
    axes = {"columns": (columns,), "rows": (rows,), "points": (rows, columns)}[kind]
    found, offset = global_offset(problem, array, (rows, columns))
    extents = pipeline.scheme.extents
    inside = " && ".join(f"{axis} < {extents[axis]}" for axis in axes if pipeline.over_the_edge(axis))
    place = f"e_{array.name} + ({offset or '0'})"
    points = "".join(f", unsigned {axis}" for axis in axes)
    beyond = "; 0 past the edge" if inside else ""
    load = f"load_{problem.output_dtype}"
    value = f"{inside} ? {load}({place}) : 0.0f" if inside else f"{load}({place})"
    if kind == "rows":
        head = f"DEVICE float load_e_{array.name}(const output_t *e_{array.name}{points})"
        return [f"/* {array.name} of a row{beyond}. */", head, "{", *_indented([*found, f"return {value};"]), "}"]
    if _side_by_side(pipeline, array):
        body = [*found, f"{load}_pair(to, {place});"]
        if inside:
            guarded = [f"if ({inside}) {{", *_indented(body), "}"] if found else [f"if ({inside})", *_indented(body)]
            body = ["to[0] = to[1] = 0;", *guarded]
    else:
        body = ["#pragma unroll", f"for (unsigned e = 0; e < 2; ++e, ++{columns}) {{"]
        body += [*_indented([*found, f"to[e] = {value};"]), "}"]
    head = f"DEVICE void load_e_{array.name}(float *to, const output_t *e_{array.name}{points})"
    return [f"/* {array.name} at two neighbouring columns{beyond}. */", head, "{", *_indented(body), "}"]


def _side_by_side(pipeline: Pipeline, array: Tensor) -> bool:
    """Whether every pair of columns lies side by side and aligned: the number of columns is even, so that every row
    begins at an even element.
    """
    columns = pipeline.axes[1]
    return array.indices[-1] == Affine(((columns, 1),)) and pipeline.scheme.extents[columns] % 2 == 0


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
