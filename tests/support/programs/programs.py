"""Random programs with sizes, and inputs of small whole numbers, on which every function that they use is exact."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from random import Random

import numpy as np

from cpu.passes.forms import program_forms
from microkernels.tile.isa import AVX512F
from tiling.loops.interpreter.interpret import interpret
from tiling.loops.kernel import Kernel
from tiling.loops.listing import listing
from tiling.loops.meaning.memory import NUMPY
from tiling.program.functions import FUNCTIONS
from tiling.program.infer import Sized, sized
from tiling.program.language import Access, Apply, Declaration, Dim, Expression, Number, Program, Reduce, Statement
from tiling.program.read import read

SOFTMAX = "m[i] = max[j] x[i,j]; e[i,j] = exp(x[i,j] - m[i]); d[i] = sum[j] e[i,j]; y[i,j] = e[i,j] / d[i]"
# {mask}: a condition on i and j.
_SCORES = "s[i,j] = sum[c] q[i,c] * k[j,c]; "
MASKED_ATTENTION = (
    _SCORES + "t[i,j] = where({mask}, s[i,j], -inf); m[i] = max[j] t[i,j]; e[i,j] = exp(t[i,j] - m[i]); "
    "d[i] = sum[j] e[i,j]; a[i,c] = sum[j] e[i,j] * v[j,c]; y[i,c] = a[i,c] / d[i]"
)
ATTENTION = (
    "s[h,i,j] = sum[c] q[h,i,c] * k[h,j,c]; t[h,i,j] = s[h,i,j] * 0.125; m[h,i] = max[j] t[h,i,j]; "
    "e[h,i,j] = exp(t[h,i,j] - m[h,i]); d[h,i] = sum[j] e[h,i,j]; a[h,i,c] = sum[j] e[h,i,j] * v[h,j,c]; "
    "y[h,i,c] = a[h,i,c] / d[h,i]"
)
# Products of small whole numbers, which are exact, with shapes that no tile divides.
PRODUCTS = {
    "product": ("y[i,j] = sum[k] x[i,k] * w[k,j]", {"x": (7, 21), "w": (21, 45)}),
    "product with a transposed operand": ("y[i,j] = sum[k] x[i,k] * w[j,k]", {"x": (70, 21), "w": (45, 21)}),
    "products of heads": (
        "y[h,i,j] = sum[c] x[h,i,c] * w[h,j,c]; z[h,i] = max[j] y[h,i,j]",
        {"x": (3, 9, 20), "w": (3, 37, 20)},
    ),
    "product of a sum": (
        "u[i,k] = x[i,k] + z[i,k]; y[i,j] = sum[k] u[i,k] * w[k,j]",
        {"x": (9, 5), "z": (9, 5), "w": (5, 50)},
    ),
    "convolution": (
        "y[h,w,k] = sum[c,r,s] x[h+r-1,w+s-1,c] * f[c,r,s,k]; z[h,w,k] = relu(y[h,w,k] + b[k])",
        {"x": (5, 9, 3), "f": (3, 3, 3, 35), "b": (35,)},
    ),
    "two products": (
        "u[i,j] = sum[k] x[i,k] * w[k,j]; y[i,l] = sum[j] max(u[i,j], 0) * v[j,l]",
        {"x": (11, 6), "w": (6, 33), "v": (33, 34)},
    ),
}

MOST_POINTS = 1 << 19  # of a statement of a long program: the reference holds all of them at once

EXACT = ("add", "sub", "mul", "min", "max", "neg", "abs", "sign", "floor", "ceil", "round", "relu", "clamp", "where")
TRUTHS = ("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not")
REAL = ("div", "exp", "log", "sqrt", "rsqrt", "tanh", "erf", "sigmoid", "silu", "gelu", "hardswish", "sin", "cos")
REDUCED = ("sum", "max", "min", "any", "all", "argmax", "argmin")
DTYPES = ("f32", "f32", "f32", "f64", "f16", "bf16", "s64", "s32", "s8", "u8", "s16", "u16", "u32", "bool")


def random_program(random: Random) -> Sized:
    """Up to three statements over dims of a few points, with gathers, windows and elements outside."""
    return _Drawing(random).program()


# Programs of a shape that random statements seldom have, each of which a pass is for. {cut}: some position along j.
REGULAR = (
    "x: f32[i,j]; z: f32[j,i]; y[j,i] = x[i,j] * 2 + z[j,i]",  # columns
    "x: f32[i,j]; z: f32[i,j]; y[i,j] = where(j < {cut}, x[i,j], z[i,j-{cut}] else 0)",  # a choice by position
    "q: f32[i,c]; k: f32[j,c]; s[i,j] = sum[c] q[i,c] * k[j,c]; y[i] = sum[j] where(j < i + {cut}, s[i,j], 0)",  # mask
    "q: f32[i,c]; k: f32[c,j]; y[i,j] = sum[c] q[i,c] * k[c,j]",  # a product
    "x: f32[c,i,j]; y[i,j,c] = x[c,i,j]",  # a few rows side by side
    "x: f32[c,i,j]; y[i,c,j] = x[c,i,j]",  # reads far apart
    "x: f32[i,j]; m[i] = max[j] x[i,j]; v[i] = sum[j] x[i,j] - m[i]; y[i,j] = x[i,j] - v[i]",  # rows that wait
    "x: f32[i,j]; y[i,j] = x[i,(j-{cut})//3] else 2",  # quotients below zero
    "x: f32[i,j]; y[i] = sum[j] x[i,j-{cut}] else 0",  # a sum with elements outside
    "x: f32[c,i,j]; y[j] = sum[c,i] x[c,i,j]",  # columns that are summed
    "x: f32[j]; v: f32[j,i]; e[j] = max(x[j], 1) * x[j] - 1; y[i] = sum[j] e[j] * v[j,i]",  # a row and its product
)


def random_program_for_passes(random: Random) -> Sized:
    """A random program, every second one of a kind in `REGULAR`: of small whole numbers, and few points."""
    if random.random() < 0.5:
        return random_program(random)
    program = read(random.choice(REGULAR).replace("{cut}", str(random.randint(1, 20))))
    # Whole vectors as often as any other number.
    sizes = {dim: random.choice((random.randint(1, 37), 32)) for dim in "ij"} | {"c": random.randint(1, 4)}
    return sized(program, {dim: size for dim, size in sizes.items() if dim in program.dims}, {})


def random_real_program(random: Random) -> Sized:
    """The same, with functions of real numbers, all in f32."""
    return _Drawing(random, (*EXACT, *REAL), ("f32",)).program()


def random_long_program(random: Random) -> Sized:
    """The same as `random_program` over one or two dims of many points: more than several vectors, or than a block."""
    while True:
        program = _LongDrawing(random).program()
        points = (prod(program.extents[d] for d in (*s.dims, *s.reduced)) for s in program.program.statements)
        if max(points) <= MOST_POINTS:
            return program


def with_runtime_extents(program: Sized, random: Random) -> Sized:
    """The random program where one or two dims have runtime extents, and the shapes of its inputs are of its dims."""
    dims = list(program.extents)
    if not dims:
        return program
    runtime = random.sample(dims, min(len(dims), random.randint(1, 2)))
    extents = {dim: f"<={extent}" if dim in runtime else extent for dim, extent in program.dims}
    declared, shapes = [], {}
    of_dims = {each.array: each for each in program.program.declarations if each.extents is not None}
    for array in program.inputs:
        if array.name in of_dims:
            declared.append(of_dims[array.name])
            continue
        if array.name == "t":  # its positions are counted from its length
            declared.append(Declaration("t", array.dtype, array.shape))
            continue
        axes = tuple(random.choice((*dims, length)) for length in array.shape)
        declared.append(Declaration(array.name, array.dtype, axes))
    text = replace(program.program, declarations=tuple(declared))
    return sized(text, extents, shapes, outputs=program.outputs)


def runtime_values(program: Sized, random: Random) -> list[dict[str, int]]:
    """The points of runtime dims in a few calls: one, as many as there may be, and some number between."""
    between = {dim: random.randint(1, program.extents[dim]) for dim in program.runtime}
    return [dict.fromkeys(program.runtime, 1), {d: program.extents[d] for d in program.runtime}, between]


def inputs_of(program: Sized, random: Random) -> dict[str, np.ndarray]:
    """Small whole numbers; of `t`, which is an index, positions."""
    drawn = np.random.default_rng(random.randrange(2**32))
    arrays = {}
    for array in program.inputs:
        low, high = (0, 3) if array.name == "t" or array.dtype[0] in "ub" else (-2, 3)
        arrays[array.name] = drawn.integers(low, 2 if array.dtype == "bool" else high, array.shape)
    return arrays


def stored(array: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers as an array of loops has them. bf16 are bits there."""
    if dtype == "bf16":
        return np.asarray(np.asarray(array, np.float32).view(np.uint32) >> 16, np.uint16)
    return array.astype(NUMPY[dtype])


