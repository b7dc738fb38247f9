"""A kernel as plain C, for programs with no Python: .c, .h, .so and a small program that calls it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import jinja2

from cpu.cache import load
from cpu.kernel import Kernel
from cpu.emit import TEMPLATES
from cpu.toolchain import BASE_FLAGS
from microkernels.isa import isa_named


class ExportError(RuntimeError):
    """The folder to save into cannot be written."""


def writable(folder: Path) -> None:
    """Makes `folder` and tries it out, before a long search whose result is to go there. Raises ExportError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _cannot(folder, error) from error


def save(kernel: Kernel, folder: Path) -> tuple[Path, ...]:
    """Writes SYMBOL.c, SYMBOL.h, SYMBOL.so and example.c into `folder`; returns their paths. Raises ExportError.

    Where the compile cache has lost the kernel meanwhile it is compiled again: raises ToolchainError and CacheError too.
    """
    source = kernel.emitted
    problem = kernel.problem
    facts = {
        "symbol": source.symbol,
        "problem": str(problem),
        "scheme": kernel.scheme.text,
        "isa": isa_named(source.isa),
        "threads": source.threads,
        "tensors": (problem.broadcast, problem.vector, problem.output),
        "packed_floats": source.packed_floats,
        "compile_flags": " ".join((*BASE_FLAGS, *source.compiler_flags, *(("-fopenmp",) if source.openmp else ()))),
    }
    library = load(source.text, source.compiler_flags, lambda path: Path(path).read_bytes(), source.openmp)
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in (
            (f"{source.symbol}.c", source.text),
            (f"{source.symbol}.h", _render("kernel.h.j2", facts)),
            ("example.c", _render("example.c.j2", facts)),
        ):
            (folder / name).write_text(text, encoding="utf-8")
            written.append(folder / name)
        (folder / f"{source.symbol}.so").write_bytes(library)
        written.append(folder / f"{source.symbol}.so")
    except OSError as error:
        raise _cannot(folder, error) from error
    return tuple(written)


def _cannot(folder: Path, error: OSError) -> ExportError:
    return ExportError(f"cannot save the kernel into {folder} ({error.strerror or error}): choose another folder")


def _render(template: str, facts: dict) -> str:
    loaded: jinja2.Template = TEMPLATES.get_template(template)
    return loaded.render(**facts)
