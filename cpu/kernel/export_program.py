"""Saves the kernel of a program as C that needs no Python: one function, in .c, .h and .so, and a makefile.

A program around an anchor has a file for each kernel that its function calls; the library holds them all.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from cpu.codegen.arrays import elements_of
from cpu.codegen.emit import Source
from cpu.codegen.frame.call import meanwhile
from cpu.codegen.frame.header import program_header
from cpu.codegen.program.anchored import Parts, emit_anchored
from cpu.codegen.program.emit import ProgramSource, symbol_of
from cpu.kernel.export import ExportError, checked_name, folder_of, placed, renamed_text, to_build
from cpu.runtime.compiler.library import compiled, compiled_object
from cpu.runtime.compiler.makefile import makefile
from cpu.runtime.compiler.toolchain import compile_shared, find_compiler
from microkernels.tile.isa import isa_named
from tiling.problem import Problem
from tiling.program.infer import Sized
from tiling.program.rewrite.anchored import Anchored

AnySource = TypeVar("AnySource", Source, ProgramSource)


def save_program(
    program: Sized, source: ProgramSource, folder: str | os.PathLike[str], name: str | None
) -> tuple[Path, ...]:
    """Writes NAME.c, .h, .so and .mk, and a Makefile where the folder has none.

    Raises ExportError, ToolchainError and CacheError.
    """
    path = folder_of(folder)
    source = _named(source, name)
    library = compiled(source.text, source.compiler_flags, source.openmp)
    files = _files(program, source) | {f"{source.symbol}.so": library}
    texts = {source.symbol: source.compiler_flags}
    return placed(path, files | to_build(path, source.symbol, _recipe(source.symbol, texts, source.openmp)))


def save_anchored(
    program: Sized,
    found: Anchored,
    sources: tuple[ProgramSource | None, Source, ProgramSource | None],
    problem: Problem,
    folder: str | os.PathLike[str],
    name: str | None,
) -> tuple[Path, ...]:
    """As `save_program` for a program around an anchor, and NAME_before.c, NAME_product.c, NAME_after.c for its parts.

    sources: the sources of these parts. problem: the anchor's problem. Raises as `save_program`.
    """
    path, (before, product, after) = folder_of(folder), sources
    threads = max(source.threads for source in sources if source)
    symbol = checked_name(name) if name is not None else symbol_of(program, isa_named(product.isa), threads)
    parts = Parts(
        found,
        _renamed(product, f"{symbol}_product"),
        before and _renamed(before, f"{symbol}_before"),
        after and _renamed(after, f"{symbol}_after"),
        tuple(dict(found.stores.arrays)[array.name] for array in problem.epilogue_arrays),
        elements_of(problem),
    )
    whole = emit_anchored(program, parts, symbol)
    files = _files(program, whole) | {f"{part.symbol}.c": part.inside.encode() for part in parts.sources}
    texts = {symbol: (), **{part.symbol: part.compiler_flags for part in parts.sources}}
    openmp = whole.openmp or any(part.openmp for part in parts.sources)
    files |= {f"{symbol}.so": _linked(whole, parts.sources)}
    return placed(path, files | to_build(path, symbol, _recipe(symbol, texts, openmp)))


def _recipe(symbol: str, texts: Mapping[str, Sequence[str]], openmp: bool) -> str:
    """What builds SYMBOL.so. texts: the compiler's flags for each text."""
    return makefile(symbol, texts, openmp, (f"{symbol}.so",))


def _linked(whole: ProgramSource, parts: Sequence[Source | ProgramSource]) -> bytes:
    """The library of a function and of the kernels that it calls. Each is compiled by itself and cached."""
    with tempfile.TemporaryDirectory(prefix="tilewright-") as temporary:
        objects = [Path(temporary) / f"{part.symbol}.o" for part in parts]
        for part, file in zip(parts, objects):
            file.write_bytes(compiled_object(part.inside, part.compiler_flags, part.openmp))
        library = Path(temporary) / f"{whole.symbol}.so"
        compile_shared(find_compiler(), whole.text, library, tuple(map(str, objects)), whole.openmp)
        return library.read_bytes()


def _named(source: ProgramSource, name: str | None) -> ProgramSource:
    """The source with another name for its functions, unless the text uses it already."""
    if name is None or checked_name(name) == source.symbol:
        return source
    # A local variable may have any name.
    outside = rf"(static const long |enum [{{] |define ){name}\b|typedef [^;\n]*\b{name} __attribute__|\b{name}\("
    if name == "arrays" or re.search(outside, source.text):
        raise ExportError(f"name={name!r} stands for something else in the kernel's C text: take another")
    return _renamed(source, name)


def _renamed(source: AnySource, name: str) -> AnySource:
    inside, call = (renamed_text(text, source.symbol, name) for text in (source.inside, source.call))
    return replace(source, symbol=name, inside=inside, call=call)


def _files(program: Sized, source: ProgramSource) -> dict[str, bytes]:
    """The text and the header of a function."""
    parameters = [parameter.replace("restrict ", "") for parameter in source.parameters]
    more = [parameter.replace("restrict ", "") for parameter in meanwhile(source.scratch > 0, source.threads)]
    outputs = (array for array in program.assigned if array.name in program.outputs)
    header = program_header(
        str(program.program).split("; "),
        [f"{a.name}: {a.dtype}[{', '.join(map(str, a.sizes))}]" for a in (*program.inputs, *outputs)],
        source.numbers,
        source.symbol,
        isa_named(source.isa),
        source.threads,
        source.scratch,
        parameters,
        run=[*parameters, *(f"long {name}" for name, _ in source.numbers), *more],
        reports=source.reports,
    )
    return {f"{source.symbol}.c": source.text.encode(), f"{source.symbol}.h": header.encode()}
