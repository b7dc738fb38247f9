"""Candidate schemes of a problem on a CPU, in the order to try them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest

from microkernels.scores.catalog import Catalog
from microkernels.tile.isa import isa_named
from microkernels.tile.isa_row import Isa
from microkernels.tile.microkernel import ranked_op
from search.cost.additions import after_addition
from search.cost.cache_conflicts import geometry
from search.cost.copies import after_copy
from search.cost.predict import Prediction, Predictor
from search.cost.volume import NOTHING, WEIGHTS, Cold
from search.space import space, winograd
from search.space.layouts import layouts
from search.space.parts import part_counts
from search.space.space import Candidate
from search.space.strips import with_strips
from search.space.winograd import WinogradCandidate
from tiling.arrays.access import access_of
from tiling.machine import Machine
from tiling.problem import Problem, ProblemError
from tiling.rewrite.copies.strips import as_cached
from tiling.rewrite.dot_groups import in_dot_groups, matrix_dot_group, scheme_from_dot_groups, scheme_in_dot_groups
from tiling.rewrite.grouped import beside_each_other
from tiling.rewrite.parts import in_parts, scheme_from_parts
from tiling.rewrite.pointwise import along_pixels
from tiling.rewrite.winograd.algorithm import Winograd, unsupported_reason
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import DotGroup
from tiling.text.notation import parse

# How many of the best candidates are also tried with x in strips.
STRIPPED = 32


@dataclass(frozen=True)
class Knowledge:
    """What the model knows of a CPU.

    catalog(op, by_matrix): the ranked microkernels of an operator; where `by_matrix`, those of matrix instructions.
    cold: the arrays that each call finds in memory (`search.cost.volume`).
    """

    isa: Isa
    machine: Machine
    catalog: Callable[[str, bool], Catalog]
    threads: int
    algorithm: str
    cold: Cold = NOTHING

    @property
    def between_algorithms(self) -> Knowledge:
        """By what algorithms are compared. Weights that come from memory decide among direct kernels alone.

        Winograd's products prefetch theirs, which hides more of that time than is predicted (docs/decisions/018).
        """
        return replace(self, cold=NOTHING) if self.cold == WEIGHTS else self

    def beside(self, dots: Problem) -> Machine:
        """The machine with the instruction set that multiplies the dot groups of this problem."""
        vectors = self.isa.matrix and not access_of(dots).by_matrix
        return replace(self.machine, isa=self.isa.vectors) if vectors else self.machine


def computed(problem: Problem, isa: Isa) -> Problem:
    """The problem as vectors of an instruction set compute it. Raises ProblemError.

    Narrow groups stand side by side in a vector. Vectors of a pointwise convolution, channels first, run along pixels.
    """
    return along_pixels(beside_each_other(problem, isa.lanes), isa.lanes)


def parsed(problem: Problem, text: str) -> Scheme | Winograd:
    """The scheme that `text` spells for a problem as it is computed. Raises SchemeError.

    Where the vectors of `text` lie along the original problem's vectorised dim, it is a scheme for that problem.
    """
    original = problem.original
    other = original is not problem and re.search(rf"V\(\s*{original.vector_dim}\s*,", text)
    return parse(original if other else problem, text)


def ranking(problem: Problem, isa: Isa) -> tuple[Isa, str]:
    """The instruction set and the operator whose ranking serves `candidates` most for this problem."""
    dots = in_dot_groups(problem, _block(problem, isa))
    return (isa if access_of(dots).by_matrix else isa_named(isa.ranked)), ranked_op(dots)


def check_algorithm(problem: Problem, algorithm: str) -> None:
    """Raises ProblemError where `algorithm` is "winograd" and Winograd's algorithm cannot compute the problem."""
    refused = unsupported_reason(problem) if algorithm == "winograd" else None
    if refused:
        raise ProblemError(refused)


