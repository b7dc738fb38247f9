"""Ranks the microkernels of problems before their first search on a machine."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from microkernels.ranking.offline import machine_catalog
from microkernels.ranking.progress import shown as ranking_shown
from search.evaluator.interface.protocol import Backend
from tiling.problem import Problem

if TYPE_CHECKING:
    from rich.console import Console


def rank_first(backend: Backend, problems: Iterable[Problem], console: Console | None, own: bool = False) -> None:
    """Ranks the microkernels of these problems quickly, and says so, unless they are ranked.

    A ranking of this kind of machine that comes with the package counts too, unless `own`.
    """
    for ranking in dict.fromkeys(filter(None, map(backend.ranking, problems))):
        with ranking_shown(console) as progress:
            machine_catalog(
                *ranking,
                announce=lambda sentence: print(sentence, file=sys.stderr),
                cluster=backend.target.cluster,
                progress=progress,
                own=own,
            )
