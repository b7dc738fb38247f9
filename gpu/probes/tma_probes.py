"""Probes of Hopper's TMA copies, mbarriers and clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpu.codegen.copies.tensor_map import Pixels, TensorMap
from gpu.probes.probe import WORDS, Probe, copy_out, loop

BARRIER = 4 * WORDS  # where a probe's mbarrier lies: behind the words
_SHARED = BARRIER + 8
_HALF = BARRIER // 2


def tma_probes(words: np.ndarray, floats: np.ndarray) -> tuple[Probe, ...]:
    """Probes that make every call of tma.cuh at least once."""
    found = []
    for name, (tensor, *places) in LOADS.items():
        call = name.removesuffix("_past").removesuffix("_overlapping")
        found.append(Probe(name, _load(call, places), words, words, 32, _SHARED, (tensor,)))
        body = _multicast(f"{call}_multicast", places)
        found.append(Probe(f"{name}_multicast", body, words, words, 32, _SHARED, (tensor,), 2))
    for name, (tensor, *places) in ROUNDED.items():
        for kind, numbers in (("tf32", _no_ties(floats)), ("tf32_ties", _ties(floats))):
            found.append(Probe(f"{name}_{kind}", _load(name, places), numbers, words, 32, _SHARED, (tensor,)))
    for rank, tensor in STORES.items():
        found.append(Probe(f"store_box_{rank}d", _store(rank), words, words, 32, 12288, (tensor,)))
    found.append(Probe("mbarrier_arrive", _arrivals(), words, words, 32, _SHARED))
    found.append(Probe("mbarrier_arrive_at", _remote_arrivals(), words, words, 32, _SHARED, (), 2))
    return tuple(found)


def _map(
    dims: tuple[int, ...],
    strides: tuple[int, ...],
    box: tuple[int, ...],
    pixels: Pixels | None = None,
    array: int = 0,
    dtype: str = "bf16",
) -> TensorMap:
    return TensorMap("ac"[array > 0], array, dtype, dims, strides, box, pixels)


_HALF_PLACE = np.uint32(0x1000)  # half of tf32's last place, in the bits of an f32
_BELOW = np.uint32(0x1FFF)


def _no_ties(floats: np.ndarray) -> np.ndarray:
    """Bits of floats, none of them halfway between two numbers of tf32."""
    return np.where(floats & _BELOW == _HALF_PLACE, floats | np.uint32(1), floats)


def _ties(floats: np.ndarray) -> np.ndarray:
    found: np.ndarray = floats & ~_BELOW | _HALF_PLACE
    return found


_IMAGE = ((40, 5, 5, 4), (80, 400, 2000))
_ONE_IMAGE = ((40, 5, 5, 1), (80, 400, 2000))
_WINDOWS = Pixels((-1, -2), (0, -1), (2, 1), 32)
# For each load a map of the words as 16-bit elements, and where its two boxes begin.
#
# A probe copies two boxes that leave the tensor, each of 32 rows of 128 bytes, and then writes out shared memory. The
# probe with _multicast has two blocks; each copies one box to both blocks and writes out the box of the other.
# copy_pixels_past has one image; one box begins in it and passes its end, the other begins behind it. Of
# copy_pixels_overlapping neighbours along a row have three quarters of their channels in common.
LOADS = {
    "copy_box_2d": (_map((72, 56), (144,), (64, 32)), (-8, -3), (40, 40)),
    "copy_box_3d": (_map((40, 10, 10), (80, 800), (64, 8, 4)), (8, -1, 7), (-40, 5, -2)),
    "copy_box_4d": (_map(*_IMAGE, (64, 4, 4, 2)), (8, -1, 2, -1), (0, 3, -2, 3)),
    "copy_pixels": (_map(*_IMAGE, (64,), _WINDOWS), (0, 1, -2, 0, 0, 1), (8, -1, 0, 2, 2, 3)),
    "copy_pixels_past": (_map(*_ONE_IMAGE, (64,), _WINDOWS), (0, 3, 1, 0, 0, 1), (0, 1, -1, 3, 1, 1)),
    "copy_pixels_overlapping": (
        _map((64, 12, 5, 3), (32, 480, 2400), (64,), Pixels((0, 0), (0, -2), (1, 1), 32)),
        (0, 3, 1, 0, 0, 2),
        (0, 8, 2, 2, 0, 1),
    ),
}
# Maps of f32 that are rounded to tf32, as a matrix and as an image, and where their two boxes begin.
#
# Their probes tell how TMA rounds f32. Where it truncates, all of them differ from the twin, in a quarter of their
# words or more. Where it rounds ties away from zero, only those of _ties differ, all of whose numbers lie halfway, in
# about half of their words.
ROUNDED = {
    "copy_box_2d": (_map((32, 64), (128,), (32, 32), dtype="tf32"), (0, 0), (0, 32)),
    "copy_pixels": (
        _map((32, 8, 4, 2), (128, 1024, 4096), (32,), Pixels((0, 0), (0, 0), (1, 1), 32), dtype="tf32"),
        (0, 0, 0, 0, 0, 0),
        (0, 0, 0, 1, 0, 0),
    ),
}
# Maps that cover the output by two boxes. The second one passes its edge.
STORES = {
    2: _map((64, 64), (128,), (64, 48), array=2),
    3: _map((64, 8, 8), (128, 1024), (64, 6, 8), array=2),
}

_START = f"""if (lane == 0) {{
    prefetch_map(&a);
    mbarrier_init(shared + {BARRIER}, 1);
    mbarrier_fence_init();
}}
"""


def _load(call: str, places: Sequence[tuple[int, ...]]) -> str:
    copies = "\n".join(
        f"    {call}(shared + {_HALF * i}, &a, shared + {BARRIER}, {', '.join(map(str, at))});"
        for i, at in enumerate(places)
    )
    return (
        f"{_START}__syncthreads();\nif (lane == 0) "
        f"{{\n    mbarrier_expect(shared + {BARRIER}, {BARRIER});\n{copies}\n}}\n"
        f"__syncwarp();\nmbarrier_wait(shared + {BARRIER}, 0);\n{copy_out(0, WORDS)}"
    )


def _multicast(call: str, places: Sequence[tuple[int, ...]]) -> str:
    copies = "\n".join(
        f"    if (cluster_rank() == {i})\n"
        f"        {call}(shared + {_HALF * i}, &a, shared + {BARRIER}, {', '.join(map(str, at))}, 3);"
        for i, at in enumerate(places)
    )
    other = "const unsigned start = cluster_rank() ? 0 : WORDS / 2;\n".replace("WORDS", str(WORDS))
    words = loop(WORDS // 2, "store_f32(c + start + i, as_float(load_shared(shared + 4 * (start + i))));")
    return (
        f"{_START}cluster_arrive();\ncluster_wait();\n"
        f"if (lane == 0) {{\n    mbarrier_expect(shared + {BARRIER}, {BARRIER});\n"
        f"{copies}\n}}\n__syncwarp();\nmbarrier_wait(shared + {BARRIER}, 0);\n"
        f"{other}{words}cluster_arrive();\ncluster_wait();\n"
    )


def _store(rank: int) -> str:
    along = STORES[rank].box[1]
    rest = ", 0" * (rank - 2)
    fill = loop(768, "cp_async_16(shared + 16 * i, a + 4 * (i % 512), 1);")
    return (
        f"{fill}cp_async_commit();\ncp_async_wait(0);\nfence_proxy_async();\n__syncthreads();\nif (lane == 0) {{\n"
        f"    store_box_{rank}d(&c, shared, 0, 0{rest});\n    tma_commit();\n"
        f"    store_box_{rank}d(&c, shared + 6144, 0, {along}{rest});\n    tma_commit();\n"
        "    tma_wait_read(1);\n    tma_wait_read(0);\n}\n"
    )


def _arrivals() -> str:
    """Sixteen phases. Each ends when all lanes have arrived."""
    return (
        f"if (lane == 0)\n    mbarrier_init(shared + {BARRIER}, 32);\n__syncthreads();\n"
        f"for (unsigned p = 0; p < 16; ++p) {{\n    mbarrier_arrive(shared + {BARRIER});\n"
        f"    mbarrier_wait(shared + {BARRIER}, p % 2);\n"
        f"    for (unsigned i = 128 * p + lane; i < 128 * p + 128; i += 32)\n        store_f32(c + i, as_float(a[i] + "
        f"p));\n}}\n"
    )


def _remote_arrivals() -> str:
    """Two phases that end when both blocks have arrived; each block writes half of the words."""
    half = WORDS // 2
    words = loop(half, f"store_f32(c + {half} * cluster_rank() + i, as_float(a[i] + cluster_rank()));")
    # Two lanes could end the next phase. Before they arrive there, all lanes must have seen the end of this one.
    turn = (
        f"if (lane < 2)\n    mbarrier_arrive_at(shared + {BARRIER}, lane);\n"
        f"mbarrier_wait(shared + {BARRIER}, TURN);\n__syncwarp();\n"
    )
    return (
        f"if (lane == 0) {{\n    mbarrier_init(shared + {BARRIER}, 2);\n    mbarrier_fence_init();\n}}\n"
        f"cluster_arrive();\ncluster_wait();\n{turn.replace('TURN', '0')}{turn.replace('TURN', '1')}{words}"
        "cluster_arrive();\ncluster_wait();\n"
    )
