"""The progress of a ranking, on a terminal or in a log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from microkernels.ranking.rank import Progress

if TYPE_CHECKING:
    from rich.console import Console

LOG_LINES = 10  # lines for a whole ranking, where there is no terminal that can redraw a bar


@contextmanager
def shown(console: Console | None) -> Iterator[Callable[[Progress], None]]:
    """The `progress` of `rank`: a bar with the time left and the best so far, or a few lines in a log."""
    if console is None:
        yield _log
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    best = TextColumn("{task.description}", markup=False)
    columns = (TextColumn("ranking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), best)
    with Bar(*columns, console=console) as bar:
        task = bar.add_task("", total=None)
        yield lambda state: bar.update(task, total=state.total, completed=state.done, description=_best(state))


def _log(state: Progress) -> None:
    """Prints a line whenever another LOG_LINES-th of the ranking is done."""
    lines_due = state.done * LOG_LINES // max(state.total, 1)
    if state.done and lines_due > (state.done - 1) * LOG_LINES // state.total:
        print(f"{state.done} of {state.total} measured, {_best(state)}", file=sys.stderr)


def _best(state: Progress) -> str:
    best = f"best {100 * state.best.score:.1f} % {state.best.kernel}" if state.best else "none yet"
    return best + (f", {state.failed} failed" if state.failed else "")
