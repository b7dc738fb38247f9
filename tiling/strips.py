"""Which strips of planes a scheme may copy, S(x): the rules that a CPU kernel and a search share (`cpu.planes`)."""

from __future__ import annotations

from tiling.plane import PIXELS, plane_of
from tiling.pointwise import LARGEST_PANEL
from tiling.scheme import Lambda, Scheme, Stage
from tiling.words import points_of, scheme_in_words


def copies_planes(scheme: Scheme) -> bool:
    """Whether a scheme reads x as planes that are copied, and so may copy them strip by strip."""
    return points_of(scheme) > 0 and plane_of(scheme.problem).padded


def refusal(scheme: Scheme) -> str | None:
    """Why the S(x) of a scheme that copies planes may not stand where it does, as a sentence; None where it may.

    The loops inside read one strip, of all channels of one image, and of the same size wherever it begins.
    """
    problem, stage = scheme.problem, Stage(scheme.problem.broadcast.name)
    place, (images, *_) = scheme.specifiers.index(stage), problem.row_dims
    if place > scheme.place_of_sums:
        return f"tiles share a strip of {stage.tensor}, so it stands outside S({problem.output.name})"
    for s in scheme.specifiers[:place]:
        dim = getattr(s, "dim", images)
        if dim in problem.looped_dims or dim[0] in problem.reductions or isinstance(s, Lambda) and dim == PIXELS:
            return (
                f"it copies all channels of a strip of {stage.tensor}, as many points each time, so {s} may not stand "
                f"outside it"
            )
    if scheme.covered(images, place) > 1 or any(tile[images] > 1 for tile in scheme.tiles):
        return f"a strip is of one image, and inside it are several: loop over {images} outside it"
    words = scheme_in_words(scheme).problem
    size = words.broadcast.elements * words.bytes_of(words.broadcast)
    if size > LARGEST_PANEL:
        return f"a strip of {size} bytes, more than {LARGEST_PANEL}: let it stand inside a loop over {PIXELS}"
    return None
