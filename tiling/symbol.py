"""The C name of a problem's kernel, the same rule for every machine: letters, digits and `_` only."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256

from tiling.problem import Problem
from tiling.shapes import canonical


def symbol_of(problem: Problem, algorithm: str = "direct") -> str:
    """Such as `conv2d_f32_c64_h56_w56_k64_r3_s3_pad1`, or of another algorithm `conv2d_winograd_f32_c64_…`.

    Made of the canonical shape, so that kernels of different problems, and of one problem by different algorithms, can
    be saved and linked side by side.
    """
    shape = canonical(replace(problem.asked, epilogue=None)).replace(f",dtype={problem.dtype}", "")
    shape = shape.replace("=", "").replace(",", "_")
    if problem.epilogue:
        # Its words can be read, and the digest tells apart what has the same words.
        text = str(problem.epilogue)
        words = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")[:40].strip("_")
        shape += f"_{words}_{sha256(text.encode()).hexdigest()[:8]}"
    op = problem.op if algorithm == "direct" else f"{problem.op}_{algorithm}"
    return f"{op}_{problem.dtype}_{shape}"
