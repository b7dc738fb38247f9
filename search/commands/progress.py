"""Shows a search under way on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from search.tuner.tune import SearchState
from tiling.problem import Problem

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["SearchState", "counted", "shown"]


@contextmanager
def shown(
    console: Console | None, problem: Problem, threads: int, budget: float | None
) -> Iterator[Callable[[SearchState], None]]:
    """A bar with the current step and the best result so far; nothing where there is no terminal.

    Steps differ too much to tell how long a search still takes, so the elapsed time stands beside the budget.
    """
    if console is None:
        yield lambda stage: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    steps = TextColumn("{task.fields[steps]}")
    columns = [TextColumn("{task.description}"), BarColumn(), steps, TimeElapsedColumn()]
    columns += [TextColumn(f"of {budget:g} s")] if budget else []
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, steps="")

        def progress(stage: SearchState) -> None:
            percent = 100 * problem.flops / stage.best / threads
            best = f", best {percent:.1f} % of peak" if percent else ""
            steps = f"{stage.done}/{stage.of}" if stage.of else ""
            bar.update(task, completed=stage.done, total=stage.of, description=stage.name + best, steps=steps)

        yield progress


@contextmanager
def counted(console: Console | None) -> Iterator[Callable[[SearchState], None]]:
    """A bar with the current step, how many of how many are done, and the time left; nothing without a terminal."""
    if console is None:
        yield lambda stage: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[steps]}"), TimeRemainingColumn()]
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, steps="")
        before = SearchState("")

        def progress(stage: SearchState) -> None:
            nonlocal before
            if stage.of != before.of or stage.done < before.done:  # other steps, which take another time
                bar.reset(task)
            before = stage
            steps = f"{stage.done} of {stage.of}" if stage.of else ""
            bar.update(task, completed=stage.done, total=stage.of, description=stage.name, steps=steps)

        yield progress
