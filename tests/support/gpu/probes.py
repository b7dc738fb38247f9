"""The probes of the calibration, and what the PTX ISA says that each gives, in NumPy."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from cpu.runtime.numbers import from_bits
from gpu.codegen.pipeline.instructions import INSTRUCTIONS
from gpu.probes.calibrate import probes
from gpu.probes.probe import WORDS
from gpu.probes.tma_probes import LOADS

PROBES = {probe.name: probe for probe in probes()}


def expected_words(probe):
    a, name = probe.first, probe.name
    words = np.arange(WORDS)
    if name.startswith("ldmatrix"):
        return expected_matrices(a, transposed=name.endswith("trans"))
    if name == "load_shared":
        return a[(words * 37 + words % 32) % WORDS]
    if name == "round_tf32":
        return (a + np.uint32(0x1000)) & ~np.uint32(0x1FFF)
    if name == "gather_16":
        return gathered(a.view(np.uint16)).view(np.uint32)
    if name.startswith("cp_async"):
        units = a.view(np.uint8).reshape(-1, int(name.rpartition("_")[2])).copy()
        units[::3] = 0
        return units.reshape(-1).view(np.uint32)
    if name.startswith("load"):
        dtype = name.split("_")[1]
        if dtype == "f32":
            return a
        halves = a.view(np.float16 if dtype == "f16" else np.uint16)[:WORDS]
        return from_bits(halves, dtype).view(np.uint32)
    if "_tf32" in name and name.startswith("copy"):
        return rounded_to_even(swizzled(a.reshape(-1, 32))).reshape(-1)
    if name.startswith(("copy_box", "copy_pixels")):
        return expected_boxes(name.removesuffix("_multicast"), a)
    if name.startswith("store_box"):
        return expected_stores(int(name[-2]), a)
    if name == "mbarrier_arrive":
        return a + words.astype(np.uint32) // 128
    if name == "mbarrier_arrive_at":
        return np.concatenate([a[: WORDS // 2], a[: WORDS // 2] + np.uint32(1)])
    if name.startswith("take_semaphore"):
        return (a.view(np.float32) * sum(range(64))).astype(np.float32).view(np.uint32)
    if name in ("store_16", "move_registers"):
        return a
    return expected_products(probe)


def expected_matrices(a, transposed):
    """Four matrices of 8 x 8 halves, whose rows lie apart: each lane gets two neighbours of a row, or of a column."""
    halves, found = a.view(np.uint16).reshape(-1, 8), np.empty((WORDS // 128, 32, 4, 2), np.uint16)
    for i, lane, register, half in np.ndindex(*found.shape):
        row, column = lane // 4, lane % 4 * 2 + half
        if transposed:
            row, column = column, row
        found[i, lane, register, half] = halves[((8 * register + row) * 5 + i * 32) % (WORDS // 4), column]
    return found.reshape(-1).view(np.uint32)


def expected_products(probe):
    """What a matrix instruction gives to a warpgroup, or to a warp, which adds up one after the other."""
    call, _, across = probe.name.partition("_across_")
    instruction = next(i for i in INSTRUCTIONS if i.call == call)
    if instruction.worker == "warpgroup":
        return expected_wgmma(probe, instruction, *(digit == "1" for digit in across or "00"))
    a = probe.first
    dtype = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32}[instruction.dtype]
    total, found = np.zeros((16, 8), np.float32), np.empty((WORDS // 128, 32, 4), np.float32)
    for i in range(WORDS // 128):
        left, right = np.empty((16, instruction.depth)), np.empty((instruction.depth, 8))
        for lane in range(32):
            mine = from_bits(a[128 * i + 4 * lane :][:4].view(dtype), instruction.dtype)
            for value, place in zip(mine, instruction.a.tasks(lane)):
                left[place] = value
            mine = from_bits(probe.second[64 * i + 2 * lane :][:2].view(dtype), instruction.dtype)
            for value, (column, k) in zip(mine, instruction.b.tasks(lane)):
                right[k, column] = value
        total += (left @ right).astype(np.float32)
        for lane in range(32):
            found[i, lane] = [total[place] for place in instruction.c.tasks(lane)]
    return found.reshape(-1).view(np.uint32)


def rounded_to_even(words):
    """f32 to tf32 by float64, whose quotient by the last place is exact."""
    values = words.view(np.float32).astype(np.float64)
    place = 2.0 ** (np.maximum(words >> 23 & 0xFF, 1).astype(np.int64) - 127 - 10)
    with np.errstate(over="ignore"):
        return (np.round(values / place) * place).astype(np.float32).view(np.uint32)


def gathered(halves):
    found = np.zeros((WORDS // 4, 8), np.uint16)
    for i in range(WORDS // 4):
        place, first, end = (i * 37 + i // 8) % (2 * WORDS - 8), i % 11 - 1, 10 - i // 11 % 11
        for e in range(8):
            if first <= e < end or (i % 2 and e >= max(end, 0)):
                found[i, e] = halves[place + e]
    return found.reshape(-1)


def expected_wgmma(probe, instruction, a_across, b_across):
    """Chunk c of row r of a tile lies at place c ^ r % 8 of the row's eight; sums from their places in the document.

    A tile along the depth has a row of 128 bytes for each point; across it a row of 64 points for each of 64 depths,
    and a block of such rows for every 64 points.
    """
    dtype = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32}[instruction.dtype]

    def tile(words, points, across, swizzled):
        chunks = from_bits(words.view(dtype), instruction.dtype).reshape(512, -1)
        rows = 64 * (points // 64) if across else points
        places = [[8 * r + (c ^ r % 8) for c in range(8)] for r in range(rows)]
        found = np.array([[chunks[(p + p // 512 * swizzled) % 512] for p in row] for row in places]).reshape(rows, -1)
        return np.concatenate([block.T for block in np.split(found, points // 64)]) if across else found

    a, b = tile(probe.first, 64, a_across, 0), tile(probe.second, instruction.columns, b_across, 1)
    sums = a @ b.T
    every, found = instruction.columns // 32, np.empty((128, 16), np.float32)
    for lane in range(128):
        places = instruction.c.tasks(lane)
        found[lane] = [sums[places[s * every + lane % every]] for s in range(16)]
    return found.reshape(-1).view(np.uint32)


def swizzled(rows):
    """Rows of 128 bytes as they lie in shared memory: chunk c of row r at place c ^ r % 8."""
    chunks = rows.reshape(len(rows), 8, -1)
    return np.stack([chunks[r, [c ^ r % 8 for c in range(8)]] for r in range(len(chunks))]).reshape(rows.shape)


def expected_boxes(name, words):
    """Each box of an image that zeros surround on all sides, as far as a box may lie outside, row by row."""
    tensor, *places = LOADS[name]
    shape, far = tensor.dims[::-1], (tensor.box if tensor.pixels is None else (64, 8, 8, 32))[::-1]
    points = as_strided(words.view(np.uint16), shape, (*tensor.strides[::-1], 2))
    image = np.pad(points, [(f, f) for f in far])
    boxes = []
    for place in places:
        if tensor.pixels is None:
            box = tuple(slice(f + x, f + x + size) for f, x, size in zip(far, place[::-1], tensor.box[::-1]))
            boxes.append(image[box].reshape(-1, 64))
            continue
        (channel, w, h, n, right, down), pixels = place, tensor.pixels
        windows = [
            (n_at, h_at, w_at)
            for n_at in range(4 + far[0])
            for h_at in range(pixels.lower[1], shape[1] + pixels.upper[1], pixels.steps[1])
            for w_at in range(pixels.lower[0], shape[2] + pixels.upper[0], pixels.steps[0])
        ]
        first = windows.index((n, h, w))
        offsets = (far[0], far[1] + down, far[2] + right)
        at = [tuple(map(sum, zip(window, offsets))) for window in windows[first : first + pixels.count]]
        boxes.append(np.array([image[(*point, slice(far[3] + channel, far[3] + channel + 64))] for point in at]))
    return np.concatenate([swizzled(box) for box in boxes]).reshape(-1).view(np.uint32)


def expected_stores(rank, words):
    """Two boxes of 48 rows; of the second a part is left out."""
    shared = np.concatenate([words, words[: WORDS // 2]]).view(np.uint16).reshape(2, 48, 64)
    first, second = (swizzled(box).reshape((8, 6, 64) if rank == 3 else (48, 64)) for box in shared)
    whole = np.concatenate([first, second], axis=rank - 2)
    return np.ascontiguousarray(whole[:, :8] if rank == 3 else whole[:64]).reshape(-1).view(np.uint32)


# Every number of columns, dtype and orientation of wgmma once, not all 36 combinations.
ORDINARY = [
    name
    for name in PROBES
    if not name.startswith("wgmma")
    or name.startswith("wgmma_m64n64k16_f16")
    or name in ("wgmma_m64n128k16_bf16_across_11", "wgmma_m64n256k16_f16", "wgmma_m64n256k16_bf16_across_01")
    or name in ("wgmma_m64n192k16_f16_across_10", "wgmma_m64n192k16_bf16_across_01")
    or name in ("wgmma_m64n128k8_tf32", "wgmma_m64n192k8_tf32")
]
