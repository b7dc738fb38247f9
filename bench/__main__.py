"""`python -m bench`: suites of real layers, ours beside the libraries a user would pick instead, on the same work."""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from bench.files import ReportError, append, check_writable
from bench.formats import to_json
from bench.journal import Journal, alone, journal
from bench.layers import ROUNDS, TURN_SECONDS
from bench.markdown import around_markers, readme_table, rewrite_between_markers
from bench.peers import PEERS
from bench.report import table, write_report
from bench.results import Conditions, LayerResult
from bench.run import Visit, plan, run
from bench.sections import PAPER, Section, sections
from bench.summary import incomplete, summary
from cpu.emit import VERSION
from cpu.toolchain import find_compiler
from microkernels.offline import machine_catalog
from search import store
from search.options import FAILURES, INTERRUPTED, seconds, whole
from search.workshop import DEFAULT_BUDGET, workshop
from tiling.problem import ProblemError
from tiling.scheme import SchemeError
from tiling.shapes import suite

# What a user would pick instead; the others are slow to prepare, or known to be slower, and run when named.
USUAL_PEERS = ("onednn", "onednn-nchw", "ort", "openvino")
STEM = "performance"


@dataclass
class Finding:
    """What a run has found so far; it outlives whatever ends the run."""

    visits: Sequence[Visit] = ()
    results: list[LayerResult] = field(default_factory=list)
    failures: dict[Visit, str] = field(default_factory=dict)

    def missing(self, ended: str) -> list[tuple[str, str]]:
        """(layer, why) for each visit without a result; those that never ended are so because the run was `ended`."""
        done = {(r.suite, r.layer, r.threads) for r in self.results}
        without = [v for v in self.visits if (v.suite, v.layer.name, v.shop.threads) not in done]
        return [(str(visit), self.failures.get(visit, ended)) for visit in without]


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit code. 2: what was asked for cannot be; 1: something went wrong; 130: Ctrl-C."""
    options = _parser().parse_args(arguments)
    found = Finding()
    code, ended = 0, ""
    try:
        suites = {name: suite(name) for name in dict.fromkeys(options.suite)}
        peers, absent = _peers(options.peers)
        for path in filter(None, (options.json, options.readme, options.report and options.report / f"{STEM}.md")):
            check_writable(path)
        if options.readme:
            around_markers(options.readme)
        for peer, why in absent:
            print(f"without {peer}: {why}", file=sys.stderr)
        shops = [workshop(None, count) for count in dict.fromkeys(options.threads)]
        machine_catalog(shops[0].isa, announce=lambda sentence: print(sentence, file=sys.stderr))
        conditions = _conditions(options, shops[0], peers, absent)
        unfinished = journal(_identity(options, conditions))
        if options.restart:
            unfinished.discard()
        found.visits = plan(suites, shops)
        with alone():
            _collect(found, unfinished, options, peers)
    except KeyboardInterrupt:
        print("interrupted: what is done is kept, the same command continues", file=sys.stderr)
        code, ended = INTERRUPTED, "not ended before a Ctrl-C"
    except (ProblemError, SchemeError) as error:
        print(error, file=sys.stderr)
        code, ended = 2, f"not ended before an error: {error}"
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        code, ended = 1, f"not ended before an error: {error}"
    if not found.results:
        return code or 1
    try:
        _publish(sections(found.results), conditions, found.missing(ended), options)
        if not ended:
            unfinished.discard()
    except (ReportError, *FAILURES) as error:
        print(error, file=sys.stderr)
        return code or 1
    return code or int(bool(found.failures))


def _collect(found: Finding, unfinished: Journal, options: argparse.Namespace, peers: Sequence[str]) -> None:
    def fail(visit: Visit, why: str) -> None:
        found.failures[visit] = why
        print(f"{visit}: {why}", file=sys.stderr)

    for _, result in run(found.visits, unfinished, fail, peers=peers, cache=options.cache, budget=options.budget):
        found.results.append(result)
        if options.json:
            append(options.json, to_json(result))


def _peers(asked: Sequence[str] | None) -> tuple[list[str], list[tuple[str, str]]]:
    """The peers that can run, and (name, why not) of the others. One that was asked for by name may be missing too."""
    asked = list(dict.fromkeys(USUAL_PEERS if asked is None else asked))
    asked = [] if asked == ["none"] else asked
    for name in asked:
        if name not in PEERS:
            raise ProblemError(f"there is no peer {name!r}; there are {' '.join(PEERS)}, or none")
    missing = {name: PEERS[name].missing() for name in asked}
    return [name for name in asked if missing[name] is None], [(name, why) for name, why in missing.items() if why]


def _conditions(options, shop, peers: Sequence[str], absent: Sequence[tuple[str, str]]) -> Conditions:
    compiler = find_compiler()
    warm = "warm caches: inputs, weights and output stay where the call before left them"
    cold = "cold caches: a buffer larger than the last one is read before each call"
    return Conditions(
        command=_command(options),
        machine=shop.machine,
        compiler=f"{compiler.kind} {compiler.version}",
        tilewright=VERSION,
        python=platform.python_version(),
        peers=tuple((name, PEERS[name].title, PEERS[name].version()) for name in peers),
        missing=tuple(absent),
        cache=warm if options.cache == "warm" else cold,
        pinned="threads are not pinned to cores",
        allocator="output memory is re-used; where a library allocates it, glibc keeps freed memory (its thresholds are set high)",
        turns=f"medians over {ROUNDS} turns of {TURN_SECONDS:g} s of every contender, in turns A B A B in one process, "
        "3 calls before each to warm it, the FMA peak measured before and after each",
        budget=options.budget,
    )


def _identity(options: argparse.Namespace, conditions: Conditions) -> dict:
    """What tells an unfinished run from others: a run continues only what it would have measured itself."""
    return {
        **{"suites": options.suite, "threads": options.threads, "cache": options.cache, "budget": options.budget},
        **{"peers": conditions.peers, "machine": conditions.machine.fingerprint, "isa": conditions.machine.isa},
        **{"compiler": conditions.compiler, "versions": [VERSION, store.VERSION]},
    }


def _publish(
    found: Sequence[Section], conditions: Conditions, missing: Sequence[tuple[str, str]], options: argparse.Namespace
) -> None:
    """Prints the tables; writes the report and the README's table where they are asked for."""
    for section in found:
        Console().print(table(section))
        print("\n".join(summary(section)))
    if missing:
        print(incomplete(missing))
    if options.report:
        print("\n".join(write_report(options.report, STEM, found, conditions, missing)), file=sys.stderr)
    if options.readme:
        rewrite_between_markers(options.readme, readme_table(found, conditions))
        print(f"wrote the table in {options.readme}", file=sys.stderr)


