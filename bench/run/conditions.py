"""The conditions of a run, as sentences: peers, versions, settings of this process and machine.

What depends on the target is a `Target` of `bench.run.targets`.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.peers import PEERS
from bench.report.results import Conditions
from bench.run.layers import ROUNDS
from bench.run.targets.table import TARGETS
from cpu.runtime.version import VERSION
from search.evaluator.cpu.backend import CpuBackend
from search.evaluator.gpu.cuda import CudaBackend
from search.tuner import store
from tiling.choices import meant
from tiling.problem import ProblemError
from tiling.text.suite import Layer


def available(wanted: Sequence[str] | None, target: str = "cpu") -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The version of each peer that can run, and (name, why not) for the others.

    None stands for the target's usual peers. Raises ProblemError for an unknown name.
    """
    wanted = list(dict.fromkeys(TARGETS[target].usual_peers if wanted is None else wanted))
    if "none" in wanted and len(wanted) > 1:
        raise ProblemError("--peers none stands for no peer: leave the others out")
    wanted = [] if wanted == ["none"] else wanted
    for name in wanted:
        if name not in PEERS:
            raise ProblemError(f"there is no peer {name!r}{meant(name, PEERS)}; there are {' '.join(PEERS)}, or none")
        if PEERS[name].target != target:
            here, ours = ("a GPU", "the CPU") if target == "cpu" else ("the CPU", "a GPU")
            raise ProblemError(f"{name} computes on {here}: beside kernels of {ours} it would compare two machines")
    versions, missing = {}, []
    for name in wanted:
        reason = PEERS[name].missing()
        if reason is None:
            try:
                versions[name] = PEERS[name].version()
            except Exception as error:  # whatever a foreign library raises when it is loaded
                said = str(error).partition("\n")[0]
                reason = f"it is installed and does not load ({type(error).__name__}: {said})"
        if reason:
            missing.append((name, reason))
    return versions, missing


def conditions(
    command: str,
    backend: CpuBackend | CudaBackend,
    versions: Mapping[str, str],
    missing: Sequence[tuple[str, str]],
    cache: str,
    budget: float,
) -> Conditions:
    """The conditions that every result of a run states besides its figures."""
    target = TARGETS[backend.target.name]
    return Conditions(
        command=command,
        machine=backend.machine,
        compiler=target.compiler(backend),
        tilewright=VERSION,
        python=platform.python_version(),
        peers=tuple((name, PEERS[name].title, version) for name, version in versions.items()),
        missing=tuple(missing),
        cache=target.caches[cache],
        pinned=target.state(),
        allocator=target.allocator,
        turns=f"medians over {ROUNDS} turns of {target.turn_seconds:g} s of every contender, in turns A B A B in one "
        f"process{target.turns}",
        budget=budget,
        target=backend.target.name,
    )


def identity(
    names: Sequence[str],
    suites: Mapping[str, Sequence[Layer]],
    threads: Sequence[int],
    dtype: str,
    algorithm: str,
    known: Conditions,
) -> dict[str, Any]:
    """A text that is equal for runs that measure the same. A run continues only such a run."""
    return {
        "layers": {name: [(layer.name, layer.shape, layer.count) for layer in suites[name]] for name in names},
        **{"target": known.target, "dtype": dtype, "algorithm": algorithm},
        **{"threads": list(threads), "cache": known.cache, "budget": known.budget, "peers": known.peers},
        **{"machine": known.machine.fingerprint, "isa": known.machine.isa, "compiler": known.compiler},
        "versions": [known.tilewright, store.VERSION, _own_text()],
    }


def _own_text() -> str:
    """A digest of this package, so that figures of another version are not continued."""
    texts = (path.read_bytes() for path in sorted(Path(__file__).parents[1].rglob("*.py")))
    return hashlib.sha256(b"".join(texts)).hexdigest()
