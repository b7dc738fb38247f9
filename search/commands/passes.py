"""What `--show-passes` prints: the loops of a kernel after each pass, as pseudo-code."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from difflib import unified_diff

from search.evaluator.interface.protocol import Backend
from search.tuner.measured import AnyScheme
from tiling.choices import meant
from tiling.problem import ProblemError
from tiling.text.shapes import canonical

AS_BEFORE = "(as before)"
PACKING = "# packs W, once"
CHANGED = "# what this pass changed"
UNCHANGED = "# this pass changed nothing"


def add_show_passes(parser: argparse.ArgumentParser) -> None:
    """The option that asks for the loops."""
    parser.add_argument(
        "--show-passes",
        nargs="?",
        const="",
        metavar="NAME",
        help="print the kernel's loops after each pass, or after NAME alone and what it changed, in place of the "
        "report; measure nothing",
    )


def known_pass(names: tuple[str, ...], name: str) -> str:
    """The pass of these names that a user asks for, with dashes or spaces; "" for all. Raises ProblemError."""
    wanted = name.replace("-", " ").replace("_", " ")
    if wanted and wanted not in names:
        there = f"there is no such pass{meant(wanted, names)}; there are {', '.join(names)}"
        raise ProblemError(f"--show-passes {name}: {there}")
    return wanted


def loops_text(backend: Backend, scheme: AnyScheme, wanted: str) -> str:
    """The loops of a scheme's kernel, as `listed`. Raises SchemeError too, for a kernel without passes."""
    problem = scheme.problem
    kernel = listed(f"# {problem.op} {canonical(problem)}\n# {scheme.text}", backend.passes(scheme), wanted)
    packing = _stages(backend.packing(scheme), wanted)
    return "\n\n".join([kernel, PACKING, *packing] if packing else [kernel])


def listed(heading: str, forms: Iterable[tuple[str, str]], wanted: str) -> str:
    """The loops after each pass, or those after the `wanted` one and how they differ from those before it.

    Raises ProblemError for a kernel that does not need the wanted pass.
    """
    stages = _stages(forms, wanted)
    if not stages:
        raise ProblemError(f"--show-passes: this kernel needs no pass {wanted!r}")
    return "\n\n".join([heading, *stages])


def _stages(forms: Iterable[tuple[str, str]], wanted: str) -> list[str]:
    """The text for each pass. A pass that changes nothing is one line."""
    parts, before = [], ""
    for name, text in forms:
        if wanted in ("", name):
            parts.append(f"--- {name} ---\n{AS_BEFORE if text == before and not wanted else text}")
        if wanted == name and before:
            parts.append("\n".join(_changed(before, text)))
        before = text
    return parts


def _changed(before: str, after: str) -> list[str]:
    """The lines that a pass removed (-) and added (+), with some around them."""
    lines = [*unified_diff(before.splitlines(), after.splitlines(), lineterm="")][2:]  # the first two name files
    return [CHANGED, *lines] if lines else [UNCHANGED]