def numbers(array: np.ndarray, dtype: str) -> np.ndarray:
    """The reverse of `stored`, of floats as float64."""
    if dtype == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if dtype in ("f32", "f16") else array


class _Drawing:
    def __init__(self, random: Random, functions: tuple[str, ...] = EXACT, dtypes: tuple[str, ...] = DTYPES):
        self.random, self.functions, self.dtypes = random, functions, dtypes
        self.extents = {dim: random.randint(1, 4) for dim in "ijkl"}
        long = random.choice("ijkl")  # one dim may have more points than a vector has lanes
        self.extents[long] = random.choice((self.extents[long], random.randint(5, 19)))
        most = max(5, self.extents[long] + 1)
        self.shapes = {name: tuple(random.randint(3, most) for _ in range(axes)) for axes, name in enumerate("abc", 1)}
        self.shapes |= {"t": (random.randint(1, 4),)}
        self.outside = dict.fromkeys(self.shapes, True)

    def program(self) -> Sized:
        statements: list[Statement] = []
        for name in ("y", "z", "u")[: self.random.randint(1, 3)]:
            statements.append(self.statement(name))
            self.shapes[name] = tuple(self.extents[dim] for dim in statements[-1].dims)
        program = Program(tuple(statements))
        declared = [Declaration("t", "s32", None)] * ("t" in program.inputs)
        declared += [Declaration(n, self.random.choice(self.dtypes), None) for n in "abc" if n in program.inputs]
        rounded = [s.array for s in statements if self.random.random() < 0.25]
        declared += [Declaration(name, self.random.choice(self.dtypes), None) for name in rounded]
        names = [statement.array for statement in statements]
        outputs = (*(name for name in names[:-1] if self.random.random() < 0.3), names[-1])
        program = Program(program.statements, tuple(declared))
        return sized(
            program,
            {dim: extent for dim, extent in self.extents.items() if dim in program.dims},
            {name: self.shapes[name] for name in program.inputs},
            outputs=outputs,
        )

    def statement(self, name: str) -> Statement:
        dims = tuple(self.random.sample("ij", self.random.randint(0, 2)))
        if self.random.random() < 0.4:
            return Statement(name, dims, self.value(dims, 3))
        kind = self.random.choice(REDUCED)
        over = ("k", "l")[: 1 if kind.startswith("arg") else self.random.randint(1, 2)]
        drawn = self.truth if kind in ("any", "all") else self.value
        return Statement(name, dims, Reduce(kind, over, drawn((*dims, *over), 2)))

    def value(self, dims: tuple[str, ...], depth: int) -> Expression:
        """A value of small whole numbers: one product at most stands inside another."""
        draw = self.random.random()
        if depth == 0 or draw < 0.2:
            return self.leaf(dims, depth)
        if draw < 0.3:
            return self.truth(dims, depth - 1)
        function = self.random.choice(self.functions)
        arguments = [self.value(dims, depth - 1) for _ in range({"clamp": 3, "where": 2}.get(function, 2))]
        if function == "where":
            return Apply("where", (self.truth(dims, depth - 1), *arguments))
        return Apply(function, tuple(arguments[: FUNCTIONS[function].arguments]))

    def truth(self, dims: tuple[str, ...], depth: int) -> Expression:
        function = self.random.choice(TRUTHS)
        arguments = [self.value(dims, max(depth - 1, 0)) for _ in range(1 if function == "not" else 2)]
        return Apply(function, tuple(arguments))

    def leaf(self, dims: tuple[str, ...], depth: int) -> Expression:
        draw = self.random.random()
        if draw < 0.1:
            return Number(self.random.choice((0, 1, 2, -1, 0.5)))
        if draw < 0.2 and dims:
            return Dim(self.random.choice(dims))
        array = self.random.choice([name for name in self.shapes if name != "t"])
        return Access(array, tuple(self.index(dims, depth) for _ in self.shapes[array]), self.random.choice((0, 1)))

    def index(self, dims: tuple[str, ...], depth: int) -> Expression:
        draw = self.random.random()
        if not dims or draw < 0.1:
            return Number(self.random.randint(0, 2))
        if draw < 0.2:
            return Access("t", (Apply("mod", (Dim(self.random.choice(dims)), Number(self.shapes["t"][0]))),))
        one: Expression = Dim(self.random.choice(dims))
        if draw < 0.4:
            one = Apply(self.random.choice(("floordiv", "mod")), (one, Number(self.random.randint(1, 3))))
        if draw < 0.6:
            one = Apply("add", (Apply("mul", (Number(self.random.choice((-1, 1, 2))), one)), Dim(dims[-1])))
        return Apply("sub", (one, Number(1))) if self.random.random() < 0.3 else one


