"""A register tile, and the grammar of its name: `parse(str(k)) == k`.

`DTYPE_OP_ukernel_TILE[_sSTRIDE]__ISA`, where TILE joins EXTENT+DIM by `x`: output rows first, then the vectorised
dim, then unrolled reductions. Extents are in points. XNNPACK names its kernels in this spirit.
"""

#     f32_conv2d_ukernel_14wx32k_s1__avx512f        14 outputs along w × 32 along k, stride 1, r and s looped
#     f32_conv2d_ukernel_2hx7wx32kx3s_s2__avx512f   2×7 outputs × 32, the 3 taps of s unrolled, stride 2
#     f32_depthwise2d_ukernel_2hx7wx16cx3rx3s_s1__avx512f   2×7 outputs of 16 channels, all taps of 3×3 unrolled
#     f32_grouped2d_ukernel_14wx16kx3sx4c_s1__avx512f       14 outputs of 16 channels, 3 taps, 4 channels of a group
#     f32_matmul_ukernel_12mx32n__avx512f           12 rows × 32 columns
#     f32_pointwise2d_ukernel_14kx32w__avx512f      14 output channels × 32 pixels
#     bf16_conv2d_ukernel_14wx32k_s1__avx512bf16    14 × 32 of bf16; an unrolled c counts dot groups

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod

from microkernels.tile.isa import ISAS_OF, isa_named
from tiling.arrays.access import access_of
from tiling.problem import Problem


@dataclass(frozen=True)
class Operator:
    """What the tiles of an operator are made of. The dims are listed in the order of a name.

    as_conv: the dims of the convolution tile that a tile is measured as; empty where it is measured itself. lanewise:
    whether x is read by vectors (`Access.lanewise`). exchange_dim: the dim of the channels of a group, where each lane
    meets all of them (`tiling.rewrite.grouped`).
    """

    rows: tuple[str, ...]
    vector: str
    reductions: tuple[str, ...]
    as_conv: Mapping[str, str] = field(default_factory=dict)
    lanewise: bool = False
    exchange_dim: str = ""


# A matmul tile of m rows × n vectors is a stride-1 convolution tile of w rows × k vectors under other names. The
# emitter writes the same loads and FMAs, so it is not measured again. Nor is a pointwise2d tile of k rows × w vectors,
# although its vectors come from x, nor a conv3d tile: rows along d lie apart as those of several images do.
OPERATORS = {
    "conv2d": Operator(("n", "h", "w"), "k", ("c", "r", "s")),
    "depthwise2d": Operator(("n", "h", "w"), "c", ("r", "s"), lanewise=True),
    "grouped2d": Operator(("n", "h", "w"), "k", ("r", "s", "c"), lanewise=True, exchange_dim="c"),
    "conv3d": Operator(
        ("n", "d", "h", "w"), "k", ("c", "q", "r", "s"), {**{dim: dim for dim in "nhwcrs"}, "d": "n", "q": "r"}
    ),
    "matmul": Operator(("m",), "n", ("k",), {"m": "w", "k": "c"}),
    "pointwise2d": Operator(("k",), "w", ("c",), {"k": "w", "c": "c"}),
}
# The operator whose tiles are measured for each operator.
RANKED_AS = {op: "conv2d" if operator.as_conv else op for op, operator in OPERATORS.items()}
# The operator of tiles with exchanges where a dot group holds all channels of a group: then no lanes are exchanged.
_NOTHING_EXCHANGED = "depthwise2d"
_NAME = re.compile(
    "(" + "|".join(ISAS_OF) + r")_([a-z0-9]+)_ukernel_([0-9a-z]+?)(?:_s([1-9][0-9]{0,5}))?__([a-z0-9]+)\Z"
)
_FACTOR = re.compile(r"([1-9][0-9]{0,5})([a-z])\Z")