def _command(options: argparse.Namespace) -> str:
    words = ["python", "-m", "bench", "--suite", *options.suite, "--threads", *map(str, options.threads)]
    if options.peers is not None:
        words += ["--peers", *options.peers]
    if options.cache != "warm":
        words += ["--cache", options.cache]
    words += ["--budget", f"{options.budget:g}"]
    for name in ("report", "readme"):
        if getattr(options, name):
            words += [f"--{name}", str(getattr(options, name))]
    return shlex.join(words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Times suites of layers beside other libraries.")
    parser.add_argument("--suite", nargs="+", default=list(PAPER), metavar="NAME", help="default: yolo9000 resnet18")
    parser.add_argument(
        "--peers", nargs="+", metavar="NAME",
        help=f"of {' '.join(PEERS)}, or none; default: those of {' '.join(USUAL_PEERS)} that are installed",
    )  # fmt: skip
    parser.add_argument("--threads", nargs="+", type=whole, default=[1], metavar="N", help="default: 1")
    parser.add_argument("--cache", choices=("warm", "cold"), default="warm", help="before each call; default: warm")
    parser.add_argument("--dtype", choices=("f32",), default="f32", help="default: f32")
    parser.add_argument("--layout", choices=("nhwc",), default="nhwc", help="of our kernels; default: nhwc")
    parser.add_argument(
        "--budget", type=seconds, default=DEFAULT_BUDGET, metavar="SECONDS",
        help=f"of search a layer; default {DEFAULT_BUDGET:g}",
    )  # fmt: skip
    parser.add_argument("--restart", action="store_true", help="forget what an unfinished run of this command has done")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append one JSON object a layer")
    parser.add_argument("--report", type=Path, metavar="DIR", help=f"write {STEM}.md, .html, .csv, .jsonl and pictures")
    parser.add_argument("--readme", type=Path, metavar="FILE.md", help="rewrite the table between its markers")
    return parser


if __name__ == "__main__":
    sys.exit(main())
