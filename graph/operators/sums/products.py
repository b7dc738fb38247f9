"""Sums of products. Those of f32 become problems with microkernels, those of other dtypes programs."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from graph.model.node import Made, Node, Product, Shape, Text, at, broadcast
from graph.model.windows import Windows, groups_of, transposed_windows, windows
from tiling.epilogue import fused
from tiling.operators import conv2d, matmul
from tiling.problem import Problem
from tiling.volumes import conv3d

# A weight is packed once. Where the second factor of a product is computed in the call, each call packs it, which costs
# as much as reading it: with fewer rows than this, packing does not pay.
_FEW_ROWS = 4


def _conv(node: Node) -> Made:
    x, w = node.shape(0), node.shape(1)
    axes = len(x) - 2
    group = groups_of(node)
    found = windows(node, w[2:], x[2:])
    if x[1] != w[1] * group:
        raise node.refuse(f"x has {x[1]} channels, and the weights are for {w[1] * group}")
    if w[0] % group:
        raise node.refuse(f"{w[0]} filters are no multiple of {group} groups")
    in_groups, cut = axes == 3 and group > 1, min(*found.before, *found.after) < 0
    if axes > 3 or in_groups or cut or node.dtype() != "f32" or node.known[1] is None:
        return _conv_text(node, group)
    problem = _volumes(x, w, found) if axes == 3 else _images(x, w, found, group)
    if problem.output.shape[2:] != (*(1,) * (2 - axes), *found.outputs):
        raise node.refuse(f"padding of {found.before} and {found.after} gives another shape than {found.outputs}")
    inputs = (0, 1, 2) if node.has(2) else (0, 1)
    channel = problem.output_axes[1]
    problem = fused(problem, f"y + b[{channel}]") if node.has(2) else problem
    return Product(problem, inputs, (x[0], w[0], *found.outputs))


def _images(x: Shape, w: Shape, found: Windows, group: int) -> Problem:
    """A convolution of one or two axes."""
    axes = len(x) - 2
    rows, columns = (1,) * (2 - axes), (0,) * (2 - axes)
    return conv2d(
        n=x[0],
        c=x[1],
        h=(*rows, *x[2:])[0],
        w=x[-1],
        k=w[0],
        r=(*rows, *w[2:])[0],
        s=w[-1],
        stride=_pair((*rows, *found.strides)),
        dilation=_pair((*rows, *found.dilations)),
        padding=_sides((*columns, *found.before), (*columns, *found.after)),
        groups=group,
        layout="nchw",
    )


def _volumes(x: Shape, w: Shape, found: Windows) -> Problem:
    """A convolution of three axes."""
    (n, c, d, h, width), (k, _, q, r, s) = x, w
    return conv3d(
        n=n,
        c=c,
        d=d,
        h=h,
        w=width,
        k=k,
        q=q,
        r=r,
        s=s,
        stride=found.strides,
        dilation=found.dilations,
        padding=tuple(zip(found.before, found.after)),
        layout="nchw",
    )


def _pair(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[1]


def _sides(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[tuple[int, int], tuple[int, int]]:
    return (before[0], after[0]), (before[1], after[1])


def _conv_text(node: Node, group: int) -> Text:
    """A convolution of other dtypes, of volumes in groups, by computed weights, or with negative padding."""
    x, w = node.shape(0), node.shape(1)
    found = windows(node, w[2:], x[2:])
    dims, taps = node.dims(len(x)), list("rsv"[: len(x) - 2])
    each = w[0] // group
    channel = "c" if group == 1 else f"{w[1]}*({dims[1]} // {each}) + c"
    places = [
        f"{stride}*{dim} + {dilation}*{tap} - {low}"
        for dim, tap, stride, dilation, low in zip(dims[2:], taps, found.strides, found.dilations, found.before)
    ]
    read = f"(x{at([dims[0], channel, *places])} else 0)"
    text = f"a{at(dims)} = sum{at(['c', *taps])} {read} * f{at([dims[1], 'c', *taps])}; "
    text += f"y{at(dims)} = a{at(dims)}" + (f" + b[{dims[1]}]" if node.has(2) else "")
    extents = dict(zip(dims, (x[0], w[0], *found.outputs))) | {"c": w[1], **dict(zip(taps, w[2:]))}
    inputs = {"x": 0, "f": 1} | ({"b": 2} if node.has(2) else {})
    return Text(text, inputs, extents, (node.dtype(),))


def _conv_transpose(node: Node) -> Made:
    """Every output gathers the taps that reach it: no zero that a stride puts between is multiplied."""
    x, w = node.shape(0), node.shape(1)
    axes, group = len(x) - 2, groups_of(node)
    if axes > 3:
        raise node.refuse(f"images of {axes} axes are not supported")
    if w[0] != x[1] or x[1] % group:
        raise node.refuse(f"x has {x[1]} channels, and the weights are for {w[0]} in {group} groups")
    found = transposed_windows(node, w[2:], x[2:])
    dims, taps = node.dims(len(x)), list("rsv"[:axes])
    each, mine = w[1], x[1] // group
    channel = "c" if group == 1 else f"{mine}*({dims[1]} // {each}) + c"
    out_channel = dims[1] if group == 1 else f"{dims[1]} % {each}"
    hits, places = [], []
    for dim, tap, stride, dilation, low in zip(dims[2:], taps, found.strides, found.dilations, found.before):
        position = f"({dim} + {low} - {dilation}*{tap})"
        places.append(f"{position} // {stride}")
        if stride > 1:
            hits.append(f"{position} % {stride} == 0")
    term = f"(x{at([dims[0], channel, *places])} else 0) * f{at([channel, out_channel, *taps])}"
    value = f"where({' and '.join(hits)}, {term}, 0.0)" if hits else term
    text = f"a{at(dims)} = sum{at(['c', *taps])} {value}; y{at(dims)} = a{at(dims)}"
    text += f" + b[{dims[1]}]" if node.has(2) else ""
    extents = dict(zip(dims, (x[0], each * group, *found.outputs))) | {"c": mine, **dict(zip(taps, w[2:]))}
    return Text(text, {"x": 0, "f": 1} | ({"b": 2} if node.has(2) else {}), extents, (node.dtype(),))


def _gemm(node: Node) -> Made:
    a, b = node.shape(0), node.shape(1)
    across, transposed = bool(node.attribute("transA", 0)), bool(node.attribute("transB", 0))
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    (m, k), n = (reversed(a) if across else a), b[0] if transposed else b[1]
    if k != (b[1] if transposed else b[0]):
        raise node.refuse(f"a has {k} columns, and b {b[1] if transposed else b[0]} rows")
    c = node.shape(2) if node.has(2) else None
    per_column = c is not None and c[-1:] == (n,) and prod(c) == n
    if node.dtype() == "f32" and (c is None or per_column):
        problem = matmul(m=m, n=n, k=k, transpose_a=across, transpose_b=transposed)
        y = "y" if alpha == 1 else f"{alpha!r} * y"
        added = "" if c is None else " + b[n]" if beta == 1 else f" + {beta!r} * b[n]"
        problem = fused(problem, y + added) if y + added != "y" else problem
        return Product(problem, (0, 1, 2) if c is not None else (0, 1), (m, n))
    left, right = ("c,i" if across else "i,c"), ("j,c" if transposed else "c,j")
    value = "p[i,j]" if alpha == 1 else f"{alpha!r} * p[i,j]"
    if c is not None:
        value += f" + {beta!r} * d{broadcast(node, c, (m, n))}" if beta != 1 else f" + d{broadcast(node, c, (m, n))}"
    text = f"p[i,j] = sum[c] a[{left}] * b[{right}]; y[i,j] = {value}"
    inputs = {"a": 0, "b": 1} | ({"d": 2} if c is not None else {})
    return Text(text, inputs, {"i": m, "j": n, "c": k}, (node.dtype(),))


def _matmul(node: Node) -> Made:
    a, b = node.shape(0), node.shape(1)
    if a[-1] != (b[-2] if len(b) > 1 else b[0]):
        raise node.refuse(f"shapes {a} and {b} are no factors of a product")
    k, n = a[-1], b[-1] if len(b) > 1 else 1
    m = a[-2] if len(a) > 1 else 1
    whole = (*np.broadcast_shapes(a[:-2], b[:-2]), *((m,) if len(a) > 1 else ()), *((n,) if len(b) > 1 else ()))
    batch = prod(a[:-2])
    rows = batch * m if len(b) <= 2 else m
    pays = node.dtype() == "f32" and (node.known[1] is not None or rows > _FEW_ROWS)
    if pays and len(b) <= 2:
        return Product(matmul(m=rows, n=n, k=k), (0, 1), whole)
    if pays and a[:-2] == b[:-2]:
        return Product(matmul(m=m, n=n, k=k, batch=batch), (0, 1), whole)
    return _matmul_text(node, whole)


def _matmul_text(node: Node, whole: tuple[int, ...]) -> Text:
    """A product of other dtypes, or of batches that broadcast."""
    a, b = node.shape(0), node.shape(1)
    dims = node.dims(len(whole))
    ends = (len(a) > 1) + (len(b) > 1)
    outer, rest = dims[: len(dims) - ends], dims[len(dims) - ends :]
    left = [*_outer(outer, a[:-2]), *([rest[0]] if len(a) > 1 else []), "c"]
    right = [*_outer(outer, b[:-2]), "c", *([rest[-1]] if len(b) > 1 else [])]
    text = f"y{at(dims)} = sum[c] a{at(left)} * b{at(right)}"
    return Text(text, {"a": 0, "b": 1}, {**dict(zip(dims, whole)), "c": a[-1]}, (node.dtype(),))


def _outer(dims: list[str], shape: tuple[int, ...]) -> list[str]:
    return [dim if extent > 1 else "0" for dim, extent in zip(dims[len(dims) - len(shape) :], shape)]


def _einsum(node: Node) -> Made:
    equation = node.attribute("equation").decode().replace(" ", "")
    given, arrow, out = equation.partition("->")
    parts = given.split(",")
    if not arrow:
        letters = sorted({letter for letter in given if letter.isalpha()})
        out = "..." * ("." in given) + "".join(letter for letter in letters if given.count(letter) == 1)
    # The axes that dots stand for, counted from the last one.
    counts = [len(node.shape(place)) - len(part.replace("...", "")) for place, part in enumerate(parts)]
    most = max((count for count, part in zip(counts, parts) if "." in part), default=0)
    extents: dict[str, int] = {}
    factors = []
    for place, (part, count) in enumerate(zip(parts, counts)):
        dims = _letters(part, count, most)
        if len(dims) != len(node.shape(place)):
            raise node.refuse(
                f"input {place} has {len(node.shape(place))} axes, and {part} in {equation} another number"
            )
        read = []
        for dim, extent in zip(dims, node.shape(place)):
            dotted = dim[0] == "e"
            if extents.get(dim, 1) == 1 and dotted:
                extents[dim] = extent
            if extents.setdefault(dim, extent) != extent and not (dotted and extent == 1):
                raise node.refuse(f"{dim[1:]} of {equation} has the extents {extents[dim]} and {extent}")
            read.append("0" if dotted and extent == 1 else dim)
        factors.append(f"x{place}{at(read)}")
    dims = _letters(out, most, most)
    over = [dim for dim in extents if dim not in dims]
    product = " * ".join(factors)
    text = f"y{at(dims)} = {f'sum{at(over)} {product}' if over else product}"
    return Text(text, {f"x{place}": place for place in range(len(parts))}, extents, (node.dtype(),))


def _letters(part: str, count: int, most: int) -> list[str]:
    """The dims of a factor of an equation: d and its letter, and e and a number for each axis of its dots."""
    before, dots, after = part.partition("...")
    dotted = [f"e{number}" for number in range(most - count, most)] if dots else []
    return [*(f"d{letter}" for letter in before), *dotted, *(f"d{letter}" for letter in after)]


def _det(node: Node) -> Made:
    shape = node.shape()
    size = shape[-1]
    if size != shape[-2] or size > 4:
        raise node.refuse(f"determinants of {shape[-2:]} are not supported: up to (4, 4) are")
    dims = node.dims(len(shape))[:-2]

    def expanded(rows: list[int], columns: list[int]) -> str:
        element = f"x{at([*dims, str(rows[0]), '{}'])}"
        if len(rows) == 1:
            return element.format(columns[0])
        terms = [f"{element.format(c)} * ({expanded(rows[1:], [o for o in columns if o != c])})" for c in columns]
        return "".join((" - " if n % 2 else " + " if n else "") + term for n, term in enumerate(terms))

    text = f"y{at(dims)} = {expanded(list(range(size)), list(range(size)))}"
    return Text(text, {"x": 0}, dict(zip(dims, shape)), (node.dtype(),))


PRODUCTS: dict[str, Callable[[Node], Made]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Einsum": _einsum,
    "Det": _det,
}
