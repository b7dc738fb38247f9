"""What the tests of the model share: a made-up machine, real layers, and what every scheme must be."""

from math import prod

from microkernels.scores.catalog import Catalog
from tiling.arrays.access import access_of
from tiling.loops.lowering.nest import Loop, RegisterTile, nest_of
from tiling.machine import CacheLevel, Machine
from tiling.operators import conv2d
from tiling.scheme.specifiers import Stage, Tile, Unroll
from tiling.text.notation import parse

L1 = CacheLevel("L1", 48 << 10, 64, 12, 500e9)
L2 = CacheLevel("L2", 1 << 20, 64, 16, 200e9)
L3 = CacheLevel("L3", 32 << 20, 64, 16, 80e9, shared_by=2)
MACHINE = Machine("test", "avx512f", 16, 32, 268e9, 2, (L1, L2, L3), 25e9, 12e9, 20e9)
CATALOG = Catalog("test", "avx512f", "conv2d")

# name: k, c, h = w of the input, r = s, stride; padding is r // 2.
LAYERS = {
    "Y0": (32, 3, 544, 3, 1),
    "Y2": (64, 32, 272, 3, 1),
    "Y4": (128, 64, 136, 3, 1),
    "Y5": (64, 128, 136, 1, 1),
    "Y8": (256, 128, 68, 3, 1),
    "Y9": (128, 256, 68, 1, 1),
    "Y12": (512, 256, 34, 3, 1),
    "Y13": (256, 512, 34, 1, 1),
    "Y18": (1024, 512, 17, 3, 1),
    "Y19": (512, 1024, 17, 1, 1),
    "Y23": (28269, 1024, 17, 1, 1),
    "R1": (64, 3, 224, 7, 2),
    "R2": (64, 64, 56, 3, 1),
    "R3": (64, 64, 56, 1, 1),
    "R4": (128, 64, 56, 3, 2),
    "R5": (128, 64, 56, 1, 2),
    "R6": (128, 128, 28, 3, 1),
    "R7": (256, 128, 28, 3, 2),
    "R8": (256, 128, 28, 1, 2),
    "R9": (256, 256, 14, 3, 1),
    "R10": (512, 256, 14, 3, 2),
    "R11": (512, 256, 14, 1, 2),
    "R12": (512, 512, 7, 3, 1),
}

DEPTHWISE = conv2d(c=144, k=144, groups=144, h=56, w=56, r=3, s=3, padding=1)


def layer(name):
    k, c, size, taps, stride = LAYERS[name]
    return conv2d(k=k, c=c, h=size, w=size, r=taps, s=taps, stride=stride, padding=taps // 2)


def points_covered(nodes):
    """Points visited, counted over the nest."""
    total = 0
    for node in nodes:
        if isinstance(node, RegisterTile):
            total += prod(extent for _, extent in node.points)
        else:
            total += (node.trips if isinstance(node, Loop) else 1) * points_covered(node.body)
    return total


def check_scheme(scheme, lanes):
    """The scheme covers its problem exactly, in the form that the emitter reads."""
    problem = scheme.problem
    assert parse(problem, scheme.text) == scheme
    padded = {**problem.extents, problem.vector_dim: -(-problem.extents[problem.vector_dim] // lanes) * lanes}
    assert points_covered(nest_of(scheme)) == prod(padded.values())
    stages = [s.tensor for s in scheme.specifiers if isinstance(s, Stage)]
    assert stages[-1] == problem.output.name and stages[:-1] in (
        [],
        [problem.vector.name] * access_of(problem).weights_broadcast,
    )
    inside = [s for s in scheme.specifiers[scheme.accumulators_at :] if isinstance(s, Tile)]
    assert all(s.dim in problem.reductions for s in inside)
    assert all(s.trips > 1 for s in scheme.specifiers if isinstance(s, Tile))
    assert all(s.factor != 1 for s in scheme.specifiers if isinstance(s, Unroll))