class _LongDrawing(_Drawing):
    """Dims are as long as those of arrays, and most indices are a dim by itself."""

    def __init__(self, random: Random):
        super().__init__(random)
        long = random.choice(("i", "j", "k", "l", "ij", "ik", "jk"))
        sizes = (16, 17, 33, 64, 70) if len(long) > 1 else (64, 70, 129, 200, 257, 300, 513)
        self.extents |= {dim: random.choice(sizes) for dim in long}
        extents = [*self.extents.values(), max(self.extents.values()) + 2]
        self.shapes |= {name: tuple(random.choice(extents) for _ in range(axes)) for axes, name in enumerate("ab", 1)}
        self.shapes["c"] = tuple(random.choice(sorted(extents)[:3]) for _ in range(3))

    def statement(self, name: str) -> Statement:
        dims = tuple(self.random.sample("ijl", self.random.randint(0, 3)))
        left = [dim for dim in "klj" if dim not in dims]
        if self.random.random() < 0.45 or not left:
            return Statement(name, dims, self.value(dims, 3))
        kind = self.random.choice((*REDUCED, "sum", "sum", "max"))
        most = 1 if kind.startswith("arg") else min(2, len(left))
        over = tuple(self.random.sample(left, self.random.randint(1, most)))
        drawn = self.truth if kind in ("any", "all") else self.value
        return Statement(name, dims, Reduce(kind, over, drawn((*dims, *over), 2)))

    def index(self, dims: tuple[str, ...], depth: int) -> Expression:
        return Dim(self.random.choice(dims)) if dims and self.random.random() < 0.5 else super().index(dims, depth)


