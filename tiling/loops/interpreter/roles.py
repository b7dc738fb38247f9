"""How an interpreter runs the roles of a GPU's warps, and the blocks of a cluster: one goes on until it has to wait
for another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Semaphore, Thread

from tiling.loops.meaning.memory import Fault
from tiling.loops.meaning.workers import Workers, alone


def beside(parts: Sequence[Callable[[], None]], workers: Workers) -> None:
    """Runs parts side by side: each goes on until it has to wait, then the next one does.

    Raises what a part raises, and Fault where all of them wait, and so do those outside of them.
    """
    running = _Beside(parts, workers)
    try:
        running.run()
    finally:
        workers.pause = running.outside


class _Stopped(Exception):
    """Ends a part, because another one has failed."""


class _Beside:
    """One thread for each part. One at a time is at work."""

    def __init__(self, parts: Sequence[Callable[[], None]], workers: Workers) -> None:
        self.workers, self.group, self.outside = workers, workers.now, workers.pause
        self.turns, self.back = [Semaphore(0) for _ in parts], Semaphore(0)
        self.left, self.current = list(range(len(parts))), 0
        self.error: BaseException | None = None
        self.threads = [Thread(target=self.work, args=(n, part), daemon=True) for n, part in enumerate(parts)]

    def run(self) -> None:
        for thread in self.threads:
            thread.start()
        while self.left and self.error is None:
            before = (self.workers.waits, len(self.left))
            for number in tuple(self.left):
                if self.error is None:
                    self.turn(number)
            if (self.workers.waits, len(self.left)) == before and self.error is None:
                self.wait()
        while self.left:
            self.turn(self.left[0])
        self.workers.now = self.group
        if self.error is not None:
            raise self.error

    def wait(self) -> None:
        """All parts wait: those outside of them go on, if there are any."""
        if self.outside is alone:
            self.error = Fault("every role waits for a phase that another one has to end")
            return
        try:
            self.outside()
        except _Stopped as stopped:
            self.error = stopped

    def turn(self, number: int) -> None:
        """Lets a part go on until it waits or ends."""
        self.current = number
        self.turns[number].release()
        self.back.acquire()

    def pause(self) -> None:
        """Called by a part that waits: the others go on."""
        number, now = self.current, self.workers.now
        self.back.release()
        self.turns[number].acquire()
        if self.error is not None:
            raise _Stopped
        self.workers.now, self.workers.pause = now, self.pause

    def work(self, number: int, part: Callable[[], None]) -> None:
        self.turns[number].acquire()
        try:
            if self.error is None:
                self.workers.now, self.workers.pause = self.group, self.pause
                part()
        except _Stopped:
            pass
        except BaseException as error:
            self.error = error
        self.left.remove(number)
        self.back.release()
