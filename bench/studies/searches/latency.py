"""The command `python -m bench.latency`: how long a user waits for first calls, later calls and rankings.

Data and cache folders are fresh.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.report.files import check_writable, write
from bench.run.ending import ending
from bench.run.journal import alone
from cpu.runtime.compiler.toolchain import find_compiler
from cpu.runtime.machine.host import fingerprint, host
from cpu.runtime.options import Parser
from cpu.runtime.plural import plural

SHAPE = "resnet18:R2"
_CALL = """
import time
from search import generate_conv
started = time.perf_counter()
generate_conv(c=64, h=56, w=56, k=64, r=3, s=3, padding=1)
first = time.perf_counter() - started
started = time.perf_counter()
generate_conv(c=64, h=56, w=56, k=64, r=3, s=3, padding=1)
print(first, time.perf_counter() - started)
"""


class WaitError(RuntimeError):
    """A command failed that a user would wait for; the message holds the command and its last line."""


def waits(full: bool, calls: bool = False) -> list[tuple[str, float]]:
    """(action, seconds until it is done), in the order given; text that a user can type is in backticks.

    full: the full ranking too. calls: nothing but the calls of `generate_conv`. Each command runs in a process of its
    own. Raises WaitError.
    """
    found = []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TILEWRIGHT_DATA": f"{folder}/data", "TILEWRIGHT_CACHE": f"{folder}/cache"}

        def run(*command: str) -> tuple[str, float]:
            started = time.perf_counter()
            ended = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
            if ended.returncode:
                said = (ended.stderr.strip() or "it said nothing").splitlines()[-1]
                shown = "generate_conv" if command[0] == "-c" else " ".join(["python", *command])
                raise WaitError(f"{shown} failed: {said}")
            return ended.stdout, time.perf_counter() - started

        def command(*words: str, note: str = "") -> None:
            found.append((f"`{' '.join(['python', *words])}`{note}", run(*words)[1]))

        cold, again = map(float, run("-c", _CALL)[0].split())
        found.append(('`generate_conv(tune="model")`, nothing known of the machine, nothing compiled', cold))
        found.append(("the same call again in that process", again))
        found.append(("the same call as the first one of another process", float(run("-c", _CALL)[0].split()[0])))
        if calls:
            return found
        command("-m", "microkernels", "rank", "--quick")
        command("-m", "search.conv", "--shape", SHAPE, "--model-only")
        command("-m", "search.conv", "--shape", SHAPE, "--budget", "30")
        if full:
            command("-m", "microkernels", "rank", note=", all of stride 1")
    return found


def page(found: list[tuple[str, float]], command: str) -> str:
    """The page that `--report` writes."""
    compiler = find_compiler()
    lines = [
        "# How long a user waits",
        "",
        f"Written by `{command}` on `{fingerprint(host())}` with {plural(host().cores, 'cores')}, {compiler.kind} "
        f"{compiler.version}; data and cache folders were empty at the start, Python's imports count only where a "
        "command is timed.",
        "",
        "| | seconds |",
        "|---|---|",
        *(f"| {what} | {seconds:.3g} |" for what, seconds in found),
    ]
    return "\n".join(lines) + "\n"


@ending("interrupted: no page is written", WaitError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    parser = Parser("python -m bench.latency", description="How long a user waits.")
    most = parser.add_mutually_exclusive_group()
    most.add_argument("--full", action="store_true", help="also time the full microkernel ranking")
    most.add_argument("--calls", action="store_true", help="time the calls of generate_conv alone, cold and warm")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the page, such as latency.md")
    options = parser.parse_args(arguments)
    if options.report:
        check_writable(options.report)
    with alone():
        found = waits(options.full, options.calls)
    for what, seconds in found:
        print(f"{seconds:8.3f} s  {what}")
    if options.report:
        flags = (
            "".join(f" --{name}" for name in ("full", "calls") if getattr(options, name))
            + f" --report {shlex.quote(str(options.report))}"
        )
        write(options.report, page(found, f"python -m bench.latency{flags}"))
    return 0