@dataclass(frozen=True)
class Microkernel:
    """The register tile of an operator on an instruction set.

    rows: output points unrolled per row dim; vectors: vector registers along the vectorised dim; unrolled: points
    unrolled per reduction dim. Factors of 1 are left out. stride: the convolution's along w (and h).
    """

    op: str
    isa: str
    rows: tuple[tuple[str, int], ...]
    vectors: int
    unrolled: tuple[tuple[str, int], ...] = ()
    stride: int = 1

    def __post_init__(self) -> None:
        if self.op not in OPERATORS:
            raise ValueError(f"unknown operator {self.op!r}; known are {', '.join(OPERATORS)}")
        isa_named(self.isa)
        for factors, dims in ((self.rows, self.operator.rows), (self.unrolled, self.operator.reductions)):
            ordered = tuple(d for d in dims if d in dict(factors))
            if tuple(d for d, _ in factors) != ordered or any(extent < 2 for _, extent in factors):
                raise ValueError(f"{factors}: expected factors of at least 2 over {' '.join(dims)}, in this order")
        if self.vectors < 1 or self.stride < 1:
            raise ValueError(f"vectors={self.vectors} and stride={self.stride} must be at least 1")
        # One dot group of narrow numbers may hold all channels of a group.
        fewest = 2 if isa_named(self.isa).numbers is None else 1
        if self.exchanges and (self.group_size < fewest or isa_named(self.isa).lanes % self.group_size):
            raise ValueError(
                f"{self.op}: groups of c={self.group_size} channels do not fill {isa_named(self.isa).lanes} lanes"
            )

    @property
    def operator(self) -> Operator:
        return OPERATORS[self.op]

    @property
    def dtype(self) -> str:
        """The dtype that the microkernel multiplies."""
        return isa_named(self.isa).dtype

    @property
    def name(self) -> str:
        lanes = isa_named(self.isa).lanes
        factors = (*self.rows, (self.operator.vector, self.vectors * lanes), *self.unrolled)
        tile = "x".join(f"{extent}{dim}" for dim, extent in factors)
        stride = f"_s{self.stride}" if self.has_stride else ""
        return f"{self.dtype}_{self.op}_ukernel_{tile}{stride}__{self.isa}"

    def __str__(self) -> str:
        return self.name

    @property
    def measured_as(self) -> Microkernel:
        """The tile whose measurement stands for this one: itself, or the equal tile of the operator in RANKED_AS.

        It is one of the instruction set whose FMAs take as long. Where a dot group holds all channels of a group, it is
        the depthwise tile.
        """
        ranked, isa = RANKED_AS[self.op], self.isa if isa_named(self.isa).matrix else isa_named(self.isa).ranked
        if self.exchanges and self.group_size == 1:
            return replace(self, isa=isa, op=_NOTHING_EXCHANGED)
        if ranked == self.op:
            return self if isa == self.isa else replace(self, isa=isa)
        measured = OPERATORS[ranked]
        rows, unrolled = self._renamed(self.rows, measured.rows), self._renamed(self.unrolled, measured.reductions)
        return replace(self, isa=isa, op=ranked, rows=rows, unrolled=unrolled)

    @property
    def row_count(self) -> int:
        """Output rows that the tile holds, over all row dims."""
        return prod(extent for _, extent in self.rows)

    @property
    def lanewise(self) -> bool:
        """Whether x is read by vectors, one for each vector of a row, and not broadcast."""
        return self.operator.lanewise

    @property
    def exchanges(self) -> bool:
        """Whether its lanes meet all channels of their group."""
        return bool(self.operator.exchange_dim)

    @property
    def group_size(self) -> int:
        """How many channels each lane meets by exchanges of lanes; 1 where there are no exchanges."""
        return dict(self.unrolled).get(self.operator.exchange_dim, 1)

    @property
    def has_stride(self) -> bool:
        """Whether its operator has taps, whose windows have a stride."""
        return len(self.operator.reductions) > 1

    @property
    def accumulators(self) -> int:
        """Vector registers that hold outputs."""
        return self.row_count * self.vectors

    @property
    def steps(self) -> int:
        """Reduction points unrolled into one step of the inner loop."""
        return prod(extent for _, extent in self.unrolled)

    @property
    def fmas(self) -> int:
        """Vector FMAs in one step of the inner loop."""
        return self.accumulators * self.steps

    @property
    def registers(self) -> int:
        """Registers that the tile needs: the accumulators, the weight vectors of one step, and one broadcast.

        With an embedded broadcast the FMA reads x from memory itself, and the last one is not needed.
        """
        broadcast = 0 if isa_named(self.isa).embedded_broadcast else 1
        return self.accumulators + self.vectors + broadcast

    def _renamed(self, factors: tuple[tuple[str, int], ...], dims: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
        """The factors under the names of the measured tile's dims. Two may have one name there, as d and n."""
        found = dict.fromkeys(dims, 1)
        for dim, extent in factors:
            found[self.operator.as_conv[dim]] *= extent
        return tuple((dim, extent) for dim, extent in found.items() if extent > 1)


def parse(name: str) -> Microkernel:
    """The microkernel that `name` spells. Raises ValueError where the name spells none."""
    match = _NAME.match(name)
    if len(name) > 100:
        raise ValueError(f"{name[:40]!r}… is too long to be a microkernel's name")
    if not match:
        raise ValueError(f"{name!r} is not a microkernel name such as f32_conv2d_ukernel_14wx32k_s1__avx512f")
    _, op, tile, stride, isa_name = match.groups()
    if op not in OPERATORS:
        raise ValueError(f"{name!r}: unknown operator {op!r}")
    operator = OPERATORS[op]
    lanes = isa_named(isa_name).lanes
    rows, unrolled, width = [], [], 0
    for factor in tile.split("x"):
        found = _FACTOR.match(factor)
        if not found:
            raise ValueError(f"{name!r}: {factor!r} is not EXTENT+DIM")
        extent, dim = int(found[1]), found[2]
        if dim in operator.rows:
            rows.append((dim, extent))
        elif dim in operator.reductions:
            unrolled.append((dim, extent))
        elif dim == operator.vector:
            width = extent
        else:
            raise ValueError(f"{name!r}: {op} has no dim {dim!r}")
    if width == 0 or width % lanes:
        raise ValueError(f"{name!r}: {width} along {operator.vector} is not a whole number of {lanes}-lane vectors")
    kernel = Microkernel(op, isa_name, tuple(rows), width // lanes, tuple(unrolled), int(stride or 1))
    if kernel.name != name:
        raise ValueError(f"{name!r} is not in canonical form, which is {kernel.name}")
    return kernel


def ranked_op(problem: Problem) -> str:
    """The operator whose ranking has the tiles of `problem`. Narrow numbers must be dot groups already."""
    dim = access_of(problem).exchange_dim
    return _NOTHING_EXCHANGED if dim and problem.extents[dim] == 1 else problem.op


def microkernel_of(problem: Problem, tile: Mapping[str, int], isa: str) -> Microkernel:
    """The microkernel of a register tile of a scheme (`Scheme.tiles`: units per dim).

    Its stride is the stride of the innermost unrolled row dim: one step reads x for the rows along it.
    """
    operator = OPERATORS[problem.op]
    rows = tuple((dim, tile[dim]) for dim in operator.rows if tile[dim] > 1)
    unrolled = tuple((dim, tile[dim]) for dim in operator.reductions if tile[dim] > 1)
    strides = {window.dim: window.stride for window in problem.windows}
    along = [strides[dim] for dim, _ in reversed(rows) if dim in strides] or list(reversed(strides.values())) or [1]
    return Microkernel(problem.op, isa, rows, tile[operator.vector], unrolled, along[0])