# ---- loops of programs


def interpreted(
    program: Sized,
    kernel: Kernel,
    arrays: dict[str, np.ndarray],
    values: dict[str, int] | None = None,
    threads: int = 1,
) -> dict[str, np.ndarray]:
    """The outputs by the interpreter. values: the runtime extents of a call. threads: as there."""
    outputs = tuple(array for array in program.assigned if array.name in program.outputs)
    buffers = dict(zip((*program.inputs, *outputs), kernel.arrays))
    given = {b.name: stored(arrays.get(a.name, np.zeros(a.shape)), a.dtype) for a, b in buffers.items()}
    with np.errstate(all="ignore"):
        sizes = dict(zip(dict(kernel.numbers), (values or {}).values()))
        interpret(kernel, given, numbers=sizes, threads=threads)
    return {array.name: numbers(given[buffers[array].name], array.dtype) for array in outputs}


def after(name: str, text: str, threads: int = 1, **sizes: tuple[int, ...] | int) -> Kernel:
    """The loops of a program after a pass, for vectors of 16 lanes. sizes: the shapes of inputs and extents of dims."""
    shapes = {name: size for name, size in sizes.items() if isinstance(size, tuple)}
    extents = {name: size for name, size in sizes.items() if isinstance(size, int)}
    return dict(program_forms(sized(read(text), extents, shapes), AVX512F, threads))[name]


def lines(kernel: Kernel) -> list[str]:
    return [line.strip() for line in listing(kernel).splitlines()]
