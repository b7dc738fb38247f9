"""Results that cannot be written, and terminals that lack some letters."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright_entry
from tests.support.search.searching import SCHEME, SHAPE

COMMAND = [sys.executable, "-m", "search.conv", "--shape", SHAPE, "--isa", "portable"]
FULL = Path("/dev/full")


@pytest.mark.slow
@pytest.mark.exhaustive(options=None)
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("options", [["--scheme", SCHEME], ["--scheme", SCHEME, "--json"]])
def test_a_result_that_cannot_be_written_is_one_sentence(options):
    with FULL.open("w") as full:
        ended = subprocess.run([*COMMAND, *options], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "the result cannot be written to standard output: No space left on device\n"


PRINTING = """
import sys, types
from tilewright_entry import run

module = types.ModuleType("printing")
module.main = lambda: print("x" * int(sys.argv[1]))
sys.modules["printing"] = module
run("printing:main")
"""


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("letters", [1, 100_000])
def test_whatever_a_command_prints_a_full_disk_is_one_sentence(letters):
    """Where Python writes at once, and where it writes when the command is done."""
    with FULL.open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", PRINTING, str(letters)], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert ended.returncode == 1
    assert ended.stderr == "the result cannot be written to standard output: No space left on device\n"


def test_an_output_that_is_closed_is_one_sentence():
    program = "from search.__main__ import main; raise SystemExit(main())"
    ended = subprocess.run(["sh", "-c", '"$0" -c "$1" >&-', sys.executable, program], stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "the result cannot be written: standard output is closed\n")


@pytest.mark.parametrize("words", [["-c", PRINTING, "1"], ["-m", "search"], ["-m", "cpu.cache", "--help"]])
def test_a_command_whose_output_is_closed_fails_with_one_sentence(words):
    ended = subprocess.run(["sh", "-c", '"$0" "$@" >&-', sys.executable, *words], stderr=subprocess.PIPE, text=True)
    assert (ended.returncode, ended.stderr) == (1, "the result cannot be written to standard output: it is closed\n")


def test_errors_are_not_printed_as_results_where_their_stream_is_closed():
    command = [sys.executable, "-m", "search", "nonsense"]
    assert subprocess.run(["sh", "-c", '"$0" "$@" 2>&-', *command], stdout=subprocess.PIPE).stdout == b""
    ended = subprocess.run(command, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (2, "") and ended.stderr.startswith("python -m search takes no argument")


def test_no_file_gets_the_number_of_a_stream_that_is_closed():
    program = PRINTING.replace('print("x" * int(sys.argv[1]))', "sys.exit(open(sys.executable).fileno())")
    assert subprocess.run(["sh", "-c", '"$0" -c "$1" <&- >&- 2>&-', sys.executable, program]).returncode == 3


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_a_file_that_cannot_be_written_is_not_blamed_on_standard_output():
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    program = PRINTING.replace(
        'print("x" * int(sys.argv[1]))', "(print('a result'), open('/dev/full', 'wb', 0).write(b'x'))"
    )
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "a result\n")
    assert ended.stderr == "a file cannot be written: No space left on device\n"


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_help_that_cannot_be_written_fails(unbuffered):
    """At the end of the program, or at once."""
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    command = [sys.executable, "-m", "cpu.cache", "--help"]
    with FULL.open("w") as full:
        ended = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 1
    assert ended.stderr == "the result cannot be written to standard output: No space left on device\n"


def test_help_that_nobody_reads_to_its_end_is_no_failure():
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-u", "-m", "cpu.cache", "--help"]
    ended = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, text=True)
    os.close(writes)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_an_error_of_streams_is_a_sentence_where_there_is_no_output_at_all(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    told = tilewright_entry._sentence(OSError(errno.EBADF, "Bad file descriptor"))
    assert told == "the result cannot be written to standard output: Bad file descriptor"


@pytest.mark.slow
def test_a_terminal_of_ascii_gets_ascii():
    """The table of an explanation has micro signs and arrows, the check's bound a dot."""
    ended = subprocess.run(
        [*COMMAND, "--scheme", SCHEME, "--explain"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert ended.returncode == 0, ended.stderr
    text = ended.stdout.decode("ascii")
    assert (
        "L2->L1" in text
        and " us " in text
        and "within K*eps" in text
        and "?" not in text
        and b"Error" not in ended.stderr
    )


def test_what_a_command_prints_and_says_is_shown_in_ascii():
    """By whatever function: schemes have a letter of their own, which stays one that schemes are read with."""
    told = 'print("U(w,λ) 2 µs · 3 × 4 – 5 … é"), print("é → µ", file=sys.stderr)'
    ended = subprocess.run(
        [sys.executable, "-c", PRINTING.replace('print("x" * int(sys.argv[1]))', f"({told}, 0)[1]")],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.decode("ascii") == "U(w,lambda) 2 us * 3 x 4 - 5 ... \\xe9\n"
    assert ended.stderr.decode("ascii") == "\\xe9 -> u\n"


@pytest.mark.slow
def test_other_terminals_get_every_letter():
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    ended = subprocess.run([*COMMAND, "--scheme", SCHEME, "--explain"], env=environment, capture_output=True)
    assert "L2→L1" in ended.stdout.decode() and "within K·eps" in ended.stdout.decode()
