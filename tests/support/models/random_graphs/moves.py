"""What moves numbers: reshapes, transposes, joins, parts, pads, gathers, resizes and casts."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.support.models.random_graphs.drawing import KINDS, TYPES, Drawing, Value


def reshape(d: Drawing) -> None:
    x, pick = d.value(), d.random
    axes = pick.randint(1, 4)
    shape, left = [], x.elements
    for _ in range(axes - 1):
        shape.append(pick.choice([n for n in range(1, left + 1) if left % n == 0]))
        left //= shape[-1]
    shape.append(left)
    pick.shuffle(shape)
    if pick.random() < 0.3 and x.axes == 4:
        n, c, h, w = x.shape
        shape = list(pick.choice(((n, c, h * w), (n, h, c, w), (n * c, h, w), (n, c, w, h), (n, c * h, w, 1))))
    d.node("Reshape", [x.name, d.constant(np.array(shape))], d.made(tuple(shape), x))


def transpose(d: Drawing) -> None:
    x = d.value(lambda v: v.axes >= 2)
    order = d.random.sample(range(x.axes), x.axes)
    d.node("Transpose", [x.name], d.made(tuple(x.shape[a] for a in order), x), perm=order)


def squeeze(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes < 5), d.random
    ones = [axis for axis, extent in enumerate(x.shape) if extent == 1]
    if ones and pick.random() < 0.5:
        axis = pick.choice(ones)
        shape = tuple(e for a, e in enumerate(x.shape) if a != axis)
        d.node("Squeeze", [x.name, d.constant(np.array([axis]))], d.made(shape, x))
    else:
        axis = pick.randint(0, x.axes)
        shape = (*x.shape[:axis], 1, *x.shape[axis:])
        d.node("Unsqueeze", [x.name, d.constant(np.array([axis]))], d.made(shape, x))


def concat(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axis = pick.randrange(x.axes)

    def fits(value: Value) -> bool:
        pairs = zip(value.shape, x.shape)
        return value.axes == x.axes and all(a == axis or one == other for a, (one, other) in enumerate(pairs))

    parts = [x, *(d.value(fits) for _ in range(pick.randint(1, 2)))]
    if pick.random() < 0.3:
        shape = tuple(2 if a == axis else e for a, e in enumerate(x.shape))
        parts.append(Value(d.constant(d.numbers(shape)), shape))
    pick.shuffle(parts)
    shape = tuple(sum(p.shape[axis] for p in parts) if a == axis else e for a, e in enumerate(x.shape))
    most, halves = max(p.most for p in parts), max(p.halves for p in parts)
    d.node("Concat", [p.name for p in parts], d.made(shape, x, most=most, halves=halves), axis=axis)


def split(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1 and max(v.shape) > 1), d.random
    axis = pick.choice([a for a, extent in enumerate(x.shape) if extent > 1])
    first = pick.randint(1, x.shape[axis] - 1)
    sizes = (first, x.shape[axis] - first)
    parts = [d.made((*x.shape[:axis], size, *x.shape[axis + 1 :]), x) for size in sizes]
    d.node("Split", [x.name, d.constant(np.array(sizes))], *parts, axis=axis)


def cut(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axes = sorted(pick.sample(range(x.axes), pick.randint(1, x.axes)))
    starts, ends, steps, shape = [], [], [], list(x.shape)
    for axis in axes:
        extent, step = x.shape[axis], pick.choice((1, 1, 1, 2, -1, -2))
        low, high = sorted((pick.choice((0, pick.randrange(extent))), pick.randint(1, extent)))
        start, end = (low, high) if step > 0 else (high, low - extent - 1)
        starts.append(start)
        ends.append(end)
        steps.append(step)
        shape[axis] = len(range(*slice(start, end, step).indices(extent)))
    given = [d.constant(np.array(each)) for each in (starts, ends, axes, steps)]
    d.node("Slice", [x.name, *given], d.made(tuple(shape), x))


def pad(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    mode = pick.choice(("constant", "constant", "edge", "reflect"))
    most = [2 if mode != "reflect" else min(2, extent - 1) for extent in x.shape]
    widths = [pick.choice((0, 0, pick.randint(0, m))) for m in (*most, *most)]
    shape = tuple(e + low + high for e, low, high in zip(x.shape, widths, widths[x.axes :]))
    inputs = [x.name, d.constant(np.array(widths))]
    if mode == "constant" and pick.random() < 0.5:
        inputs.append(d.constant(np.array(pick.choice((1, -2)), np.float32)))
    d.node("Pad", inputs, d.made(shape, x, most=max(2, x.most)), mode=mode)


def expand(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes <= 4), d.random
    if pick.random() < 0.5 and x.axes:
        times = [pick.choice((1, 1, 2, 3)) for _ in x.shape]
        shape = tuple(e * t for e, t in zip(x.shape, times))
        d.node("Tile", [x.name, d.constant(np.array(times))], d.made(shape, x))
    else:
        shape = tuple(pick.choice((1, 3)) if e == 1 else e for e in x.shape)
        shape = (*(pick.choice(((), (2,)))), *shape)
        d.node("Expand", [x.name, d.constant(np.array(shape, np.int64))], d.made(shape, x))


def gather(d: Drawing) -> None:
    x, pick = d.value(lambda v: v.axes >= 1), d.random
    axis = pick.randrange(x.axes)
    extent = x.shape[axis]
    shape = pick.choice(((), (1,), (3,), (2, 2)))
    drawn = np.random.default_rng(pick.randrange(2**32)).integers(-extent, extent, shape)
    whole = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
    d.node("Gather", [x.name, d.constant(np.asarray(drawn))], d.made(whole, x), axis=axis)


def resize(d: Drawing) -> None:
    x = d.value(lambda v: v.axes == 4)
    pick = d.random
    if pick.random() < 0.5:
        n, c, h, w = x.shape
        fits = [b for b in (1, 2, 3) if c % (b * b) == 0]
        b = pick.choice(fits)
        made = d.made((n, c // b // b, h * b, w * b), x)
        d.node("DepthToSpace", [x.name], made, blocksize=b, mode=pick.choice(("DCR", "CRD")))
        return
    scales = [1.0, 1.0, *(float(pick.choice((1, 2, 3))) for _ in range(2))]
    shape = tuple(int(e * s) for e, s in zip(x.shape, scales))
    inputs = [x.name, "", d.constant(np.array(scales, np.float32))]
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    d.node("Resize", inputs, d.made(shape, x), mode="nearest", **attributes)


def cast(d: Drawing) -> None:
    x = d.value(lambda v: v.halves == 0)
    kind = d.random.choice(("s32", "s64"))
    between = d.made(x.shape, x, dtype=kind)
    d.node("Cast", [x.name], between, to=TYPES[kind])
    added = d.made(x.shape, between, most=x.most + 3)
    three = d.constant(np.array(3, KINDS[kind]))
    d.node(d.random.choice(("Add", "Max", "Sub")), [between.name, three], added)
    d.node("Cast", [added.name], d.made(x.shape, added, dtype="f32"), to=TensorProto.FLOAT)
