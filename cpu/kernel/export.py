"""Saves a kernel as plain C, for programs without Python: .c, .h, .so, a small program that calls it, a makefile and a
record.

The record, SYMBOL.json, says which scheme and problem the library was made from. `cpu.kernel.saved` reads it and makes
a `CpuKernel` again, without a compiler.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol, TypedDict, get_type_hints

from cpu.codegen.arrays import elements_of
from cpu.codegen.emit import Source, symbol_of
from cpu.codegen.frame.call import meanwhile
from cpu.codegen.frame.example import example
from cpu.codegen.frame.header import call_parameters, kernel_header
from cpu.runtime.compiler.library import compiled
from cpu.runtime.compiler.makefile import OF_A_FOLDER, makefile
from cpu.runtime.taken_names import is_taken
from cpu.runtime.version import VERSION
from microkernels.tile.isa import isa_named
from tiling.problem import Problem
from tiling.rewrite.winograd.algorithm import Winograd
from tiling.scheme.scheme import Scheme
from tiling.text.shapes import canonical


class _Record(TypedDict):
    version: str
    symbol: str
    op: str
    shape: str
    scheme: str
    isa: str
    threads: int
    sha256: str


class Record(_Record, total=False):
    """The content of SYMBOL.json. name: the name under which a kernel was saved, if one was given. scratch: bytes that
    SYMBOL_run needs; records of older kernels lack it. pack_threads: how many threads share SYMBOL_pack_run, where
    several do.
    """

    name: str
    scratch: int
    pack_threads: int


# The fields of every record and of some, with their types.
RECORD: dict[str, type] = get_type_hints(_Record)
OPTIONAL: dict[str, type] = {key: kind for key, kind in get_type_hints(Record).items() if key not in RECORD}


class Saveable(Protocol):
    """What `save` needs of a kernel (`cpu.kernel.callable`). saved: the library, if the kernel came from a file."""

    problem: Problem
    original: Problem
    scheme: Scheme | Winograd
    emitted: Source
    saved: bytes | None


class ExportError(RuntimeError):
    """The folder to save into cannot be written, or a folder does not hold a saved kernel."""


def as_path(folder: object) -> str:
    """The text of a path that a user gives. Raises ExportError for anything else."""
    name = os.fspath(folder) if isinstance(folder, (str, os.PathLike)) else None
    if not isinstance(name, str):
        raise ExportError(f"{folder!r:.60} is not the name of a folder")
    if "\0" in name:
        raise ExportError(f"{name!r:.60} cannot be the name of a folder: it has a NUL in it")
    return name


def folder_of(folder: str | os.PathLike[str]) -> Path:
    """The folder to save into, as a path. Raises ExportError for a name that no folder can have."""
    name = as_path(folder)
    if not name:
        raise ExportError("the name of the folder to save into is empty: give one, or . for the current folder")
    return Path(name)


def checked_name(name: str) -> str:
    """Returns `name` if a C function can be called so. Raises ExportError."""
    if not isinstance(name, str) or not re.fullmatch("[A-Za-z][A-Za-z0-9_]{0,99}", name) or is_taken(name):
        raise ExportError(
            f"name={name!r:.60} cannot be the name of a C function of yours: take letters, digits and _, a letter "
            "first, at most 100, and no word of C or C++ nor a name of the C library"
        )
    return name


def writable(folder: Path) -> None:
    """Makes `folder` and tries to write there, before a long search whose result goes there. Raises ExportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot(folder, error) from error


