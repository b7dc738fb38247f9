"""What layouts take, for readers, and why a layout that is faster for a step was not chosen for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graph.layouts.choice import cut_of, moving, priced
from graph.layouts.costs import Costs
from graph.layouts.cut import NEVER
from graph.layouts.images import LAYOUT, is_free
from graph.model.language import Model, Step
from tiling.durations import milliseconds
from tiling.operators import in_layout
from tiling.problem import Problem
from tiling.program.infer import Sized

SIDES = ("channels first", "channels last")
# How layouts are chosen by the lines that `told` writes.
LEAST_SUM = "chosen for the least sum of the times in the layout lines below"


def told(graph: Model, laid: Model, last: frozenset[int], costs: Costs) -> dict[tuple[str, ...], str]:
    """What the convolutions and conversions of a model in its layouts take, by the step's outputs.

    Those of convolutions are ordered by x and w too: a convolution that takes a map in later writes what the map wrote.
    graph: the model before layouts, of which the steps `last` keep channels last. laid: the model with them.
    """
    compared, found = frozenset(priced(graph)), {}
    free = iter([number for number, step in enumerate(graph.steps) if is_free(step)])
    for step in laid.steps:
        work = step.work
        if isinstance(work, Problem) and work in compared:
            works = in_layout(work, "nchw"), in_layout(work, "nhwc")
            pair = costs.pair(works, (costs.predicted(works[0]), costs.predicted(works[1])))
            number = next(free)
            kept, other = number in last, number not in last
            text = f"{SIDES[kept]}, {costs.told(works[kept], pair[kept])}"
            text += f"; with {SIDES[other]} {costs.told(works[other], pair[other])}"
            if pair[kept] > pair[other]:
                text += f"; {_reason(graph, last, costs, number)}"
            found[step.outputs] = found[step.inputs[:2]] = text
        elif isinstance(work, Sized) and step.node == LAYOUT:
            found[step.outputs] = f"a conversion, {costs.told(work, costs.of(work, moving(work.inputs[0])))}"
    return found


def renamed(told: Mapping[tuple[str, ...], str], pairs: Iterable[tuple[Step, Step]]) -> dict[tuple[str, ...], str]:
    """What `told` says, by the outputs of the steps that a model ends with.

    pairs: a step, and what became of it: a loop over images gives some arrays of its steps other names.
    """
    found = {}
    for step, last in pairs:
        # Others that read a convolution's output alone are not told of it.
        keys = (step.outputs, step.inputs[:2]) if isinstance(step.work, Problem) else (step.outputs,)
        if text := next(filter(None, map(told.get, keys)), ""):
            found[last.outputs] = text
    return found


def _reason(graph: Model, last: frozenset[int], costs: Costs, number: int) -> str:
    """Why a step keeps the layout in which it takes longer by itself."""
    kept, other = SIDES[number in last], SIDES[number not in last]
    cut = cut_of(graph, costs)
    now = cut.least({step: step in last for step in range(len(graph.steps))})
    more = cut.least({number: number not in last}) - now
    if more >= NEVER / 2:
        return f"it keeps {kept}, since the file sees what it reads in another shape"
    if more > 0:
        return f"it keeps {kept}: with {other} all steps and conversions would take {milliseconds(more)} ms more"
    return (
        f"it keeps {kept}: with {other} all steps would take {milliseconds(-more)} ms less by these times, but the "
        "last word is the whole model's time, and a search that ended early may not have come to it"
    )
