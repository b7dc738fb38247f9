"""Loads a saved kernel again. Its record says which scheme and problem the library was made from."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path
from typing import cast

from cpu.codegen.emit import Source, microkernels_of, packed_elements_of, symbol_of
from cpu.kernel.callable import CpuKernel
from cpu.kernel.export import OPTIONAL, RECORD, ExportError, Record, as_path, checked_name, seal
from cpu.runtime.compiler.loading import why_not_loaded
from cpu.runtime.saved_files import content, of_others
from microkernels.tile.isa import isa_named
from tilewright_entry import TilewrightWarning
from tiling.problem import ProblemError
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import problem_of


def load(path: str | Path) -> CpuKernel:
    """Loads the kernel that `save` wrote. path: its folder, or its SYMBOL.json if a folder holds several.

    The record, the library and the source are checked before the library is loaded: a library is code, and one that the
    record does not describe would run with the wrong arrays. Raises ExportError. Raises CpuError if the CPU lacks the
    kernel's instruction set. Warns where others may have written the folder.
    """
    path = Path(as_path(path))
    found = sorted(filter(_is_record, path.glob("*.json"))) if path.is_dir() else [path]
    if len(found) != 1:
        names = f", but {len(found)}: {', '.join(one.name for one in found[:4])}; name the one" if found else ""
        raise ExportError(f"{path} is not the folder of one saved kernel{names or _instead(path)}")
    record, folder = _read(found[0]), found[0].parent
    if whose := of_others(folder, found[0]):
        warnings.warn(
            f"{whose}: a saved kernel is a program, so load only what you trust", TilewrightWarning, stacklevel=3
        )
    try:
        scheme = parse(problem_of(record["op"], record["shape"]), record["scheme"])
        isa = isa_named(record["isa"])
    except (ProblemError, SchemeError, ValueError) as error:
        raise ExportError(f"{found[0]} is no record of a saved kernel: {error}") from None
    # If the symbol and the lanes agree, the sizes of all arrays follow from the record.
    symbol = symbol_of(scheme.problem, isa, record["threads"], scheme.algorithm)
    if record["symbol"] != symbol or scheme.lanes != isa.lanes:
        raise ExportError(f"{found[0]} is no record of a saved kernel: its symbol is not of its shape, isa and scheme")
    symbol = record.get("name", symbol)
    files = [folder / f"{symbol}{suffix}" for suffix in (".c", ".so")]
    try:
        text, library = map(content, files)
    except OSError as error:
        raise ExportError(f"{error.filename} cannot be read ({error.strerror}): save the kernel again") from error
    if record["sha256"] != seal(record, text, library):
        raise ExportError(
            f"{found[0]} was not written together with {files[0].name} and {files[1].name} beside it: one of them was "
            "changed, or built again by make. load_kernel takes them only as they were saved: save the kernel again"
        )
    source = Source(
        symbol=symbol,
        inside=text.decode(),
        call="",
        isa=isa.name,
        threads=record["threads"],
        microkernels=microkernels_of(scheme, isa),
        packed=packed_elements_of(scheme),
        scratch=record.get("scratch"),
        pack_threads=record.get("pack_threads", 1),
    )
    try:
        return CpuKernel(scheme, source, library)
    except OSError as error:
        why = why_not_loaded(error, "save the kernel again", "generate the kernel on this machine")
        raise ExportError(f"{files[1]} cannot be loaded {why}") from error


def _read(path: Path) -> Record:
    """The record in a file, with every field checked. Raises ExportError."""
    try:
        record = json.loads(content(path).decode())
    except OSError as error:
        raise ExportError(f"{path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:  # broken, or nested too deeply
        why = "give its folder, or the .json beside it" if path.suffix in (".c", ".h", ".so") else error
        raise ExportError(f"{path} is no record of a saved kernel: {why}") from None
    known = isinstance(record, dict) and RECORD | {key: kind for key, kind in OPTIONAL.items() if key in record}
    if not known or {key: type(value) for key, value in record.items()} != known:
        raise ExportError(f"{path} is no record of a saved kernel: its fields are {', '.join(RECORD)}")
    # The symbol becomes a file's name and a C declaration.
    if not re.fullmatch("[a-z][a-z0-9_]{0,400}", record["symbol"]) or record["threads"] < 1:
        raise ExportError(f"{path} is no record of a saved kernel: its symbol or its number of threads cannot be")
    for field, least, most in (("scratch", 0, sys.maxsize), ("pack_threads", 1, record["threads"])):
        if not least <= record.get(field, least) <= most:
            raise ExportError(f"{path} is no record of a saved kernel: {field}={record[field]} cannot be")
    if "name" in record:
        checked_name(record["name"])
    return cast(Record, record)  # its fields and their types were compared with RECORD above


def _instead(folder: Path) -> str:
    """What the folder holds instead of a kernel, where that can be told."""
    if (folder / "model.json").is_file():
        return ", but that of a whole model: load_model of the package graph loads it"
    if any(folder.glob("*.so")):
        return ": a library lies there without its record, as of a program, which only C can call"
    return ""


def _is_record(path: Path) -> bool:
    """Whether a file is a record, by its name or its content. Another program's .json may lie in the folder.

    One beside a library of its name is, even where it is damaged.
    """
    if "__" in path.stem or path.with_suffix(".so").is_file():
        return True
    try:
        return bool(_read(path))
    except ExportError:
        return False
