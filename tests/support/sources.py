"""What the files of Python here say: their imports, docstrings and types, each file parsed once."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

PACKAGES = ["bench", "cpu", "gpu", "graph", "microkernels", "search", "tiling"]
OURS = {*PACKAGES, "tests"}

# mypy would ask for these too, but then for those of NumPy's arrays as well, which its versions answer in two ways.
GENERIC = {"list", "dict", "tuple", "set", "frozenset", "Callable", "Iterable", "Iterator", "Mapping", "Sequence"}
GENERIC |= {"Collection", "Counter", "Generator", "MutableMapping", "Pass", "defaultdict", "deque"}


def bare_generics(nodes: list[ast.AST]) -> list[str]:
    """The generic types in annotations that say nothing of what they hold."""
    annotations = [node.annotation for node in nodes if isinstance(node, (ast.arg, ast.AnnAssign)) and node.annotation]
    annotations += [
        node.returns for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns
    ]
    inside = [node for annotation in annotations for node in ast.walk(annotation)]
    given = {id(node.value) for node in inside if isinstance(node, ast.Subscript)}
    return [node.id for node in inside if isinstance(node, ast.Name) and node.id in GENERIC and id(node) not in given]


def sources(package):
    return sorted((ROOT / package).rglob("*.py"))


@dataclass(frozen=True)
class Told:
    """What a file of Python says. Each is parsed once: there are a thousand, and the trees of all take 250 MB.

    docstrings: the module's first, "" where it has none. door: whether it only imports and starts something.
    bare: the generic types in annotations that say nothing of what they hold.
    """

    imported: frozenset[str]
    docstrings: tuple[str, ...]
    door: bool
    bare: tuple[str, ...]


def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


@cache
def told(path: Path) -> Told:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    nodes = nodes_of(path.read_text(encoding="utf-8"))
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = [ast.get_docstring(node) or "" for node in nodes if isinstance(node, kinds)]
    door = all(isinstance(node, (ast.Expr, ast.ImportFrom, ast.If)) for node in nodes[0].body)
    return Told(frozenset(imported(nodes, module)), tuple(docstrings), door, tuple(bare_generics(nodes)))


@lru_cache(maxsize=1)
def modules() -> dict[str, Path]:
    """Every module of ours by its dotted name; a package by its own."""
    found = {}
    for path in (path for package in PACKAGES for path in sources(package)):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room_of(module: str, path: Path) -> str:
    return module if path.name == "__init__.py" else module.rpartition(".")[0]


def imported(nodes: list[ast.AST], module: str = "") -> set[str]:
    """Dotted names that a module imports, wherever in it, and those that it has a worker import: the text
    "package.module:function".
    """
    names = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = re.fullmatch(r"([a-z_]+(?:\.\w+)+):\w+", node.value)
            names |= {text[1]} if text else set()
    return names


@lru_cache(maxsize=1)
def edges() -> dict[str, set[str]]:
    """The modules of ours that each module imports."""
    known = modules()

    def module(name: str) -> str:
        while name and name not in known:
            name = name.rpartition(".")[0]
        return name

    return {one: {module(name) for name in told(path).imported} - {one, ""} for one, path in known.items()}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Circles of a graph, one for each first node that is on one."""
    done: set[str] = set()
    found = []

    def walk(node: str, path: list[str]) -> None:
        if node in path:
            found.append([*path[path.index(node) :], node])
        elif node not in done:
            for other in sorted(graph.get(node, ())):
                walk(other, [*path, node])
            done.add(node)

    for node in sorted(graph):
        walk(node, [])
    return found
