"""Times whole models in turns. Each lies in a folder, and one worker calls all.

So weights come cold, as in use, and what disturbs one model disturbs the others.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cpu.runtime.processes.worker import Worker
from graph.calls.saved_folder import placed

# Turns of a comparison: as many as take so many seconds, within these limits.
LEAST_TURNS, MOST_TURNS, COMPARING = 5, 15, 4.0
# A call of a model in a worker takes seconds at most, and a kernel that hangs is found by this.
_TURNS_SECONDS = 300.0


class Trials:
    """The folders of some models and the worker that calls them."""

    def __init__(self, folder: Path, worker: Worker) -> None:
        self.folder, self.worker, self.made = folder, worker, 0

    def placed(self, files: Mapping[str, bytes]) -> Path:
        """The folder of a model."""
        self.made += 1
        folder = self.folder / str(self.made)
        placed(folder, files)
        return folder

    def dropped(self, folder: Path) -> None:
        """Removes a model."""
        shutil.rmtree(folder)

    def timed(self, folders: Sequence[Path], count: int) -> list[np.ndarray]:
        """For each model the seconds of its steps in `count` turns: seconds[turn, step]. Raises CandidateError."""
        found = self.worker.call(
            "graph.calls.turns:turns", timeout=_TURNS_SECONDS, folders=list(map(str, folders)), count=count
        )
        return [np.array(each) for each in found]


@contextmanager
def trials(environment: Mapping[str, str]) -> Iterator[Trials]:
    """Trials whose folders are removed, and whose worker ends, on leaving. environment: that of the worker."""
    with (
        TemporaryDirectory(prefix="tilewright-") as folder,
        closing(Worker(env=environment, packages=("graph",))) as worker,
    ):
        yield Trials(Path(folder), worker)


def turns_for(whole: float) -> int:
    """The number of turns in which two models of so many seconds are compared: each is called twice in a turn."""
    return max(LEAST_TURNS, min(MOST_TURNS, int(COMPARING / (4 * whole))))
