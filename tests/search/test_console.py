"""The installed command: `tilewright conv …` is `python -m search.conv …`."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

from search.console import COMMANDS, main
from tests.support.running.forgotten import forget

PROGRAM = "import sys; from search.console import main; sys.exit(main())"


@pytest.mark.parametrize(("full", "code", "said"), [(False, 0, ""), (True, 1, "cannot be written")])
@pytest.mark.parametrize("word", ["--help", "--version"])
def test_a_reader_that_is_gone_and_a_full_disk_get_no_traceback(word, full, code, said):
    if full:
        stdout = os.open("/dev/full", os.O_WRONLY)
    else:
        reader, stdout = os.pipe()
        os.close(reader)
    ended = subprocess.run([sys.executable, "-c", PROGRAM, word], stdout=stdout, stderr=subprocess.PIPE, text=True)
    os.close(stdout)
    assert ended.returncode == code and said in ended.stderr and ended.stderr.count("\n") == bool(said)


def run(*words: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, **options)


def test_the_installed_command_is_this_function():
    scripts = (Path(__file__).parents[2] / "pyproject.toml").read_text().partition("[project.scripts]\n")[2]
    assert scripts.startswith(f'tilewright = "{main.__module__}:{main.__name__}"\n')
    installed = Path(sys.executable).with_name("tilewright")
    if installed.exists():
        assert subprocess.run([installed, "--version"], capture_output=True).stdout.startswith(b"tilewright ")


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_runs_its_module(name, monkeypatch, capsys):
    """In this process, whose libraries are loaded; other tests here start processes."""
    module, _ = COMMANDS[name]
    assert find_spec(module)
    forget(module, monkeypatch)
    monkeypatch.setattr("sys.argv", ["tilewright", name, "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    printed = capsys.readouterr()
    assert ended.value.code == 0 and printed.out.startswith(f"usage: python -m {module}"), printed.err
    forget(module, monkeypatch)
    monkeypatch.setattr("sys.argv", ["tilewright", name, "--no-such-option"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2


@pytest.mark.slow
def test_a_commands_options_output_and_exit_code_are_its_own(tmp_path):
    environment = {**os.environ, "TILEWRIGHT_CACHE": str(tmp_path)}
    ended = run("cache", "limit", "9M", env=environment)
    assert (ended.returncode, ended.stderr) == (0, "") and "within 9 MiB" in ended.stdout
    assert run("conv", "--shape", "c=0,h=1,w=1,k=1,r=1,s=1").returncode == 2


@pytest.mark.slow
def test_what_is_no_command_is_said_with_those_there_are():
    ended = run("convolution")
    assert ended.returncode == 2 and ended.stderr == (
        "tilewright has no command 'convolution'; "
        "there are conv, matmul, program, model, microkernels, bench, cache, calibrate\n"
    )
    for words in ((), ("--help",)):
        assert all(f"\n  {name} " in run(*words).stdout for name in COMMANDS)
    plain = run("--help", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert plain.returncode == 0 and plain.stdout.startswith("usage: tilewright COMMAND ...  (")
    assert run("--version").stdout == f"tilewright {version('tilewright')}\n"