def save(kernel: Saveable, folder: str | os.PathLike[str], name: str | None = None) -> tuple[Path, ...]:
    """Writes SYMBOL.c, .h, .so, .mk and .json, and SYMBOL_example.c, into `folder`, and a Makefile where it has none.

    Returns their paths.

    SYMBOL is `name`, else the kernel's own symbol, which states the whole problem. The kernel is compiled again if it
    gets another name or the compile cache has lost it. Raises ExportError, and then also ToolchainError and CacheError.
    """
    folder = folder_of(folder)
    source = kernel.emitted if name is None else _renamed(kernel.emitted, checked_name(name))
    problem = kernel.original
    isa, elements = isa_named(source.isa), elements_of(problem)
    header = kernel_header(
        problem,
        elements,
        kernel.scheme.text,
        source.symbol,
        isa,
        source.threads,
        source.packed,
        source.scratch,
        run=_run_parameters(problem, source),
        packs_in_team=source.pack_threads > 1,
        residuals=[a.name for a in problem.epilogue_arrays if problem.may_be_output(a) and kernel.scheme.single_pass],
    )
    library = kernel.saved
    if library is None or source is not kernel.emitted:
        library = compiled(source.text, source.compiler_flags, source.openmp)
    example_name = f"{source.symbol}_example"
    # `load` takes the saved library alone, so `make` builds another one only if asked for it by name.
    recipe = makefile(
        source.symbol, {source.symbol: source.compiler_flags}, source.openmp, (example_name,), example_name
    )
    # The record is put in place last: it vouches for the other files.
    files = {
        f"{source.symbol}.c": source.text.encode(),
        f"{source.symbol}.h": header.encode(),
        f"{example_name}.c": example(problem, elements, source.symbol, isa).encode(),
        f"{source.symbol}.so": library,
        **to_build(folder, source.symbol, recipe),
        f"{source.symbol}.json": (
            json.dumps(_record(kernel.scheme, source, library), indent=1, ensure_ascii=False) + "\n"
        ).encode(),
    }
    return placed(folder, files)


def to_build(folder: Path, name: str, recipe: str) -> dict[str, bytes]:
    """The file NAME.mk, and the Makefile of a folder that has none: one of a user's, or of a model, stays."""
    files = {f"{name}.mk": recipe.encode()}
    return files if (folder / "Makefile").exists() else files | {"Makefile": OF_A_FOLDER.encode()}


def placed(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Writes files by name into a folder, the last one last. Returns their paths. Raises ExportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Files are written in a folder beside and put in place whole: a program may have the older library loaded, and
        # the disk may fill up.
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=folder) as private:
            for name, content in files.items():
                (Path(private) / name).write_bytes(content)
            for name in files:
                os.replace(Path(private) / name, folder / name)
    except OSError as error:
        raise _cannot(folder, error) from error
    return tuple(folder / name for name in files)


def _renamed(source: Source, name: str) -> Source:
    """The same C text with another name for its functions. Raises ExportError if the text uses that name already."""
    if name == source.symbol:
        return source
    inside, call = (renamed_text(text, source.symbol, name) for text in (source.inside, source.call))
    return replace(source, symbol=name, inside=inside, call=call)


def renamed_text(text: str, symbol: str, name: str) -> str:
    """C text where the functions that begin with a symbol begin with another name. Raises ExportError."""
    # A name in capitals may be a macro's or a constant's, any other a function's. A local variable or a comment may use
    # any name.
    if re.search(rf"\b{name}(_pack|_supported|_at|(_pack)?_run)?\(" if name.upper() != name else rf"\b{name}\b", text):
        raise ExportError(f"name={name!r} stands for something else in the kernel's C text: take another")
    return re.sub(rf"\b{symbol}(?=(_pack|_supported|_at|(_pack)?_run)?\b)", name, text)


def _record(scheme: Scheme | Winograd, source: Source, library: bytes) -> dict[str, object]:
    symbol = symbol_of(scheme.problem, isa_named(source.isa), source.threads, scheme.algorithm)
    record: dict[str, object] = {
        "version": VERSION,
        "symbol": symbol,
        "op": scheme.problem.op,
        "shape": canonical(scheme.problem),
        "scheme": scheme.text,
        "isa": source.isa,
        "threads": source.threads,
    }
    if source.symbol != symbol:
        record["name"] = source.symbol
    if source.scratch is not None:
        record["scratch"] = source.scratch
    if source.pack_threads > 1:
        record["pack_threads"] = source.pack_threads
    return record | {"sha256": seal(record, source.text.encode(), library)}


def _run_parameters(problem: Problem, source: Source) -> list[str]:
    """The parameters of SYMBOL_run for a header, whose readers may be C++."""
    more = [parameter.replace("restrict ", "") for parameter in meanwhile(bool(source.scratch), source.threads)]
    return [*call_parameters(problem, elements_of(problem)), *more]


def seal(record: Mapping[str, object], text: bytes, library: bytes) -> str:
    """A hash of everything that belongs together: the record's other fields, the C text and the library."""
    named = [record[field] for field in (*RECORD, *OPTIONAL) if field in record and field != "sha256"]
    fields = json.dumps(named).encode()
    parts = (hashlib.sha256(part).digest() for part in (fields, text, library))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _cannot(folder: Path, error: OSError) -> ExportError:
    return ExportError(f"cannot save into {folder} ({error.strerror or error}): choose another folder")
