"""The C name of a problem's kernel, made of letters, digits and `_`. The rule is the same for every machine."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256

from tiling.problem import Problem
from tiling.text.shapes import canonical


def symbol_of(problem: Problem, algorithm: str = "direct") -> str:
    """The C name, such as `conv2d_f32_c64_h56_w56_k64_r3_s3_pad1` or `conv2d_winograd_f32_c64_…`.

    It holds the canonical shape and the algorithm. So kernels of different problems, or of one problem by different
    algorithms, can be linked into one library.
    """
    shape = canonical(replace(problem.original, epilogue=None)).replace(f",dtype={problem.dtype}", "")
    shape = shape.replace("=", "").replace(",", "_")
    if problem.epilogue:
        # The words are for people; the digest tells apart epilogues of the same words.
        text = str(problem.epilogue)
        words = re.sub("[^a-z0-9]+", "_", text.lower()).strip("_")[:40].strip("_")
        shape += f"_{words}_{sha256(text.encode()).hexdigest()[:8]}"
    op = problem.op if algorithm == "direct" else f"{problem.op}_{algorithm}"
    return f"{op}_{problem.dtype}_{shape}"
