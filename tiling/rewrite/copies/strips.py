"""Strips of flattened pixels: how long they are where a scheme copies them, S(x), and where it may.

    strip_of(scheme)  -> int      the points that tiles compute from one strip
    as_cached(scheme) -> Scheme   what caches hold of x: a strip

The problem of a scheme knows no strips, and its tiles read all points of x: `lower` says where a strip begins, and a
pass makes it. Only the cost model asks for less of x.
"""

from __future__ import annotations

from dataclasses import replace

from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import PIXELS, flat_pixels_of
from tiling.rewrite.copies.panels import LARGEST_PANEL
from tiling.rewrite.dot_groups import points_of, scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Stage, Tile


def copies_flat_pixels(scheme: Scheme) -> bool:
    """Whether a scheme reads x as flattened pixels that are copied, and so may copy them strip by strip."""
    return points_of(scheme) > 0 and flat_pixels_of(scheme.problem).padded


def strip_of(scheme: Scheme) -> int:
    """How many flattened pixels a scheme copies x by at a time; 0 where it copies all of x, or nothing.

    scheme: as a user writes it, or in dot groups.
    """
    flat, stage = scheme.problem.flat_pixels, Stage(scheme.problem.broadcast.name)
    if stage not in scheme.specifiers or not (flat or points_of(scheme)):
        return 0
    return scheme.covered(flat.dim if flat else PIXELS, scheme.specifiers.index(stage))


def as_cached(scheme: Scheme) -> Scheme:
    """A scheme in dot groups with x as caches hold it: the points of one strip, and those that their windows reach.

    Every other scheme stays itself.
    """
    problem, strip = scheme.problem, strip_of(scheme)
    if not strip:
        return scheme
    x, flat = problem.broadcast, problem.flat_pixels
    assert flat
    held = replace(x, indices=x.indices[1:], shape=(x.shape[1], strip + flat.reach))
    tensors = tuple(held if tensor is x else tensor for tensor in problem.tensors)
    return Scheme(replace(problem, tensors=tensors), scheme.specifiers)


def strip_bytes(scheme: Scheme) -> int:
    """Bytes of a strip."""
    problem = as_cached(scheme_in_dot_groups(scheme)).problem
    return problem.broadcast.elements * access_of(problem).bytes_of(problem.broadcast)


def unsupported_reason(scheme: Scheme) -> str | None:
    """Why the S(x) of a scheme that copies flattened pixels may not stand where it does; None where it may.

    The loops inside must read one strip: all channels of one image, and equally many points wherever it begins.
    """
    problem, stage = scheme.problem, Stage(scheme.problem.broadcast.name)
    place, (images, *_) = scheme.specifiers.index(stage), problem.row_dims
    if place > scheme.accumulators_at:
        return f"tiles share a strip of {stage.tensor}, so it stands outside S({problem.output.name})"
    for s in scheme.specifiers[:place]:
        dim = getattr(s, "dim", images)
        if dim in problem.looped_dims or dim[0] in problem.reductions or (isinstance(s, Lambda) and dim == PIXELS):
            return (
                f"it copies all channels and equally many points of {stage.tensor} each time, so {s} may not stand "
                f"outside it"
            )
    if scheme.covered(images, place) > 1 or any(tile[images] > 1 for tile in scheme.tiles):
        return f"a strip is of one image, and inside it are several: loop over {images} outside it"
    shared = next((s for s in scheme.specifiers[place:] if isinstance(s, Tile) and s.worker == "core"), None)
    if shared:
        return f"each core copies strips of its own, so {shared} stands outside it"
    size = strip_bytes(scheme)
    if size > LARGEST_PANEL:
        return f"a strip of {size} bytes, more than {LARGEST_PANEL}: let it stand inside a loop over {PIXELS}"
    return None
