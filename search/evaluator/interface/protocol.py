"""The interface between a search and a target: a `Backend` knows the target, an `Evaluator` tries candidates on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from microkernels.tile.isa_row import Isa
from search.tuner import store
from search.tuner.measured import AnyScheme
from search.tuner.target import Target
from tiling.machine import Machine, Timing
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.scheme.scheme import Scheme
from tiling.scheme.specifiers import SchemeError

# Seconds for a candidate's whole visit to a worker: compile, reference, check, samples. The largest layer takes about 3
# s.
CANDIDATE_SECONDS = 60.0


class TargetError(RuntimeError):
    """A GPU kernel cannot be compiled, run or trusted here. The message comes from the part of `gpu` that failed."""


def direct(scheme: AnyScheme) -> Scheme:
    """The scheme, for a target that has no other algorithm. Raises SchemeError for Winograd's."""
    if isinstance(scheme, Winograd):
        raise SchemeError(f"{scheme.head}: Winograd's algorithm is not covered on a GPU: give a scheme without F and B")
    return scheme


@dataclass(frozen=True)
class Verdict:
    """The result of a last check that passed, so integers were exact.

    timing: None where the target cannot be timed. max_error: None where the target checks no reals. conflicts: cycles
    that bank conflicts cost on the CPU emulation of a GPU, where it counts them; None elsewhere.
    """

    timing: Timing | None
    max_error: float | None
    conflicts: int | None = None


@dataclass(frozen=True)
class Details:
    """What a report says about a kernel for this kind of target only.

    fields: part of the JSON object. lines: part of the text, below the scheme. bound: the limit of the largest error.
    checked_on: the end of the check's sentence, which says where it ran. each, conditions: how times were taken.
    speed(reached, percent, peak): the sentence on the speed, in GFLOP/s. busy: why samples may differ a lot. place: the
    name and text of the line on the machine. cores: how many cores the threads can occupy; the peak counts all of them.
    version: the version of the emitter. lacking: the CPU flags without which no wider instruction set was chosen.
    """

    fields: Mapping[str, object]
    lines: tuple[tuple[str, str], ...]
    microkernels: tuple[str, ...]
    bound: str
    checked_on: str
    each: str
    conditions: str
    speed: Callable[[float, float, float], str]
    busy: str
    place: tuple[str, str]
    cores: int
    version: str
    lacking: tuple[str, ...] = ()


class Checker(Protocol):
    """Makes the last check of a kernel."""

    def close(self) -> None:
        """Ends what the check needed."""

    def verify(self, scheme: AnyScheme, seconds: float, seed: int) -> Verdict:
        """The last check: small integers, reals of `seed`, and a timing. Raises CandidateError.

        No candidate was measured before in the process that checks, and none failed there.
        """


class Evaluator(Checker, Protocol):
    """Tries the candidates of one problem, in processes of its own."""

    @property
    def batch(self) -> int:
        """How many schemes are best prepared together."""

    def ready(self) -> None:
        """Starts what every candidate needs. The budget begins afterwards. Raises WorkerError."""

    def prepare(self, schemes: Sequence[AnyScheme], patience: float = CANDIDATE_SECONDS) -> dict[str, Timing | str]:
        """Compiles schemes on all cores, ready for measuring.

        Returns, by text, why some schemes are of no use, and the timings of schemes that were already measured.
        """

    def measure(self, scheme: AnyScheme, seconds: float, patience: float = CANDIDATE_SECONDS) -> Timing | str:
        """Checks one scheme on small integers and times it; or the reason why there is no timing.

        `Timing.disturbed` says how other programs disturbed the times.
        """


class Backend(Protocol):
    """One target: how it computes a problem, which schemes it may use, and how they are built."""

    @property
    def target(self) -> Target:
        """The target of this back end."""

    @property
    def machine(self) -> Machine:
        """The rates and sizes that the model uses."""

    def problem(self, problem: Problem) -> Problem:
        """The problem as this target computes it. Raises ProblemError."""

    def parsed(self, problem: Problem, text: str) -> AnyScheme:
        """The scheme that `text` spells for a problem of `problem()`. Raises SchemeError."""

    def ranking(self, problem: Problem) -> tuple[Isa, str] | None:
        """The ranking of microkernels that serves `candidates` most; None where the target has no rankings."""

    def candidates(self, problem: Problem) -> Sequence[AnyScheme]:
        """Schemes in the order to try them; the first is the model's choice. Raises ProblemError, SchemeError."""

    def predicted_seconds(self, schemes: Sequence[AnyScheme]) -> list[float]:
        """Predicted seconds of a call, in the order of `schemes`."""

    def key(self, problem: Problem) -> store.Key | None:
        """The store's key for the problem; None where nothing is kept."""

    def kind(self, tune: str, problem: Problem) -> str | None:
        """The store's name for a choice of `tune`, "model" or "measure"; None where no such choice is kept."""

    def first_built(self, schemes: Iterable[AnyScheme]) -> AnyScheme:
        """The first scheme that compiles well; where none can be compiled here, the first. Else raises the reason."""

    def compile(self, scheme: AnyScheme) -> None:
        """Compiles a scheme as far as that can be done here. Raises the reason where it fails."""

    # Each back end has its own kind of kernel (`search.evaluator.kernels`), which imports this module.
    def build(self, scheme: AnyScheme, timing: Timing | None = None) -> Any:
        """The scheme as a callable kernel that holds the timing of a search."""

    def disturbance(self) -> str:
        """How other programs would disturb a measurement now; empty where they would not, or where nobody knows."""

    def evaluator(self, problem: Problem) -> Evaluator:
        """The evaluator for the candidates of a problem of `problem()`. Raises ProblemError where nothing is timed."""

    def checker(self, problem: Problem) -> Checker:
        """What makes the last check of a kernel for a problem of `problem()`."""

    def definition_error(self, scheme: AnyScheme, seed: int) -> float | None:
        """The largest error of a direct convolution on the data of `verify`; None where the scheme is one."""

    def remarks(self, scheme: AnyScheme | None) -> list[str]:
        """Sentences that a user should read before a search, or about a given scheme."""

    def details(self, scheme: AnyScheme) -> Details:
        """What a report says about a scheme's kernel."""

    def explain(self, scheme: AnyScheme, others: Sequence[AnyScheme], why_not: str) -> str:
        """Why the scheme is chosen, beside the next of `others`. why_not: why a better predicted one is not chosen."""

    def source(self, scheme: AnyScheme) -> str:
        """The kernel's text."""

    def assembly(self, scheme: AnyScheme) -> str:
        """The kernel's assembly, for people to read."""

    @property
    def pass_names(self) -> tuple[str, ...]:
        """The names of the passes over loops that write kernels, in order; empty where there are none."""

    def passes(self, scheme: AnyScheme) -> Iterator[tuple[str, str]]:
        """The kernel's loops as text after each pass that it needs: (name, text), … Raises SchemeError."""

    def packing(self, scheme: AnyScheme) -> Iterator[tuple[str, str]]:
        """As `passes`, for the loops that pack the kernel's weights ahead; empty where it packs none."""

    def save(self, scheme: AnyScheme, folder: Path, name: str | None = None) -> tuple[Path, ...]:
        """Writes the kernel into a folder. `name`: the name of its C function. Raises ExportError."""
