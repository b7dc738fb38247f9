"""Prints Winograd's algorithm as C: transforms of input and output around the products, which share one nest.

pack     U = G w G^T, in the panels that the product's scheme reads
block    V = B^T x B of its tiles ──► α² products ──► y = A^T M A, the epilogue in its stores
"""

from __future__ import annotations

from cpu.codegen.epilogue import call, compares_with_zero, epilogue_text, operand, pointers
from cpu.codegen.inside import loops_of
from cpu.codegen.operands import sizes_of
from cpu.codegen.pack import pack_lines
from cpu.codegen.transform import transform_lines
from microkernels.tile.isa import Isa
from microkernels.tile.lanes import lanes_definition, tail_definition
from tiling.loops.show import show
from tiling.rewrite.winograd import LINE_FLOATS, Matrix, Winograd, odd_lines, transforms
from tiling.rewrite.words import packed_elements, packed_lanes
from tiling.scheme import SchemeError, Tile


def facts(winograd: Winograd, isa: Isa, threads: int) -> dict:
    """What `winograd.c.j2` needs beyond a kernel's facts. Raises SchemeError for a product that has core loops."""
    product, problem, alpha, m = winograd.product, winograd.problem, winograd.alpha, winograd.m
    if any(isinstance(s, Tile) and s.worker for s in product.specifiers):
        raise SchemeError(
            f"{winograd.head}: blocks go to the cores, so the product that follows may have no @core loop"
        )
    inside = loops_of(product, isa, 1, False)
    matrices = transforms(m)
    c, k = problem.extents["c"], problem.extents["k"]
    names = [f"d{i}" for i in range(alpha)]
    return {
        "loops": _loops(winograd),
        "functions": inside.functions,
        "product": inside.body,
        "axes": inside.axes,
        "strides": inside.axes,
        "panels": [],
        "prefetches": sizes_of(product.problem, product.problem, packed_lanes(product)) if inside.cursors else [],
        "prefetch_distance": 0,
        "tail": _tails(isa, c, k),
        "epilogue": epilogue_text(problem.epilogue, isa) if problem.epilogue else None,
        "zero": bool(problem.epilogue) and compares_with_zero(problem.epilogue),
        "arrays": pointers(problem, "E"),
        "points": alpha**2,
        "alpha": alpha,
        "m": m,
        "c": c,
        "whole_c": c // isa.lanes * isa.lanes,
        "sizes": _sizes(winograd, isa, threads),
        "array_strides": [
            (f"STEP_{array.name}_{dim}", array.stride(dim))
            for array in problem.epilogue_arrays
            for dim in problem.extents
            if dim in array.dims
        ],
        "input_transform": _transform(matrices.input, names, isa),
        "output_transform": _transform(matrices.output, names, isa),
        "input_tails": _cases(c, isa),
        "output_tails": _cases(k, isa),
        "input_loads": {tail: [_input_column(isa, j, alpha, tail) for j in range(alpha)] for tail in (False, True)},
        "input_rows": [[f"t[{i * alpha + j}]" for j in range(alpha)] for i in range(alpha)],
        "input_stores": [[_plane_store(isa, i * alpha + j, j) for j in range(alpha)] for i in range(alpha)],
        "output_loads": [
            [isa.load.format(p=_plane("m", "M", i * alpha + j)) for i in range(alpha)] for j in range(alpha)
        ],
        "output_rows": [[f"t[{i * alpha + j}]" for j in range(alpha)] for i in range(m)],
        "output_stores": {
            tail: [[_output_store(winograd, isa, i, j, tail) for j in range(m)] for i in range(m)]
            for tail in (False, True)
        },
        "output_parameters": pointers(problem, "e"),
        "output_arguments": "".join(", " + _array_address(array) for array in problem.epilogue_arrays),
        "passed_arrays": "".join(f", E_{array.name}" for array in problem.epilogue_arrays),
        "weights": [", ".join(_double(value) for value in row) for row in matrices.weights],
        "weight_index": _weight_index(winograd),
        "pack_product": pack_lines(product),
    }


def packed_floats(winograd: Winograd) -> int:
    """Floats of the packed weights: U of every part and point."""
    return winograd.parts * winograd.alpha**2 * packed_elements(winograd.product)


def planes(winograd: Winograd) -> tuple[int, int]:
    """Floats from one point to the next of V and of M."""
    product = winograd.product.problem
    return tuple(odd_lines(t.elements) for t in (product.broadcast, product.output))


