"""Which tile function a position calls: for whole panels or the masked last one, on the image or on padding."""

from __future__ import annotations

from cpu.codegen.expression import chosen
from cpu.codegen.site import Case, Clip, Clipping, Site
from tiling.expression import times
from tiling.problem import Problem
from tiling.tensor import Window


def dispatch(
    site: Site,
    at: dict[str, str],
    names: dict[tuple[tuple[Clip, ...], bool], str],
    masks: tuple[bool, ...],
    last_vector: int,
    call: str,
) -> list[str]:
    """The lines that call the right function at position `at`.

    They choose first between whole panels and the masked last one, which starts at `last_vector`, then among the clips
    of each window.
    names: the functions by (clips, masked). masks: whether whole and masked panels occur.
    """
    lane = at[site.problem.vector_dim]

    def windows(index: int, clips: tuple, tail: bool) -> list[str]:
        if index == len(site.clipped):
            return [f"{names[clips, tail]}({call});"]
        clipping = site.clipped[index]
        by_tap = []
        for tap in clipping.taps:
            cases = [case for case in clipping.cases if case.tap == tap]
            # Most tiles touch no padding, so their test comes first.
            cases.sort(key=lambda case: case.clip != clipping.whole)
            arms = [
                (_within(at[clipping.window.dim], case, cases), windows(index + 1, (*clips, case.clip), tail))
                for case in cases
            ]
            by_tap.append((f"{at[clipping.window.tap]} == {tap}", chosen(arms)))
        return chosen(by_tap)

    return chosen([(f"{lane} {'==' if tail else '<'} {last_vector}", windows(0, (), tail)) for tail in masks])


def label(clipping: Clipping, clip: Clip) -> str:
    """The part `_wpad1` of a function's name, numbered by clip. Empty for tiles that touch no padding."""
    if clip == clipping.whole:
        return ""
    return f"_{clipping.window.dim}pad{clipping.clips.index(clip)}"


def bounds(window: Window, at: dict[str, str], problem: Problem) -> list[str]:
    """The declarations of the range of taps that lie on the image, for the row at `at`."""
    taps = problem.extents[window.tap]
    start, tap = f"{window.dim}_in", window.tap
    step = window.dilation
    first = f"-{start}" if step == 1 else f"({step - 1} - {start}) / {step}"
    left = f"{window.extent} - {start}"
    end = left if step == 1 else f"({left} + {step - 1}) / {step}"
    return [
        f"const long {start} = {times(at[window.dim], window.stride)} - {window.before};",
        f"const long {tap}_begin = {start} < 0 ? {first} : 0;",
        f"const long {tap}_end = {end} < {taps} ? {end} : {taps};",
    ]


def _within(position: str, case: Case, cases: list[Case]) -> str:
    """The test that `position` belongs to `case` and to no other of `cases`, which cover the dim in order."""
    tests = []
    if any(other.last < case.first for other in cases):
        tests.append(f"{position} >= {case.first}")
    if any(other.first > case.last for other in cases):
        tests.append(f"{position} <= {case.last}")
    return " && ".join(tests)
