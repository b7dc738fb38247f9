"""All errors that the toolkit raises, from whichever package."""

from cpu.kernel.export import ExportError
from cpu.kernel.opened import CpuError
from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.toolchain import CompileError, ToolchainError
from cpu.runtime.machine.host import MachineError
from cpu.runtime.processes.worker import CandidateError, OutOfMemory, WorkerError, is_worth_another_try
from microkernels.ranking.rank import RankingError
from microkernels.scores.database import StoreError
from search.evaluator.interface.protocol import TargetError
from search.tuner.tune import TuningError
from tiling.arguments import ArgumentError
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError

# A command line ends with exit code 1 and the error's own sentence.
FAILURES = (
    *(CacheError, CpuError, ExportError, RankingError, StoreError),
    *(TargetError, ToolchainError, TuningError, WorkerError),
)

__all__ = [
    "FAILURES",
    "ArgumentError",
    "CacheError",
    "CandidateError",
    "CompileError",
    "CpuError",
    "ExportError",
    "MachineError",
    "OutOfMemory",
    "ProblemError",
    "RankingError",
    "SchemeError",
    "StoreError",
    "TargetError",
    "ToolchainError",
    "TuningError",
    "WorkerError",
    "is_worth_another_try",
]
