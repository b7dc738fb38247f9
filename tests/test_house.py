"""The house rules that a machine can check: who imports whom, and how files are named."""

import re
import sys
from pathlib import Path

import pytest

from tests.support.sources import (
    OURS,
    PACKAGES,
    ROOT,
    bare_generics,
    circles,
    edges,
    imported,
    modules,
    nodes_of,
    room_of,
    sources,
    told,
)

MOST_FILES = 14  # of a room, beside its `__init__.py`
NAMELESS = {"utils", "util", "helpers", "helper", "common", "misc"}


def table(page: str) -> dict[str, set[str]]:
    """What each room may import beside itself, by the table of docs/architecture.md; `x.*` is a package with its rooms.

    *These* are the room named last before it and what that one may import, *the same* is the latter alone.
    """

    def named(text: str, package: str) -> list[str]:
        names = re.findall(r"`([\w.]+?(?:\.\*)?)`", text)
        return [name if name.partition(".")[0] in PACKAGES else f"{package}.{name}" for name in names]

    found: dict[str, set[str]] = {}
    for package, cell in re.findall(r"^\| `(\w+)/` \| [^|]* \| (.*←.*) \|$", page, re.M):
        last, before = "", set()
        for entry in cell.split(" · "):
            left, _, right = entry.partition("←")
            allowed = set(named(right, package))
            allowed |= before if "these" in right or "the same" in right else set()
            allowed |= {last} if "these" in right else set()
            for last in named(left, package):
                assert last not in found
                found[last] = allowed
            before = allowed
    return found


# A room is a folder; what lies in a package's own folder is a room too.
ROOMS = table((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))


def may_import(room: str) -> set[str]:
    """The rooms that the table allows a room, itself included."""
    return {room, *(other for name in ROOMS[room] for other in expanded(name))}


def expanded(name: str) -> set[str]:
    """The rooms that a name stands for: `x.*` for a package with all its rooms."""
    package = name.removesuffix(".*")
    return {other for other in ROOMS if f"{other}.".startswith(f"{package}.")} if name != package else {name}


def test_the_table_is_read():
    page = """
| package | holds | rooms ← what each may import |
| `gpu/` | CUDA | `limits` ← nothing · `model` ← `tiling.*`, `limits` · `twin` ← these · `probes` ← the same, `run` |
"""
    model = {"tiling.*", "gpu.limits"}
    rooms = {"gpu.limits": set(), "gpu.model": model, "gpu.twin": {*model, "gpu.model"}}
    assert table(page) == {**rooms, "gpu.probes": {*model, "gpu.model", "gpu.run"}}
    assert {room.partition(".")[0] for room in ROOMS} == set(PACKAGES) and len(ROOMS) > 80
    assert {other for names in ROOMS.values() for name in names for other in expanded(name)} <= set(ROOMS)


def test_every_folder_of_modules_is_a_room():
    folders = {room_of(module, path) for module, path in modules().items()}
    assert folders == set(ROOMS)


# Rooms with many tests have some of them in folders by what the kernels do.
SUBJECTS = {"cpu.codegen.arrays", "cpu.codegen.dtypes", "gpu.program", "gpu.scheme"}


def test_folders_of_tests_are_those_of_the_packages():
    folders = {".".join(path.parent.relative_to(ROOT / "tests").parts) for path in sources("tests")} - {""}
    beside = {name for name in folders if name.partition(".")[0] in ("golden", "soak", "support")}
    assert {name for name in folders - beside if not (ROOT / name.replace(".", "/")).is_dir()} == SUBJECTS


def test_no_room_is_crowded():
    """A reader sees a dozen files at a glance, so a folder with more has rooms. A door only starts a command."""
    held: dict[str, int] = {}
    for module, path in modules().items():
        if path.name != "__init__.py" and not told(path).door:
            held[room_of(module, path)] = held.get(room_of(module, path), 0) + 1
    assert held["bench"] == 1  # its command; the other files there are doors
    for path in sources("tests"):
        if path.name != "__init__.py":
            held[path.parent.relative_to(ROOT).as_posix()] = held.get(path.parent.relative_to(ROOT).as_posix(), 0) + 1
    assert {room: files for room, files in held.items() if files > MOST_FILES} == {}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_files(room):
    listed = set(re.findall(r"\w+", told(ROOT / room.replace(".", "/") / "__init__.py").docstrings[0]))
    held = {module.rpartition(".")[2] for module, path in modules().items() if room_of(module, path) == room != module}
    inside = {other.rpartition(".")[2] for other in ROOMS if other.rpartition(".")[0] == room}
    assert not (held | inside) - listed - {"__main__"}


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_import_only_what_the_table_allows(room):
    known, allowed = modules(), may_import(room)
    broken = [
        f"{module} imports {other}"
        for module, others in edges().items()
        if room_of(module, known[module]) == room
        for other in sorted(others)
        if room_of(other, known[other]) not in allowed
    ]
    assert not broken


def test_rooms_are_in_no_circle():
    known = modules()
    rooms: dict[str, set[str]] = {}
    for module, others in edges().items():
        room = room_of(module, known[module])
        rooms.setdefault(room, set()).update({room_of(other, known[other]) for other in others} - {room})
    assert circles(rooms) == []
    assert circles({room: may_import(room) - {room} for room in ROOMS}) == []  # nor does the table allow one


def test_modules_are_in_no_circle():
    assert circles(edges()) == []


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c", "b"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_nothing_imports_tests():
    broken = [
        f"{module} imports {name}"
        for module, path in modules().items()
        for name in told(path).imported
        if name.partition(".")[0] == "tests"
    ]
    assert not broken


