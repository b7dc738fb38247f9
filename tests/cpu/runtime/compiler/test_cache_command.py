"""`python -m cpu.cache`, and the limits that other commands give the compile cache."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys

import pytest

from cpu.runtime.compiler.cache import kept
from cpu.runtime.compiler.cache_command import _ago, limited, main, size
from cpu.runtime.compiler.cache_folder import (
    DEFAULT_LIMIT_BYTES,
    clear,
    entries,
    keep_limit,
    limit_bytes,
)
from search.conv import main as conv_command
from tests.support.running.cache_races import ROOT
from tests.support.running.own_cache import answer, filled, names

pytestmark = pytest.mark.usefixtures("kernels")


def test_how_long_ago_is_said_in_english():
    assert [_ago(seconds) for seconds in (-1, 0.9, 59, 300, 86400)] == [
        "0 seconds",
        "1 second",
        "59 seconds",
        "5 minutes",
        "24 hours",
    ]


def test_status_limit_and_clear(capsys, kernels):
    assert main(["status"]) == 0
    assert "kernels      0, 0 B" in capsys.readouterr().out
    filled(kernels, {"a": 60, "b": 4000}, size=1 << 19)
    assert main(["status"]) == 0
    printed = capsys.readouterr().out
    assert str(kernels) in printed and "2, 2 MiB" in printed and "limit        512 MiB" in printed
    assert "last used    60 seconds to 67 minutes ago" in printed
    filled(kernels, {"a": 4010, "b": 4000}, size=1 << 19)
    assert main(["status"]) == 0 and "last used    67 minutes ago" in capsys.readouterr().out
    assert main(["limit", "1M"]) == 0
    assert capsys.readouterr().out == "compiled kernels are kept within 1 MiB; deleted 1 compiled kernel, 1 MiB\n"
    assert main(["status", "--json"]) == 0
    facts = {"folder": str(kernels), "kernels": 1, "of_gpus": 0, "bytes": 1 << 20, "limit_bytes": 1 << 20}
    assert json.loads(capsys.readouterr().out) == facts
    assert main(["clear"]) == 0
    assert capsys.readouterr().out == "deleted 1 compiled kernel, 1 MiB\n" and names(kernels) == ""


@pytest.mark.parametrize("limit, said", [("1K", "deleted 1 compiled kernel"), ("1M", ""), ("none", "")])
def test_a_limit_that_another_command_gives_says_what_it_deletes(kernels, limit, said):
    answer()
    found = limited(size(limit))
    assert said in found and bool(found) == bool(said) and limit_bytes() == size(limit)
    assert "holds a few kernels at most" in limited(size("2K"))


@pytest.mark.slow
def test_a_search_says_what_its_limit_does(kernels, capsys):
    answer()
    words = ["--shape", "c=4,h=5,w=5,k=4,r=1,s=1", "--isa", "portable", "--scheme", "R(h) R(w) S(y) T(c,4) V(k,4)"]
    assert conv_command([*words, "--cache-limit", "1K"]) == 0
    assert "from now on compiled kernels are kept within 1 KiB; deleted 1 compiled" in capsys.readouterr().err


def test_a_limit_is_lifted(capsys, kernels):
    filled(kernels, {"a": 60, "b": 4000})
    keep_limit(250)
    assert main(["limit", "none"]) == 0
    assert capsys.readouterr().out == "compiled kernels are kept without a limit\n"
    filled(kernels, {name: 60 for name in "cdef"})
    assert answer() == 42 and len(entries()) == 7
    assert main(["status"]) == 0 and "limit        none\n" in capsys.readouterr().out
    assert main(["status", "--json"]) == 0 and json.loads(capsys.readouterr().out)["limit_bytes"] is None


def test_cubins_lie_under_the_same_limit(capsys, kernels):
    """Sealed, within the limit, counted and cleared as libraries are."""
    made = []

    def make(path):
        made.append(path)
        return b"\x7fELF of a GPU"

    name = "f" * 64 + ".cubin"
    assert kept(name, "__global__ void k();", make) == kept(name, "__global__ void k();", make) == b"\x7fELF of a GPU"
    assert len(made) == 1 and (kernels / name).with_suffix(".cu").read_text() == "__global__ void k();"
    (kernels / name).write_bytes(b"\x7fELF, cut")
    assert kept(name, "__global__ void k();", make) == b"\x7fELF of a GPU" and len(made) == 2
    filled(kernels, {"a": 4000})
    assert main(["status"]) == 0 and "kernels      2, 1 of them for GPUs, " in capsys.readouterr().out
    assert [entry.path.suffix for entry in keep_limit(99)] == [".so"]
    assert [entry.path.name for entry in clear()] == [name] and list(kernels.iterdir()) == []


def test_the_module_is_the_command(tmp_path):
    command = [sys.executable, "-m", "cpu.cache", "status"]
    assert (
        str(tmp_path / "cache") in subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    )


def test_a_reader_that_has_enough_ends_the_command_quietly(tmp_path):
    """As `| true` does, before the command writes."""
    script = f"{sys.executable} -m cpu.cache status; echo ended with $? >&2"
    with subprocess.Popen(
        ["sh", "-c", f"({script}) | true"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        _, said = process.communicate()
    assert said == "ended with 0\n"


@pytest.mark.parametrize(
    "text, count",
    [("0", 0), ("512M", 512 << 20), ("2g", 2 << 30), ("3 KiB", None), ("10kB", 10240), (" None", math.inf)],
)
def test_sizes(text, count):
    if count is None:
        with pytest.raises(argparse.ArgumentTypeError, match="is not a size such as"):
            size(text)
    else:
        assert size(text) == count


def test_the_command_in_an_unusable_folder(monkeypatch, tmp_path, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "file"))
    assert main(["limit", "1M"]) == 1
    assert "set TILEWRIGHT_CACHE" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        (
            "search.conv",
            "--shape",
            "c=4,h=5,w=5,k=4,r=1,s=1",
            "--isa",
            "portable",
            "--scheme",
            "R(h) R(w) S(y) T(c,4) V(k,4)",
        ),
        ("microkernels", "rank", "--isa", "no such"),
    ],
)
def test_the_commands_keep_a_limit_too(command):
    subprocess.run([sys.executable, "-m", *command, "--cache-limit", "9M"], cwd=ROOT, capture_output=True)
    assert limit_bytes() == (9 << 20 if command[0] == "search.conv" else DEFAULT_LIMIT_BYTES)
