"""The command `python -m graph.run MODEL --input x.npy …`: calls a model, compiled now or saved before."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from cpu.runtime.options import Parser
from cpu.runtime.output import readers_may_leave, write
from graph.calls.arguments import given_for
from graph.calls.compiled import CompiledModel, load_model
from graph.calls.open_model import OpenModel
from graph.compile import dim, once
from graph.model.language import ModelError
from graph.plan import compile_model
from search.commands.ending import ending
from search.commands.options import folder, whole
from tilewright_entry import run

_MAGIC = b"\x93NUMPY"  # what a .npy file begins with
_LONGEST = 60  # characters of a file's name; each may take four bytes of the 255 that a file system has


@ending("interrupted before there was a result", wrong=(ModelError,))
def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns the exit code. 1: it failed; 2: it cannot be done as asked; 130: Ctrl-C."""
    options = _parser().parse_args(arguments)
    text = told(options)
    with readers_may_leave():
        write(text)
    return 0


def told(options: argparse.Namespace) -> str:
    """Calls the model; a line for each output. Raises ModelError."""
    arrays = list(map(_array, options.input))
    model: CompiledModel | OpenModel
    if options.model and Path(options.model).is_dir():
        if options.dim:
            raise ModelError("--dim belongs to a model that is compiled now: this one is compiled already")
        if options.threads:
            raise ModelError("--threads belongs to a model that is compiled now: this one is compiled already")
        model = load_model(options.model)
    else:
        model = compile_model(options.model, dims=once("--dim", options.dim), threads=options.threads or 1)
    names = list(model.inputs) if isinstance(model, OpenModel) else [array.name for array in model.inputs]
    if len(arrays) != len(names):
        wanted = f": {', '.join(names)}: give --input FILE.npy for each" if names else ": leave --input out"
        raise ModelError(given_for(len(arrays), len(names)) + wanted)
    model = model.at(*arrays) if isinstance(model, OpenModel) else model
    outputs = model(*arrays)
    lines = []
    files = file_names([array.name for array in model.outputs])
    for array, y, file in zip(model.outputs, outputs, files):
        lines.append(
            f"{array.name}: {array.dtype}[{', '.join(map(str, array.shape))}], first {y.reshape(-1)[:4].tolist()}"
        )
        if options.save:
            path = Path(options.save) / file
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, y)
            except OSError as error:
                raise ModelError(f"{path} cannot be written: {error.strerror or error}") from None
            lines.append(f"wrote {path}")
    return "\n".join(lines)


def file_names(outputs: Sequence[str]) -> list[str]:
    """A name of a file for each output, all different. A model's names may hold any character."""
    stems = [re.sub(r"[^\w.-]", "_", name).lstrip(".")[:_LONGEST] for name in outputs]
    plain = all(stems) and len({stem.lower() for stem in stems}) == len(stems)
    return [f"{stem}.npy" if plain else f"{place}_{stem}.npy" for place, stem in enumerate(stems)]


def _array(path: str) -> np.ndarray:
    try:
        if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for
            raise ValueError("it is no regular file")
        with open(path, "rb") as file:
            begins = file.read(len(_MAGIC))
        if begins and not begins.startswith((_MAGIC, b"PK")):  # NumPy would take it for Python's objects
            raise ValueError("it is no .npy file: write one with numpy.save")
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError, BadZipFile, MemoryError) as error:
        raise ModelError(f"{path} cannot be read as an array: {getattr(error, 'strerror', None) or error}") from None
    if not isinstance(found, np.ndarray):
        raise ModelError(f"{path} holds several arrays: give a .npy file for each input")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "python -m graph.run",
        description="Calls a model once.",
        epilog="An ONNX file needs onnx: pip install 'tilewright[models]'.",
    )
    parser.add_argument("model", metavar="MODEL", help="an ONNX file, or the folder that graph.compile --emit wrote")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="X.npy",
        help="an input; --input again for the next, in the model's order",
    )
    parser.add_argument("--save", type=folder, metavar="DIR", help="write the outputs there, as NAME.npy")
    parser.add_argument(
        "--dim", type=dim, action="append", default=[], metavar="NAME=EXTENT", help="an open dim's extent"
    )
    parser.add_argument("--threads", type=whole, metavar="N", help="OpenMP threads of an ONNX file; default 1")
    return parser


if __name__ == "__main__":
    run("graph.run:main")