def test_tests_share_what_they_need_in_support():
    files = {path: ".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sources("tests")}
    broken = [
        f"{module} imports {name}"
        for path, module in files.items()
        for name in told(path).imported
        if name.startswith("tests.") and ".test_" in name and not f"{name}.".startswith(f"{module}.")
    ]
    assert not broken


def test_the_language_needs_the_standard_library_only():
    broken = {
        f"{path.name} imports {name}"
        for path in sources("tiling")
        for name in {x.partition(".")[0] for x in told(path).imported} - {"tiling"} - sys.stdlib_module_names
    }
    on_arrays = {
        "histories",
        "memory",
        "slices",
        "points",
        "asynchronous",
        "lanes",
        "iterations",
        "each_thread",
        "touched",
        "together",
        "interpret",
        "instructions",
        "functions",
        "narrow",
    }
    assert broken == {f"{name}.py imports numpy" for name in on_arrays}


def test_imports_are_found_wherever_they_stand():
    source = "import os.path\ndef f():\n    from cpu.kernel import k\n    import gpu as g\nfrom . import near\n"
    assert imported(nodes_of(source), "search.x") == {"os.path", "cpu.kernel.k", "gpu", "search.near"}
    assert imported(nodes_of("worker.call('cpu.kernel.measure:scheme')")) == {"cpu.kernel.measure"}


def test_every_file_is_named_for_its_subject():
    nameless = [
        path.relative_to(ROOT).as_posix()
        for package in OURS
        for path in (ROOT / package).rglob("*")
        if path.stem in NAMELESS
    ]
    assert not nameless


# Words of earlier versions: (word, the field's word). They are names of nothing any more, in code or on pages.
OLD_WORDS = {
    **{"workshop": "target, evaluator", "asked_for": "prefetch", "to_l2": "prefetch", "coming": "prefetch"},
    **{"crosswise": "transposed output", "LOOKS": "repetitions", "tickets": "semaphores", "honesty": "accuracy"},
    **{"refusal": "unsupported reason", "shop": "target"},
}


def test_words_are_those_of_the_field():
    old = re.compile(rf"(?<![a-z_])({'|'.join(OLD_WORDS)})(?![a-z_])")
    found = [
        f"{path.relative_to(ROOT).as_posix()}: {word}: say {OLD_WORDS[word]}"
        for folder in (*OURS, "examples", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".j2", ".c", ".h", ".cu", ".cuh"} and path != Path(__file__)
        for word in set(old.findall(path.read_text(encoding="utf-8")))
    ]
    assert not found


def prose(docstring: str) -> list[str]:
    """The lines of a docstring but for what it shows, which is indented."""
    return [line for line in docstring.splitlines() if line.strip() and not line.startswith("    ")]


@pytest.mark.parametrize("package", sorted({*OURS, "examples"}))
def test_a_module_says_in_five_lines_what_it_is_for(package):
    long = [
        f"{path.relative_to(ROOT).as_posix()}: {len(lines)} lines"
        for path in sources(package)
        if len(lines := prose(told(path).docstrings[0])) > 5
    ]
    assert not long


# A genitive without its noun: "length: of the image", "length: the image's", "Of a loop; of an L those of all its
# branches". It needs two readings, where "length: that of the image" needs one.
CLIPPED = re.compile(r"[\w)]: (?:of\b|(?:the|an?) [\w -]*'s[.,;])|(?:^|[.;] |\n)Of (?!course)")


@pytest.mark.parametrize("package", sorted({*OURS, "examples"}))
def test_docstrings_are_whole_sentences(package):
    clipped = [
        f"{path.relative_to(ROOT).as_posix()}: {found[0]}"
        for path in sources(package)
        for docstring in told(path).docstrings
        if (found := CLIPPED.search(docstring))
    ]
    assert not clipped


def test_a_clipped_genitive_is_found():
    assert CLIPPED.search("length: of the image") and CLIPPED.search("Of a loop; of an L those of all its branches")
    assert CLIPPED.search("length: the image's; it is whole")
    assert not CLIPPED.search("length: the image's rows. Of course it is one of two: both of them count")


def test_what_a_docstring_shows_is_no_prose():
    assert prose("One line.\n\n    shown\n\nAnother.\n") == ["One line.", "Another."]
    assert prose("") == []


def test_files_that_are_no_python_are_installed_too():
    """`package-data` of pyproject.toml names them by how they end."""
    (endings,) = re.findall(r'^"\*" = \[(.*)\]$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    installed = {f".{ending}" for ending in re.findall(r'"\*\.(\w+)"', endings)}
    there = {
        path.suffix
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert there and there == installed


@pytest.mark.parametrize("package", PACKAGES)
def test_a_type_says_what_it_holds(package):
    bare = {f"{path.relative_to(ROOT).as_posix()}: {name}" for path in sources(package) for name in told(path).bare}
    assert not bare


def test_a_type_that_does_not_say_what_it_holds_is_found():
    found = bare_generics(nodes_of("def f(x: list, *y: dict[str, tuple]) -> Callable: z: set = g(list)"))
    assert sorted(found) == ["Callable", "list", "set", "tuple"]
    assert bare_generics(nodes_of("def f(x: list[int]) -> dict[str, tuple[int, ...]]: return list(x)")) == []


def test_no_line_is_longer_than_120():
    long = [
        f"{path.relative_to(ROOT).as_posix()}:{number}"
        for package in (*OURS, "examples")
        for path in (ROOT / package).rglob("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > 120
    ]
    assert not long
