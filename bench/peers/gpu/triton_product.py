"""The matrix product in Triton's language. Importing this needs Triton.

Source of the ideas: Triton's tutorial on matrix multiplication (bands of tiles, rows that wrap around).
"""

import triton
import triton.language as tl


@triton.jit  # type: ignore[untyped-decorator]
def product(  # type: ignore[no-untyped-def]
    a, b, c, m, n, k,
    a_batch, a_row, a_column, b_batch, b_row, b_column, c_batch, c_row, c_column,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, BAND: tl.constexpr,
):  # fmt: skip
    """One tile of c = a·b, summed in f32; program (tile, number in the batch). Steps are in elements."""
    # A band is BAND tiles high and as wide as c. Its tiles are walked column by column. Tiles that run at the same time
    # then share rows of a and columns of b in L2.
    tile, tiles_down = tl.program_id(0), tl.cdiv(m, ROWS)
    in_band = BAND * tl.cdiv(n, COLUMNS)
    first = tile // in_band * BAND
    height = tl.minimum(tiles_down - first, BAND)
    down, across = first + tile % in_band % height, tile % in_band // height

    number = tl.program_id(1).to(tl.int64)
    rows, columns = down * ROWS + tl.arange(0, ROWS), across * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    # Beyond c's edge rows and columns begin again at 0: loads are masked along k only, and the store drops the rest.
    left = a + number * a_batch + (rows % m)[:, None] * a_row + depth[None, :] * a_column
    right = b + number * b_batch + depth[:, None] * b_row + (columns % n)[None, :] * b_column
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for done in range(0, k, DEPTH):
        inside = depth < k - done
        rows_of_a = tl.load(left, mask=inside[None, :], other=0.0)
        columns_of_b = tl.load(right, mask=inside[:, None], other=0.0)
        total = tl.dot(rows_of_a, columns_of_b, total, input_precision=PRECISION)
        left += DEPTH * a_column
        right += DEPTH * b_row
    target = c + number * c_batch + rows[:, None] * c_row + columns[None, :] * c_column
    tl.store(target, total.to(c.dtype.element_ty), mask=(rows < m)[:, None] & (columns < n)[None, :])
