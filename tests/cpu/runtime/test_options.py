"""Wrong command lines end in one sentence, and every command line has the parser that sees to it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from cpu.runtime.options import Parser

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "tool: error: the following arguments are required: what"),
        (["rank"], "tool rank: error: the following arguments are required: --size"),
        (["rank", "--size", "x"], "tool rank: error: argument --size: invalid int value: 'x'"),
        (["rank", "--size", "1", "b\x1b[2J"], r"tool: error: unrecognized arguments: b\x1b[2J"),
    ],
)
def test_what_is_wrong_is_one_line(words, said, capsys):
    parser = Parser("tool")
    commands = parser.add_subparsers(required=True, metavar="what")
    commands.add_parser("rank").add_argument("--size", type=int, required=True)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words)
    printed = capsys.readouterr()
    assert ended.value.code == 2 and (printed.out, printed.err) == (
        "",
        f"{said}; see --help\n",
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["rnak"], " (did you mean rank?); see --help"),
        (["rank", "--target", "cuad"], " (did you mean cuda?); see --help"),
        (["rank", "--siez", "2"], "unrecognized arguments: --siez 2 (did you mean --size?); see --help"),
        (["rank", "--siez=2"], "unrecognized arguments: --siez=2 (did you mean --size?); see --help"),
        (["rank", "foo", "--siez"], "unrecognized arguments: foo --siez (did you mean --size?); see --help"),
        (["rank", "--zzz=1", "--SIZE", "2"], "--zzz=1 --SIZE 2 (did you mean --size?); see --help"),
        (["rank", "--siez", "2", "--tagret=cpu"], " (did you mean --size or --target?); see --help"),
        (["rank", "--target", "CUDA"], " (did you mean cuda?); see --help"),
        (["rank", "--zzz"], "unrecognized arguments: --zzz; see --help"),
        (["rank", "--target", "x"], "); see --help"),
    ],
)
def test_what_was_meant_is_said(words, meant, capsys):
    parser = Parser("tool")
    commands = parser.add_subparsers(required=True, metavar="what")
    rank = commands.add_parser("rank")
    rank.add_argument("--size", type=int)
    rank.add_argument("--target", choices=("cpu", "cuda"))
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words)
    said = capsys.readouterr().err
    assert ended.value.code == 2 and said.endswith(f"{meant}\n")
    assert ("did you mean" in said) == ("did you mean" in meant)


def test_nothing_else_makes_a_parser():
    texts = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in ROOT.glob("[a-z]*/**/*.py")}
    makers = {path for path, text in texts.items() if re.search(r"\bParser\(", text)}
    assert len(makers) > 20, "the search finds parsers"
    assert not [path for path, text in texts.items() if re.search(r"\bArgumentParser\(", text)]


@pytest.mark.slow
def test_the_commands_that_people_type_first():
    """In a process of its own, as a shell starts it."""
    for words in (["search.conv", "--threads", "none"], ["cpu.cache"], ["graph.run"]):
        ended = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True)
        assert ended.returncode == 2 and ended.stdout == ""
        assert ended.stderr.startswith(f"python -m {words[0]}: error: ") and ended.stderr.count("\n") == 1
