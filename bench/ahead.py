"""`python -m bench.ahead --suite yolo9000:Y23`: what kernels gain by asking for what they will read before they do.

One scheme, its kernel compiled three times: as emitted, with the requests to L2 alone, and with no requests
(`tiling.ahead`). Addresses and counters are the same in all three, so what is shown is what the requests bring. All
take turns in one process, on one thread; of each the median counts, in percent of the FMA peak measured beside it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import partial

from bench.files import ReportError
from bench.journal import alone
from bench.layouts import laid_out
from cpu.kernel import Kernel, aligned
from cpu.neighbours import undisturbed
from cpu.numbers import stored
from cpu.oracle import reals
from search.options import FAILURES, INTERRUPTED
from search.workshop import Workshop, workshop
from tiling.machine import Timing
from tiling.operators import LAYOUTS
from tiling.problem import ProblemError
from tiling.scheme import Scheme, SchemeError
from tiling.shapes import chosen

ROUNDS, TURN_SECONDS = 7, 0.1
REQUEST = "__builtin_prefetch"
# What is put before the kernel's text: a macro is not expanded inside itself, so the second one still asks. Level 2 is
# L2, level 3 is L1.
BEFORE = {
    "nothing asked": f"#define {REQUEST}(line, write, level) ((void)(line))\n",
    "to L2": f"#define {REQUEST}(line, write, level) ((level) == 2 ? {REQUEST}(line, write, 2) : (void)0)\n",
    "all": "",
}


@dataclass(frozen=True)
class Gain:
    """One scheme's samples for each of BEFORE's kernels."""

    scheme: Scheme
    timings: dict[str, Timing]

    def percent(self, name: str) -> float:
        """Of the FMA peak measured beside it."""
        return 100 * self.timings[name].fraction_of_peak(self.scheme.problem.flops)


def gain(shop: Workshop, scheme: Scheme) -> Gain | None:
    """None where the kernel asks for nothing. Raises what `Workshop.build` does."""
    kernel = shop.build(scheme)
    if REQUEST not in kernel.source:
        return None
    source = kernel.emitted
    kernels = {name: Kernel(scheme, replace(source, text=before + source.text)) for name, before in BEFORE.items()}
    x, w = map(aligned, stored(scheme.problem, reals(scheme.problem, 0)))
    packed, y = kernel.pack(w), kernel.empty()
    turns = {name: [] for name in BEFORE}
    for _ in range(ROUNDS):
        for name, each in kernels.items():
            turns[name].append(undisturbed(partial(each.measure, x, packed.data, y, TURN_SECONDS), 1))
    # Other programs only ever lower a peak, and the turns were mixed: the highest is everybody's.
    peak = max(turn.peak_gflops for timings in turns.values() for turn in timings)
    samples = {name: tuple(s for turn in timings for s in turn.samples) for name, timings in turns.items()}
    return Gain(scheme, {name: Timing(found, peak) for name, found in samples.items()})


def main(arguments: list[str] | None = None) -> int:
    """Prints a line a layer; the exit code."""
    parser = argparse.ArgumentParser("python -m bench.ahead", description=__doc__.splitlines()[0])
    parser.add_argument("--suite", required=True, nargs="+", metavar="NAME[:LAYER]")
    parser.add_argument("--scheme", metavar="TEXT", help="of a single layer; default: the model's choice")
    parser.add_argument("--dtype", default="f32", metavar="NAME", help="f32 (default), bf16 or int8")
    parser.add_argument("--layout", choices=LAYOUTS, default="nhwc", help="of convolutions' x and y; default: nhwc")
    parser.add_argument("--isa", metavar="NAME", help="default: the widest this CPU runs")
    options = parser.parse_args(arguments)
    try:
        shop = workshop(options.isa, 1, options.dtype)
        suites = {name: laid_out(layers, options.layout) for name, layers in chosen(options.suite).items()}
        layers = [(name, layer) for name, layers in suites.items() for layer in layers]
        if options.scheme and len(layers) > 1:
            raise ProblemError("--scheme is for a single layer: name it as SUITE:LAYER")
        with alone():
            for number, (name, layer) in enumerate(layers):
                if layer.refused:
                    print(f"{name}:{layer.name}: {layer.refused}")
                    continue
                problem = shop.problem(layer.problem)
                scheme = shop.parsed(problem, options.scheme) if options.scheme else shop.candidates(problem)[0]
                if number == 0:
                    print("percent of the FMA peak of f32, the kernel alone, by what it asks for beforehand")
                found = gain(shop, scheme)
                told = ", ".join(f"{kind} {found.percent(kind):.1f} %" for kind in BEFORE) if found else "asks for none"
                print(f"{name.partition(':')[0]}:{layer.name:<4} {told}   {scheme}", flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (ProblemError, SchemeError) as error:
        print(error, file=sys.stderr)
        return 2
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
