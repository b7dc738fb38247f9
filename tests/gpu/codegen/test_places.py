"""Who does what in a kernel comes from loops of passes: no index arithmetic on threads or blocks is written by hand."""

import ast
import re
from pathlib import Path

import pytest

GPU = Path(__file__).parents[3] / "gpu"
# Numbers of workers, and of what is dealt out among them, as kernels name them.
NUMBERS = r"(?:threadIdx\.x|blockIdx\.x|gridDim\.x|thread|lane|warp|warpgroup|rank|block|task|split|tile)"
ARITHMETIC = re.compile(rf"(?<![\w.]){NUMBERS}(?!\w)\s*[-+*/%](?!=)|[-+*/%]\s*(?<![\w.]){NUMBERS}(?!\w)")
# Probes are kernels of one call, written by hand to ask a device about it.
PROBES = {"probe.py", "tma_probes.py", "calibrate.py"}


def texts(path: Path) -> list[str]:
    """A template without comments and expressions, or a module's strings without docstrings.

    In a module's strings, @ stands for a value that is put in.
    """
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return re.sub(r"/\*.*?\*/|\{\{.*?\}\}", " @ ", source, flags=re.S).splitlines()
    nodes = list(ast.walk(ast.parse(source)))
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    inner |= {id(part) for node in joined for part in node.values}
    strings = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in inner]
    found = ["".join(part.value if isinstance(part, ast.Constant) else "@" for part in node.values) for node in joined]
    return [*found, *(text for text in strings if isinstance(text, str))]


def by_hand(text: str) -> list[str]:
    return ARITHMETIC.findall(text)


@pytest.mark.parametrize("path", sorted({*GPU.rglob("*.j2"), *GPU.rglob("*.py")}), ids=lambda path: path.name)
def test_no_text_does_arithmetic_on_the_numbers_of_workers(path):
    assert path.name in PROBES or [text for text in texts(path) if by_hand(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "threadIdx.x % 32",
        "4 * lane",
        "task / TILES",
        "blockIdx.x - first",
        "first + block * 4",
        "blockIdx.x / CLUSTER",
        "i + warp",
    ],
)
def test_arithmetic_is_found(text):
    assert by_hand(text)


@pytest.mark.parametrize("text", ["task += 4", "lane == 0", "m_block + row", "(lane, row)"])
def test_what_is_none_is_not(text):
    assert not by_hand(text)
