"""`python -m microkernels rank | show | plot | export`: the offline stage on this machine."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from cpu.cluster.address import cluster
from cpu.runtime.compiler.cache_command import limited, size
from cpu.runtime.compiler.cache_folder import CacheError
from cpu.runtime.compiler.toolchain import ToolchainError
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from cpu.runtime.output import INTERRUPTED, OutputError, readable, readers_may_leave, terminal, write
from cpu.runtime.plural import plural
from cpu.runtime.processes.worker import WorkerError
from microkernels.ranking import plot
from microkernels.ranking.export import kind_of_machine
from microkernels.ranking.offline import UsageError, rank_machine, usable_isa
from microkernels.ranking.progress import shown
from microkernels.scores.catalog import Catalog, Entry, Failure
from microkernels.scores.database import StoreError
from microkernels.scores.kinds import write_kind
from microkernels.scores.records import load
from microkernels.scores.shipped import known
from microkernels.tile.isa import ISAS, isa_named
from microkernels.tile.microkernel import RANKED_AS, Microkernel
from microkernels.tile.space import quick, space


def _rank(options: argparse.Namespace) -> int:
    isa = usable_isa(options.isa, options.op)
    if options.stride != "1" and options.quick:
        raise UsageError("--stride is for a full ranking: the quick one is at stride 1")
    if options.cluster and options.jobs:
        raise UsageError("--jobs is for this machine: a cluster has as many workers as were started")
    if options.cache_limit is not None and (said := limited(options.cache_limit)):
        print(said, file=sys.stderr)
    strides = (1, 2) if options.stride == "both" else (int(options.stride),)
    kernels = quick(isa, options.op) if options.quick else space(isa, options.op, strides)
    started = time.monotonic()
    console = terminal()
    try:
        with shown(console) as progress:
            state = rank_machine(
                kernels,
                resume=options.resume,
                jobs=options.jobs,
                cluster=options.cluster or "",
                announce=lambda sentence: print(sentence, file=sys.stderr),
                progress=progress,
            )
    except KeyboardInterrupt:
        again = " ".join(["python -m microkernels", *(a for a in options.given if a != "--resume"), "--resume"])
        print("interrupted; what was measured is kept, and the next search may measure the rest", file=sys.stderr)
        print(f"continue with: {again}", file=sys.stderr)
        return INTERRUPTED
    catalog = load(fingerprint(host()), isa.name, options.op)
    wanted = frozenset(kernels)
    failures = [failure for failure in catalog.failures if failure.kernel in wanted]
    told = [
        f"{state.done} measured in {time.monotonic() - started:.0f} s, {state.failed} of them failed; "
        f"{len(kernels) - state.total} were measured before"
    ]
    top = [entry for entry in catalog.entries if entry.kernel in wanted][:10]
    write("\n".join([*told, *_failures(failures), *(_entries(catalog, top) if top else ())]))
    return 0 if top else 1


def _show(options: argparse.Namespace) -> int:
    catalog = _ranked(options)
    entries = catalog.entries[: options.top]
    lines = map(json.dumps, _records(catalog, entries)) if options.json else _entries(catalog, entries)
    write("\n".join(lines))
    return 0


def _records(catalog: Catalog, entries: Iterable[Entry]) -> Iterator[dict[str, object]]:
    for entry in entries:
        yield {
            "kernel": entry.kernel.name,
            "score": entry.score,
            "seconds": entry.timing and entry.timing.seconds,
            "spread": entry.timing and entry.timing.spread,
            "samples": len(entry.timing.samples) if entry.timing else 0,
            "peak_gflops": entry.timing and entry.timing.peak_gflops,
            "fingerprint": catalog.fingerprint,
        }


def _plot(options: argparse.Namespace) -> int:
    if not Path(options.file).suffix:
        raise UsageError(f"{options.file!r} names no kind of picture: end it in .png, .svg or .pdf")
    plot.heat_map(_ranked(options).entries, options.file)
    print(f"wrote {options.file}", file=sys.stderr)
    return 0


def _export(options: argparse.Namespace) -> int:
    """Writes the file of this machine's kind, and says what is in it and what is not whole yet."""
    kind, unfinished = kind_of_machine(options.cpu, options.remark)
    path = options.folder / f"{kind.kind}.json"
    try:
        options.folder.mkdir(parents=True, exist_ok=True)
        path.write_text(write_kind(kind), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from None
    rankings = ", ".join(f"{r.op} on {r.isa} ({len(r.scores)} scores of {r.measured})" for r in kind.rankings)
    print("\n".join([f"wrote {path}: {rankings}", *unfinished]), file=sys.stderr)
    return 0


def _ranked(options: argparse.Namespace) -> Catalog:
    isa = usable_isa(options.isa, options.op)
    catalog = known(fingerprint(host()), isa.name, options.op)
    if not catalog.entries:
        raise UsageError(
            f"no {options.op} microkernel of {isa.name} is ranked on this machine yet; make a ranking with: "
            f"python -m microkernels rank --isa {isa.name} --op {options.op} [--quick]"
        )
    return catalog


def _entries(catalog: Catalog, entries: Iterable[Entry]) -> Iterator[str]:
    peak = "the FMA peak measured beside"
    if isa_named(catalog.isa).matrix:
        peak = "two rows times a vector of sums a cycle (matrix instructions: 50 at most), by the FMA peak beside"
    where = f"{catalog.fingerprint}, ranked {catalog.origin}" if catalog.origin else catalog.fingerprint
    yield f"% of {peak}, one core, x in L1, fastest sample; {where}"
    for entry in entries:
        yield f"{100 * entry.score:6.1f} %  {_timed(entry)}{entry.kernel}"


def _timed(entry: Entry) -> str:
    """How a score was measured; nothing for one that came with the package."""
    timing = entry.timing
    if timing is None:
        return ""
    samples = f"{plural(len(timing.samples), 'samples'):>11} ± {100 * timing.spread / 2:4.1f} %"
    return f"beside {timing.peak_gflops:6.1f} GFLOP/s  {samples}  "


def _failures(failures: Iterable[Failure]) -> Iterator[str]:
    by_reason: dict[str, list[Microkernel]] = defaultdict(list)
    for failure in failures:
        by_reason[failure.reason].append(failure.kernel)
    for reason, kernels in sorted(by_reason.items(), key=lambda group: -len(group[1])):
        more = f" and {len(kernels) - 1} more" if len(kernels) > 1 else ""
        yield f"failed: {kernels[0]}{more}: {readable(reason)}"


def _parser() -> argparse.ArgumentParser:
    parser = Parser("python -m microkernels", description="Rank the microkernels of this machine.")
    commands = parser.add_subparsers(required=True, metavar="rank | show | plot | export")
    which = Parser(add_help=False)
    which.add_argument("--isa", metavar="NAME", help=f"{', '.join(ISAS)}; default: the widest that this CPU has")
    ranked = tuple(dict.fromkeys(RANKED_AS.values()))
    others = "; ".join(f"{op} runs the tiles of {tiles}" for op, tiles in RANKED_AS.items() if op != tiles)
    which.add_argument("--op", choices=ranked, default=ranked[0], help=f"the operator, default {ranked[0]}; {others}")

    _rank_options(commands.add_parser("rank", parents=[which], help="measure every microkernel, once per machine"))
    command = commands.add_parser("show", parents=[which], help="print the ranking, best first")
    command.add_argument("--top", metavar="N", type=_positive, help="only the N best")
    command.add_argument("--json", action="store_true", help="one JSON object a line")
    command.set_defaults(run=_show)

    command = commands.add_parser(
        "plot",
        parents=[which],
        help="draw the ranking as a heat map; needs matplotlib",
        epilog="It needs matplotlib: pip install 'tilewright[plot]'.",
    )
    command.add_argument("file", metavar="FILE.png")
    command.set_defaults(run=_plot)

    command = commands.add_parser(
        "export", help="write this machine's quick rankings as the file of its kind, as they come with Tilewright"
    )
    command.add_argument("folder", type=Path, metavar="FOLDER", help="microkernels/scores/measured, in a checkout")
    command.add_argument(
        "--cpu", required=True, type=_name, metavar="NAME", help="what people call it: 'AMD EPYC 9005 (Zen 5)'"
    )
    command.add_argument(
        "--remark", default="", metavar="TEXT", help="what a reader should know, as 'beside other programs'"
    )
    command.set_defaults(run=_export)
    return parser


def _rank_options(command: argparse.ArgumentParser) -> None:
    """Adds what `rank` has beside the options of all commands."""
    command.add_argument(
        "--stride", choices=("1", "2", "both"), default="1", help="strides of the convolution; default 1"
    )
    command.add_argument(
        "--quick", action="store_true", help="only the best candidates, at stride 1; about two minutes"
    )
    command.add_argument("--jobs", metavar="N", type=_positive, help="processes; default: one a physical core")
    command.add_argument(
        "--cluster",
        type=cluster,
        metavar="ADDRESS",
        help="measure on the workers of this dask.distributed scheduler whose CPU, compiler and program are the same",
    )
    command.add_argument(
        "--resume",
        action="store_true",
        help="leave out microkernels with a measurement, also failed ones unless they ran out of time or memory; "
        "default: all are measured anew",
    )
    command.add_argument(
        "--cache-limit",
        type=size,
        metavar="SIZE",
        help="the most disk space for compiled kernels, such as 512M; later runs keep this limit",
    )
    command.set_defaults(run=_rank)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _name(text: str) -> str:
    """What people call something."""
    if not text.strip() or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is no name: write what people call this CPU")
    return text


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line. The exit code is 2 where the command cannot be carried out, and 1 where it fails."""
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(given)
    options.given = given
    try:
        with readers_may_leave():
            code: int = options.run(options)
            return code
        return 0
    except UsageError as error:
        print(readable(str(error)), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except (CacheError, OutputError, StoreError, ToolchainError, WorkerError, plot.PlotError) as error:
        print(readable(str(error)), file=sys.stderr)
        return 1
