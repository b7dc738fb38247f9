"""A kernel as plain C, for programs with no Python: .c, .h, .so, a small program that calls it, and a record.

The record, SYMBOL.json, says which scheme of which problem the library is, so that `load` makes a `Kernel` of it again,
with no compiler.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

import jinja2

from cpu.check import single_pass
from cpu.copied import aligns
from cpu.emit import TEMPLATES, VERSION, Source, microkernels_of, packed_elements_of, symbol_of
from cpu.epilogue import may_be_output
from cpu.kernel import Kernel
from cpu.library import compiled
from cpu.numbers import ELEMENTS, elements_of
from cpu.toolchain import BASE_FLAGS
from microkernels.isa import isa_named
from tiling.notation import parse
from tiling.pointwise import panel_elements
from tiling.problem import ProblemError
from tiling.scheme import Scheme, SchemeError
from tiling.shapes import canonical, problem_of
from tiling.winograd import Winograd
from tiling.words import copies

_RECORD = {
    "version": str,
    "symbol": str,
    "op": str,
    "shape": str,
    "scheme": str,
    "isa": str,
    "threads": int,
    "sha256": str,
}


class ExportError(RuntimeError):
    """The folder to save into cannot be written, or what is in it is no saved kernel."""


def writable(folder: Path) -> None:
    """Makes `folder` and tries it out, before a long search whose result is to go there. Raises ExportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot(folder, error) from error


def _allocates(scheme: Scheme | Winograd) -> bool:
    """Whether a call takes memory of its own: for transformed tiles, a copy of x, or panels of it."""
    if isinstance(scheme, Winograd):
        return True
    return copies(scheme) or aligns(scheme) or panel_elements(scheme) > 0


