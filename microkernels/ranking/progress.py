"""The progress of a ranking, on a terminal or in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from microkernels.ranking.rank import Progress

LOG_LINES = 10  # lines for a whole ranking, where there is no terminal that can redraw a bar


@contextmanager
def shown(console: Console) -> Iterator[Callable[[Progress], None]]:
    """The `progress` of `rank`: a bar with the time left and the best so far, or a few lines in a log."""
    if not console.is_terminal:
        yield lambda state: _log(console, state)
        return
    best = TextColumn("{task.description}", markup=False)
    columns = (TextColumn("ranking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), best)
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("", total=None)
        yield lambda state: bar.update(task, total=state.total, completed=state.done, description=_best(state))


def _log(console: Console, state: Progress) -> None:
    """Prints a line whenever another LOG_LINES-th of the ranking is done."""
    lines_due = state.done * LOG_LINES // max(state.total, 1)
    if state.done and lines_due > (state.done - 1) * LOG_LINES // state.total:
        text = f"{state.done} of {state.total} measured, {_best(state)}"
        console.print(text, soft_wrap=True, highlight=False, markup=False)


def _best(state: Progress) -> str:
    best = f"best {100 * state.best.score:.1f} % {state.best.kernel}" if state.best else "none yet"
    return best + (f", {state.failed} failed" if state.failed else "")
