"""The house rules that a machine can check: who imports whom, and how files are named."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# The table of docs/architecture.md: a package may import itself and these.
MAY_IMPORT = {
    "tiling": set(),
    "microkernels": {"tiling"},
    "cpu": {"tiling", "microkernels"},
    "gpu": {"tiling"},
    "search": {"tiling", "microkernels"},
    "bench": {"tiling", "microkernels", "cpu", "gpu", "search"},
}
# Entry points wire packages together, so that no other module has to.
ENTRY_POINTS = {
    "search/generate.py": {"cpu", "gpu"},
    "search/command.py": {"cpu"},
    "search/gpu_check.py": {"cpu", "gpu"},
    "search/gpu_command.py": {"cpu", "gpu"},
    "search/gpu_explain.py": {"gpu"},
    "search/gpu_measure.py": {"cpu", "gpu"},
    "search/gpu_report.py": {"gpu"},
    "search/gpu_target.py": {"gpu"},
    "search/gpu_workshop.py": {"cpu", "gpu"},
    "search/options.py": {"cpu"},
    "search/report.py": {"cpu"},
    "search/workshop.py": {"cpu"},
    "gpu/arrays.py": {"cpu"},
    "gpu/calibrate.py": {"cpu"},
    "gpu/compile.py": {"cpu"},
    "gpu/twin.py": {"cpu"},
    "microkernels/offline.py": {"cpu"},
    "microkernels/command.py": {"cpu"},
}
OURS = {*MAY_IMPORT, "tests"}
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc"}


def sources(package):
    return sorted((ROOT / package).rglob("*.py"))


def imported(source: str) -> set[str]:
    """Top-level names that a module imports, wherever in it; imports relative to its own package are left out."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_only_what_the_table_allows(package):
    broken = []
    for path in sources(package):
        name = path.relative_to(ROOT).as_posix()
        allowed = {package} | MAY_IMPORT[package] | ENTRY_POINTS.get(name, set())
        broken += [f"{name} imports {other}" for other in sorted(imported(path.read_text()) & OURS - allowed)]
    assert not broken


def test_the_language_needs_the_standard_library_only():
    broken = {
        f"{path.name} imports {name}"
        for path in sources("tiling")
        for name in imported(path.read_text()) - {"tiling"} - sys.stdlib_module_names
    }
    assert not broken


def test_imports_are_found_wherever_they_stand():
    source = "import os.path\ndef f():\n    from cpu.kernel import k\n    import gpu as g\nfrom . import near\n"
    assert imported(source) == {"os", "cpu", "gpu"}


def test_every_file_is_named_for_its_subject():
    nameless = [
        path.relative_to(ROOT).as_posix()
        for package in OURS
        for path in (ROOT / package).rglob("*")
        if path.stem in NAMELESS
    ]
    assert not nameless


def test_no_line_is_longer_than_120():
    long = [
        f"{path.relative_to(ROOT).as_posix()}:{number}"
        for package in OURS
        for path in (ROOT / package).rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not long