def candidates(problem: Problem, known: Knowledge) -> list[Scheme | Winograd]:
    """Candidate schemes in the order to try them; the first is the model's choice.

    `search.space.space` and `search.space.winograd` list them. Narrow numbers are searched as dot groups, which are the
    same to tiles and caches. Raises ProblemError as `check_algorithm` does.
    """
    check_algorithm(problem, known.algorithm)
    transformed: list[WinogradCandidate] = []
    direct: tuple[Candidate, ...] = ()
    if known.algorithm != "direct" and not unsupported_reason(problem):
        products = known.catalog("matmul", False)
        resources = known.machine, products, known.threads
        transformed = winograd.winograd_candidates(problem, *resources, known.between_algorithms.cold)
        if known.algorithm == "auto":
            transformed = winograd.fit_for_networks(transformed, *resources)
    if known.algorithm != "winograd":
        ranked = _ranked(problem, known)
        direct = space.shortlist(ranked, len(ranked))
    # Each algorithm keeps its own order, since `shortlist` does not order by predicted time alone.
    first_transformed = transformed and (
        not direct or transformed[0].prediction.seconds <= _between_algorithms(direct[0], known)
    )
    turns: tuple[Sequence[Candidate | WinogradCandidate], ...]
    turns = (transformed, direct) if first_transformed else (direct, transformed)
    mixed = [candidate for pair in zip_longest(*turns) for candidate in pair if candidate]
    return [candidate.scheme for candidate in mixed]


def _between_algorithms(direct: Candidate, known: Knowledge) -> float:
    """The predicted seconds by which a direct candidate is compared with Winograd's."""
    other = known.between_algorithms
    return (direct if other is known else _predicted([direct.scheme], other)[0]).prediction.seconds


def predicted(schemes: Sequence[Scheme | Winograd], known: Knowledge) -> list[Candidate | WinogradCandidate]:
    """Any schemes of one problem with their predictions, in the order given."""
    products = known.catalog("matmul", False)
    by_winograd = [s for s in schemes if isinstance(s, Winograd)]
    resources = known.machine, products, known.threads
    transformed = iter(winograd.predicted(by_winograd, *resources, known.between_algorithms.cold))
    direct = iter(_predicted([s for s in schemes if isinstance(s, Scheme)], known))
    return [next(transformed) if isinstance(s, Winograd) else next(direct) for s in schemes]


def _predicted(schemes: Sequence[Scheme], known: Knowledge) -> list[Candidate]:
    """As `predicted`, for direct convolutions and matrix products."""
    # Schemes of one problem may have dot groups of different dims and sizes.
    catalog = lru_cache(lambda dots: space.trusted(known.catalog(ranked_op(dots), access_of(dots).by_matrix)))
    predictor = lru_cache(
        lambda dots: Predictor(dots, known.beside(dots), catalog(dots), known.threads, cold=known.cold)
    )
    in_turn = ((scheme, as_cached(scheme_in_dot_groups(scheme))) for scheme in schemes)
    return [
        Candidate(scheme, _whole(predictor(dots.problem).predict(dots), scheme, known.machine))
        for scheme, dots in in_turn
    ]


def _whole(loops: Prediction, scheme: Scheme, machine: Machine) -> Prediction:
    """The prediction of a scheme's loops plus the copy of x before them and the addition of parts after them."""
    return after_addition(after_copy(loops, scheme, machine), scheme, machine)


def _in_parts(problem: Problem, known: Knowledge) -> Iterator[Candidate]:
    """Candidates whose cores share a sum, where there are few outputs to share."""
    machine = known.beside(problem)
    for dim, count in part_counts(problem, machine.lanes, known.threads):
        parts = in_parts(problem, dim, count)
        catalog = known.catalog(ranked_op(parts), False)
        for candidate in space.candidates(parts, machine, catalog, known.threads, cold=known.cold):
            scheme = scheme_from_parts(problem, dim, candidate.scheme)
            yield Candidate(scheme, _whole(candidate.prediction, scheme, known.machine))


def _block(problem: Problem, isa: Isa) -> DotGroup | None:
    return matrix_dot_group(problem) if isa.matrix else None


def _ranked(problem: Problem, known: Knowledge) -> tuple[Candidate, ...]:
    """Direct candidates in all layouts of x, and the best of them with x in strips, fastest predicted first."""
    dot = _block(problem, known.isa)
    found: list[Candidate] = []
    for dots in layouts(problem, dot):
        catalog = known.catalog(ranked_op(dots), access_of(dots).by_matrix)
        for candidate in space.candidates(dots, known.beside(dots), catalog, known.threads, cold=known.cold):
            scheme = scheme_from_dot_groups(problem, candidate.scheme, dot)
            found.append(Candidate(scheme, _whole(candidate.prediction, scheme, known.machine)))
    found += _in_parts(problem, known)
    # The sort is stable: equal candidates of one layout stay in the order of `search.space.space`.
    found.sort(key=space.rounded(found))
    caches = known.machine.caches
    largest = geometry(caches, min(1, len(caches) - 1), known.threads).bytes / 2
    found += _predicted([s for best in found[:STRIPPED] for s in with_strips(best.scheme, largest)], known)
    return tuple(sorted(found, key=space.rounded(found)))
