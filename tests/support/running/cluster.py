"""A small cluster of `dask.distributed` on this machine, and a task that writes down when it runs."""

import os
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
START_SECONDS = 60
# Not imported to find out: that takes half a second of each process that collects the tests.
needs_distributed = pytest.mark.skipif(
    not find_spec("distributed"), reason="needs dask.distributed, the extra [cluster]"
)


@contextmanager
def cluster(workers: int, environment: dict[str, str]):
    """The address of a scheduler in this process, and its workers as processes; all end on leaving."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        scheduler = LocalCluster(
            n_workers=0, processes=False, protocol="tcp", host="127.0.0.1", dashboard_address=":0", silence_logs=50
        )
        stack.enter_context(scheduler)
        command = [sys.executable, "-m", "dask", "worker", scheduler.scheduler_address, "--no-nanny", "--no-dashboard"]
        variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        processes = [
            stack.enter_context(
                subprocess.Popen([*command, "--nthreads", "1"], env=variables, stderr=subprocess.DEVNULL)
            )
            for _ in range(workers)
        ]
        for process in processes:
            stack.callback(process.kill)
        if workers:
            with Client(scheduler.scheduler_address, set_as_default=False) as client:
                client.wait_for_workers(workers, timeout=START_SECONDS)
        yield scheduler.scheduler_address, processes


def noted(*, name: str, log: str, seconds: float) -> str:
    """Takes `seconds`, and notes its beginning and end, with the process that asked for it."""
    note(log, f"begin {name} {asked_by()}")
    time.sleep(seconds)
    note(log, f"end {name} {asked_by()}")
    return name


def asked_by() -> int:
    """The process that started the server of which this process is a fork."""
    return int(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])


def note(log: str, line: str) -> None:
    with open(log, "a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def notes(log: Path) -> list[list[str]]:
    """The words of each whole line."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return [line.split() for line in text.splitlines()]