def save(kernel: Kernel, folder: Path) -> tuple[Path, ...]:
    """Writes SYMBOL.c, .h, .so and .json, and SYMBOL_example.c, into `folder`; returns their paths. Raises ExportError.

    Where the compile cache has lost the kernel meanwhile it is compiled again: raises ToolchainError and CacheError
    too.
    """
    source = kernel.emitted
    problem = kernel.asked
    facts = {
        "symbol": source.symbol,
        "problem": str(problem),
        "scheme": kernel.scheme.text,
        "isa": isa_named(source.isa),
        "threads": source.threads,
        "tensors": (problem.broadcast, problem.vector, problem.output),
        "arrays": problem.epilogue_arrays,
        "epilogue": problem.epilogue,
        "residuals": [
            a.name for a in problem.epilogue_arrays if may_be_output(problem, a) and single_pass(kernel.scheme)
        ],
        "packed": source.packed,
        "allocates": _allocates(kernel.scheme),
        "elements": elements_of(problem),
        "types": [ELEMENTS[name].c for name in elements_of(problem)],
        "values": {
            "f32": "%s",
            "bf16": "bf16(%s)",
            "u8": "2 + %s",
            "s8": "%s",
        },  # of the example's arrays, from a number's C text
        "compile_flags": " ".join((*BASE_FLAGS, *source.compiler_flags, *(("-fopenmp",) if source.openmp else ()))),
    }
    library = kernel.saved
    if library is None:
        library = compiled(source.text, source.compiler_flags, source.openmp)
    # The record comes last: it vouches for what is there before it.
    files = {
        f"{source.symbol}.c": source.text.encode(),
        f"{source.symbol}.h": _render("kernel.h.j2", facts).encode(),
        f"{source.symbol}_example.c": _render("example.c.j2", facts).encode(),
        f"{source.symbol}.so": library,
        f"{source.symbol}.json": (json.dumps(_record(kernel, library), indent=1, ensure_ascii=False) + "\n").encode(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Written beside and put in place whole: a program may have the older library loaded, and the disk may fill up.
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=folder) as private:
            for name, content in files.items():
                (Path(private) / name).write_bytes(content)
            for name in files:
                os.replace(Path(private) / name, folder / name)
    except OSError as error:
        raise _cannot(folder, error) from error
    return tuple(folder / name for name in files)


def load(path: str | Path) -> Kernel:
    """The kernel that `save` wrote: `path` is its folder, or its SYMBOL.json where a folder holds several.

    The record and the library and source beside it are checked before the library is loaded: a library is code, and one
    that the record does not describe would run with the wrong arrays. Raises ExportError, and CpuError on a CPU that
    lacks the kernel's instruction set.
    """
    path = Path(path)
    found = sorted(path.glob("*__*.json")) if path.is_dir() else [path]
    if len(found) != 1:
        names = f", but {len(found)}: {', '.join(one.name for one in found[:4])}; name the one" if found else ""
        raise ExportError(f"{path} is not the folder of one saved kernel{names}")
    record, folder = _read(found[0]), found[0].parent
    try:
        scheme = parse(problem_of(record["op"], record["shape"]), record["scheme"])
        isa = isa_named(record["isa"])
    except (ProblemError, SchemeError, ValueError) as error:
        raise ExportError(f"{found[0]} is no record of a saved kernel: {error}") from None
    # With these two the sizes of all arrays follow from the record.
    symbol = symbol_of(scheme.problem, isa, record["threads"], scheme.algorithm)
    if record["symbol"] != symbol or scheme.lanes != isa.lanes:
        raise ExportError(f"{found[0]} is no record of a saved kernel: its symbol is not of its shape, isa and scheme")
    files = [folder / f"{record['symbol']}{suffix}" for suffix in (".c", ".so")]
    try:
        text, library = (path.read_bytes() for path in files)
    except OSError as error:
        raise ExportError(f"{error.filename} cannot be read ({error.strerror}): save the kernel again") from error
    if record["sha256"] != _sha256(record, text, library):
        raise ExportError(
            f"{found[0]} was not written together with {files[0].name} and {files[1].name} beside it: save the kernel "
            f"again"
        )
    source = Source(
        symbol=record["symbol"],
        text=text.decode(),
        isa=isa.name,
        threads=record["threads"],
        microkernels=microkernels_of(scheme, isa),
        packed=packed_elements_of(scheme),
    )
    try:
        return Kernel(scheme, source, library)
    except OSError as error:
        raise ExportError(f"{files[1]} cannot be loaded: {error}") from error


def _record(kernel: Kernel, library: bytes) -> dict[str, str | int]:
    source = kernel.emitted
    record = {
        "version": VERSION,
        "symbol": source.symbol,
        "op": kernel.problem.op,
        "shape": canonical(kernel.problem),
        "scheme": kernel.scheme.text,
        "isa": source.isa,
        "threads": source.threads,
    }
    return record | {"sha256": _sha256(record, source.text.encode(), library)}


def _sha256(record: dict[str, str | int], text: bytes, library: bytes) -> str:
    """Of all that belongs together: the record's other fields, the C text and the library."""
    fields = json.dumps([record[name] for name in _RECORD if name != "sha256"]).encode()
    parts = (hashlib.sha256(part).digest() for part in (fields, text, library))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _read(path: Path) -> dict:
    """The record in a file, each field of its type. Raises ExportError."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:  # broken, or nested without end
        why = "give its folder, or the .json beside it" if path.suffix in (".c", ".h", ".so") else error
        raise ExportError(f"{path} is no record of a saved kernel: {why}") from None
    if not isinstance(record, dict) or {key: type(value) for key, value in record.items()} != _RECORD:
        raise ExportError(f"{path} is no record of a saved kernel: its fields are {', '.join(_RECORD)}")
    # The symbol becomes a file's name and a C declaration.
    if not re.fullmatch("[a-z][a-z0-9_]{0,400}", record["symbol"]) or record["threads"] < 1:
        raise ExportError(f"{path} is no record of a saved kernel: its symbol or its number of threads cannot be")
    return record


def _cannot(folder: Path, error: OSError) -> ExportError:
    return ExportError(f"cannot save the kernel into {folder} ({error.strerror or error}): choose another folder")


def _render(template: str, facts: dict) -> str:
    loaded: jinja2.Template = TEMPLATES.get_template(template)
    return loaded.render(**facts)
