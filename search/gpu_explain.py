"""Why a schedule won on a GPU: the time of each of its pipes as a table, and the slowest one in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from gpu.predict import Prediction
from search.explain import aligned, microseconds


def explain(chosen: Prediction, runners_up: Sequence[Prediction], why_not: str = "ptxas spills its registers") -> str:
    """A plain-text report: one row per candidate, their schemes, and one sentence on the chosen one.

    `why_not` says why a runner-up that the model ranks before the chosen one is not chosen.
    """
    names = ["chosen", *(f"#{place}" for place in range(2, 2 + len(runners_up)))]
    predictions = (chosen, *runners_up)
    parts = (name for name, _ in chosen.parts)
    header = ["", "time", "speed", *parts, "unhidden", "blocks at once", "waves", "limited by"]
    rows = [header, *(_row(name, prediction) for name, prediction in zip(names, predictions))]
    schemes = [f"{name:>6}  {prediction.scheme.text}" for name, prediction in zip(names, predictions)]
    return "\n".join([*aligned(rows), "", *schemes, "", reason(chosen, runners_up, why_not)])


def reason(chosen: Prediction, runners_up: Sequence[Prediction], why_not: str) -> str:
    """What limits the chosen scheme, how it fills the device, and what the next best one does worse."""
    share = dict(chosen.parts)[chosen.bottleneck] / chosen.seconds
    text = (
        f"Its {chosen.bottleneck} limits it ({share:.0%} of the time); a multiprocessor holds {chosen.resident} of its "
        f"blocks at once, in {chosen.waves:.2f} waves"
    )
    return f"{text}. {_difference(chosen, runners_up[0], why_not)}." if runners_up else f"{text}."


def _difference(best: Prediction, other: Prediction, why_not: str) -> str:
    slower = other.seconds / best.seconds - 1
    if slower < -0.001:
        return f"The model would have taken the next one, predicted {-slower:.1%} faster; {why_not}"
    if slower < 0.001:
        return "The next candidate is predicted equal, so only a measurement can tell them apart"
    theirs = (*other.parts, ("unhidden", other.unhidden))
    mine = (*best.parts, ("unhidden", best.unhidden))
    worst = max(zip(theirs, mine), key=lambda pair: pair[0][1] - pair[1][1])[0][0]
    return f"The next candidate is predicted {slower:.1%} slower, most of all by its {worst}"


def _row(name: str, prediction: Prediction) -> list[str]:
    rate = f"{prediction.scheme.problem.flops / prediction.seconds / 1e12:.1f} TFLOP/s"
    parts = [microseconds(seconds) for _, seconds in (*prediction.parts, ("unhidden", prediction.unhidden))]
    filled = [str(prediction.resident), f"{prediction.waves:.2f}"]
    return [name, microseconds(prediction.seconds), rate, *parts, *filled, prediction.bottleneck]
