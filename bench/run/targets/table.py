"""The targets of contests, by the names that `--target` takes."""

from __future__ import annotations

from bench.run.targets import cpu, cuda

TARGETS = {"cpu": cpu.TARGET, "cuda": cuda.TARGET}
