"""The time that a kernel takes to add up the parts of sums that cores share."""

from __future__ import annotations

from dataclasses import replace

from search.cost.costs import COSTS
from search.cost.predict import Prediction, bandwidth
from search.cost.volume import tasks
from tiling.arrays.access import access_of
from tiling.machine import Machine
from tiling.rewrite.parts import shared_sum
from tiling.scheme.scheme import Scheme


def after_addition(prediction: Prediction, scheme: Scheme, machine: Machine) -> Prediction:
    """Adds to the prediction of a scheme's loops that all threads wait, read every part, and write the output.

    The parts that a thread reads come from the caches of other cores, so the bandwidth of the last cache counts.
    """
    shared = shared_sum(scheme)
    if shared is None:
        return prediction
    output = scheme.problem.output
    size = (shared.trips + 1) * output.elements * access_of(scheme.problem).bytes_of(output)
    threads = min(prediction.threads, tasks(scheme))
    apart = machine.caches[-1].bandwidth if threads > 1 else bandwidth(machine, size)
    addition = size / apart / threads + (COSTS.wait if threads > 1 else 0.0)
    return replace(prediction, seconds=prediction.seconds + addition, addition=addition)
