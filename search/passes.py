"""What `--show-passes` prints: the loops of a kernel after each pass, as pseudo-code."""

from __future__ import annotations

from search.evaluator.protocol import Backend
from search.tuner.measured import AnyScheme
from tiling.problem import ProblemError
from tiling.text.shapes import canonical

AS_BEFORE = "(as before)"


def known_pass(backend: Backend, name: str) -> str:
    """The pass that a user calls so, dashes for spaces being welcome; "" for all. Raises ProblemError."""
    names = backend.pass_names
    if not names:
        raise ProblemError(
            f"--show-passes: kernels of --target {backend.target.name} are not written by passes over loops yet"
        )
    wanted = name.replace("-", " ").replace("_", " ")
    if wanted and wanted not in names:
        raise ProblemError(f"--show-passes {name}: there is no such pass; there are {', '.join(names)}")
    return wanted


def loops_text(backend: Backend, scheme: AnyScheme, wanted: str) -> str:
    """The loops after each pass, or after the `wanted` one. A pass that changes nothing is one line.

    Raises SchemeError for a kernel without passes, and ProblemError for one that does not need the wanted pass.
    """
    problem = scheme.problem
    parts, before = [f"# {problem.op} {canonical(problem)}\n# {scheme.text}"], ""
    for name, text in backend.passes(scheme):
        if wanted in ("", name):
            parts.append(f"--- {name} ---\n{AS_BEFORE if text == before and not wanted else text}")
        before = text
    if len(parts) == 1:
        raise ProblemError(f"--show-passes: this kernel needs no pass {wanted!r}")
    return "\n\n".join(parts)
