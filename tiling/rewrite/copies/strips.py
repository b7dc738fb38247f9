"""Which strips of flattened pixels a scheme may copy, S(x). The search and the CPU's check share these rules."""

from __future__ import annotations

from tiling.arrays.access import access_of
from tiling.arrays.flat_pixels import PIXELS, flat_pixels_of
from tiling.rewrite.copies.panels import LARGEST_PANEL
from tiling.rewrite.dot_groups import points_of, scheme_in_dot_groups
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import Lambda, Stage


def copies_flat_pixels(scheme: Scheme) -> bool:
    """Whether a scheme reads x as flattened pixels that are copied, and so may copy them strip by strip."""
    return points_of(scheme) > 0 and flat_pixels_of(scheme.problem).padded


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
    dots = scheme_in_dot_groups(scheme).problem
    size = dots.broadcast.elements * access_of(dots).bytes_of(dots.broadcast)
    if size > LARGEST_PANEL:
        return f"a strip of {size} bytes, more than {LARGEST_PANEL}: let it stand inside a loop over {PIXELS}"
    return None