def scratch_floats(winograd: Winograd) -> int:
    """Floats that a worker needs beside the arrays: V, M and a padded tile."""
    patch = winograd.alpha**2 * winograd.problem.extents["c"]
    return winograd.alpha**2 * sum(planes(winograd)) + -(-patch // LINE_FLOATS) * LINE_FLOATS


def _loops(winograd: Winograd) -> list[str]:
    side = f"{winograd.alpha} x {winograd.alpha}"
    return [
        f"for {winograd.blocks} blocks of {winograd.block} tiles:  on cores",
        f"  input transform of {side} points",
        f"  for {winograd.parts} parts of {winograd.channels} output channels:  on cores",
        f"    for {side} points:",
        *(f"      {line}" for line in show(winograd.product).splitlines()),
        "    output transform, epilogue",
    ]


def _sizes(winograd: Winograd, isa: Isa, threads: int) -> list[tuple[str, int]]:
    problem = winograd.problem
    vertical, horizontal = problem.windows
    plane_v, plane_m = planes(winograd)
    product = winograd.product.problem
    return [
        *(("TILES", winograd.block), ("BLOCK_K", winograd.channels)),
        *(("TILES_H", winograd.grid[0]), ("TILES_W", winograd.grid[1]), ("ALL_TILES", winograd.all_tiles)),
        *(("PARTS", winograd.parts), ("TASKS", winograd.blocks * winograd.parts)),
        *(("C", problem.extents["c"]), ("K", problem.extents["k"])),
        *(
            ("IN_H", vertical.extent),
            ("IN_W", horizontal.extent),
            ("PAD_TOP", vertical.before),
            ("PAD_LEFT", horizontal.before),
        ),
        *(("OUT_H", problem.extents["h"]), ("OUT_W", problem.extents["w"])),
        *(("ROW_V", product.broadcast.stride("m")), ("ROW_M", product.output.stride("m"))),
        *(("PLANE_V", plane_v), ("PLANE_U", packed_elements(winograd.product)), ("PLANE_M", plane_m)),
        ("SCRATCH", scratch_floats(winograd)),
    ]


def _cases(extent: int, isa: Isa) -> list[bool]:
    """Whether whole vectors (False) and a masked last one (True) occur."""
    return [False] * (extent >= isa.lanes) + [True] * (extent % isa.lanes > 0)


def _tails(isa: Isa, c: int, k: int) -> str:
    """The definitions of TAIL for the output channels and of C_TAIL for the input channels."""
    found = [tail_definition(isa, k % isa.lanes)] if k % isa.lanes else []
    found += (
        [lanes_definition(isa, "C_TAIL", c % isa.lanes, "the last vector of x's channels")] if c % isa.lanes else []
    )
    return "\n".join(found)


def _transform(matrix: Matrix, names: list[str], isa: Isa):
    """The matrix as text, the names of the inputs, the shared sums, and the results."""
    shared, results = transform_lines(matrix, names, isa)
    width = max(len(str(value)) for row in matrix for value in row)
    return [" ".join(str(value).rjust(width) for value in row) for row in matrix], names, shared, results


def _input_column(isa: Isa, j: int, alpha: int, tail: bool) -> list[str]:
    form = isa.load_tail if tail else isa.load
    return [form.format(p=_sum("x", _times(i, "row"), _times(j, "C")), lanes="C_TAIL") for i in range(alpha)]


def _plane(base: str, name: str, point: int) -> str:
    return _sum(base, _times(point, f"PLANE_{name}"))


def _plane_store(isa: Isa, point: int, j: int) -> str:
    return isa.store.format(p=_plane("v", "V", point), v=f"r[{j}]")


def _output_store(winograd: Winograd, isa: Isa, i: int, j: int, tail: bool) -> str:
    problem = winograd.problem
    form = isa.store_tail if tail else isa.store
    arrays = []
    for array in problem.epilogue_arrays:
        moved = [_times(at, f"STEP_{array.name}_{dim}") for dim, at in (("h", i), ("w", j)) if dim in array.dims]
        arrays.append(operand(isa, problem, array, _sum(f"e_{array.name}", *moved), 0, tail))
    value = call(problem.epilogue, f"r[{j}]", arrays)
    return form.format(p=_sum("y", _times(i, "OUT_W * K"), _times(j, "K")), lanes="TAIL", v=value)


def _array_address(array) -> str:
    return _sum(f"E_{array.name}", *(f"{dim} * STEP_{array.name}_{dim}" for dim in "nhwk" if dim in array.dims))


def _weight_index(winograd: Winograd) -> str:
    w = winograd.problem.vector
    return " + ".join(
        f"{index} * {w.stride(dim)}"
        for dim, index in (("k", "(part * BLOCK_K + k)"), ("c", "c"), ("r", "r"), ("s", "s"))
    )


def _double(value) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{value.numerator}.0 / {value.denominator}"


def _times(factor: int, text: str) -> str:
    return "" if not factor else text if factor == 1 else f"{factor} * {text}"


def _sum(base: str, *terms: str) -> str:
    return " + ".join([base, *(term for term in terms if term)])
