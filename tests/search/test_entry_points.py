"""What `search` shows of itself, and what hides it."""

from __future__ import annotations

import gc
import os
import pydoc
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import graph
import search
from search import conv, matmul
from search.evaluator.gpu.cuda import _digest
from tilewright_entry import LIBRARIES, OURS, importing
from tilewright_entry import _formatted as formatted
from tiling.text.pairs import DTYPE_KEYS, KEYS, MATMUL_KEYS, VOLUME_KEYS

ROOT = Path(__file__).parents[2]
# What README and docstrings say may be raised.
CAUGHT = (
    "ArgumentError CandidateError CompileError DeviceError ExportError MachineError OutOfMemory ProblemError "
    "SchemeError StoreError TwinError WorkerError"
)


def test_dir_and_help_list_what_there_is():
    assert {"generate_conv", "generate_matmul", "load_kernel", "fold_batch_norm"} <= set(dir(search))
    words = "".join(pydoc.plain(pydoc.render_doc(search)).split())  # from Python 3.13 on, a parameter has a line
    assert "generate_conv(*,n:'int'=1" in words and "classProblemError" in words


def test_dir_lists_nothing_that_a_package_merely_imports():
    program = "import search, graph; print(*(n for m in (search, graph) for n in dir(m) if not n.startswith('__')))"
    found = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert found.split() == [*search.__all__, *graph.__all__]


@pytest.mark.parametrize("name", CAUGHT.split())
def test_exceptions_can_be_caught_by_their_name_in_search(name):
    assert issubclass(getattr(search, name), Exception) and name in dir(search)


@pytest.mark.slow
def test_the_exceptions_are_those_that_are_raised():
    with pytest.raises(search.ProblemError):
        search.generate_conv(c=0, h=1, w=1, k=1, r=1, s=1)
    kernel = search.generate_matmul(m=4, n=4, k=4, isa="portable")
    with pytest.raises(search.ArgumentError):
        kernel("a", "b")


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'search' has no attribute 'generate_pool'"):
        _ = search.generate_pool


@pytest.mark.slow
def test_libraries_load_where_they_are_needed():
    """The functions of scipy take as long to load as NumPy and all of ours together; rich draws on terminals only."""
    code = (
        "import sys, filelock; own = set(sys.modules); "  # before 4.3 it loads asyncio
        "import search, search.commands.products, graph.plan; search.generate_program; "
        "print(*(n for n in set(sys.modules) - own if n.partition('.')[0] in ('scipy', 'rich', 'asyncio', 'email')))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT)
    assert loaded.stdout.split() == []


def run(folder, *arguments, **variables):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_python_m_search_says_what_can_be_run(tmp_path):
    ended = run(tmp_path, "-m", "search")
    assert ended.returncode == 0 and not ended.stderr
    assert "python -m search.conv" in ended.stdout and "python -m search.program" in ended.stdout
    assert "generate_matmul" in ended.stdout


def commands() -> dict[str, str]:
    """The module that each `python -m` of ours names, and what its file says. `python -m bench` names `bench`."""
    files = {path: path.read_text(encoding="utf-8") for package in OURS for path in (ROOT / package).glob("*.py")}
    started = {path.relative_to(ROOT): text for path, text in files.items() if '__name__ == "__main__"' in text}
    return {".".join(path.with_suffix("").parts).removesuffix(".__main__"): text for path, text in started.items()}


@pytest.mark.parametrize("fails", [False, True])
def test_garbage_is_looked_for_again_once_all_is_imported(fails):
    try:
        with suppress(ImportError), importing():
            assert not gc.isenabled()
            if fails:
                raise ImportError
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()


def test_all_commands_start_in_one_way():
    assert {"search.conv", "graph.compile", "bench", "microkernels", "gpu.calibrate"} <= set(commands())
    assert [name for name, text in commands().items() if "from tilewright_entry import run" not in text] == []


@pytest.mark.slow
@pytest.mark.exhaustive(command=lambda command: command.partition(".")[0])
@pytest.mark.parametrize("command", commands())
def test_files_of_the_current_folder_do_not_stand_in_for_packages(command, tmp_path):
    """And a terminal that has no letters beyond ASCII shows the help of every command."""
    for name in {*OURS, *LIBRARIES, "random", "secrets"} - {command.partition(".")[0]}:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('by somebody else')\n")
    ended = run(tmp_path, "-m", command, "--help", PYTHONIOENCODING="ascii")
    assert ended.returncode == 0 and not ended.stderr and "python -m " in ended.stdout, ended.stderr
    assert ended.stdout.isascii() and "\\u" not in ended.stdout and "\\x" not in ended.stdout


@pytest.mark.slow
@pytest.mark.parametrize("command", commands())
def test_an_interruption_while_a_command_loads_is_one_sentence(command, tmp_path):
    """Ctrl-C comes as the first library or room is imported."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in ('numpy', 'argparse', 'cpu.runtime'):\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    ended = subprocess.run(
        [sys.executable, "-m", command, "--help"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode in (130, -signal.SIGINT)
    assert ended.stderr == "interrupted before anything was done\n" and not ended.stdout


def test_the_folder_stays_where_it_is_asked_for(tmp_path):
    """For PYTHONPATH and for scripts. One sentence then says which file it is."""
    (tmp_path / "tiling.py").write_text("made = 'by somebody else'\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = [sys.executable, "-m", "search.conv", "--shape", "c=4,h=4,w=4,k=4,r=1,s=1"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 1 and ended.stdout == "" and ended.stderr.count("\n") == 1
    assert f"{tmp_path / 'tiling.py'} stands in the place of the package 'tiling'" in ended.stderr


@pytest.mark.parametrize("name", ["tiling.py", "cpu.py", "microkernels.py", "numpy.py"])
def test_a_file_beside_a_script_that_stands_in_for_a_package_is_named(name, tmp_path):
    (tmp_path / name).write_text("made = 'by somebody else'\n")
    ended = run(tmp_path, "-c", "from search import generate_conv")
    assert ended.returncode == 1 and f"ImportError: {tmp_path / name} stands in the place" in ended.stderr


def test_a_package_that_stands_in_for_ours_is_named_by_its_folder(tmp_path):
    (tmp_path / "tiling").mkdir()
    (tmp_path / "tiling" / "__init__.py").write_text("import what_nobody_has\n")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    ended = run(tmp_path, "-m", "search.conv", "--shape", "c=4,h=4,w=4,k=4,r=1,s=1", PYTHONPATH=path)
    said = f"{tmp_path / 'tiling'} stands in the place of the package 'tiling': rename it, or start elsewhere\n"
    assert ended.returncode == 1 and ended.stderr == said


def test_a_file_search_py_in_the_current_folder_is_told_in_one_sentence(tmp_path):
    """It stands in the place of this very package, so the sentence is Python's."""
    (tmp_path / "search.py").write_text("made = 'by somebody else'\n")
    ended = run(tmp_path, "-m", "search.conv", "--shape", "c=4,h=4,w=4,k=4,r=1,s=1")
    assert ended.returncode == 1 and ended.stdout == "" and ended.stderr.count("\n") == 1
    assert "search.conv" in ended.stderr and "Traceback" not in ended.stderr
    ended = run(tmp_path, "-c", "from search import generate_conv")
    assert ended.returncode == 1 and ended.stderr.splitlines()[-1].startswith("ImportError: cannot import name")
    assert str(tmp_path / "search.py") in ended.stderr.splitlines()[-1]


def test_a_folder_search_is_named_as_the_guide_says(tmp_path):
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "__init__.py").touch()
    ended = run(tmp_path, "-c", "from search import generate_conv")
    told = f"ImportError: cannot import name 'generate_conv' from 'search' ({tmp_path / 'search' / '__init__.py'})"
    assert ended.returncode == 1 and ended.stderr.splitlines()[-1] == told


def test_a_warning_on_the_command_line_is_its_sentence_alone(tmp_path):
    store = tmp_path / "tilewright.sqlite"
    store.write_text("no database")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TILEWRIGHT_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "microkernels", "show"]
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True).stderr
    (aside,) = tmp_path.glob("*.set-aside-*")
    assert told.startswith(f"{store} is damaged ")
    assert told.splitlines()[0].endswith(f": it was set aside as {aside.name}, and a new one begun")
    assert "Warning" not in told and ".py" not in told


def test_a_warning_of_a_library_keeps_its_place():
    assert formatted("overflow", RuntimeWarning, "there.py", 7).startswith("there.py:7: RuntimeWarning: overflow\n")


# What `pip install -e` puts behind Python's own search, so that any folder of the name is found before a package.
EDITABLE = f"""
import sys
from contextlib import suppress
from importlib.machinery import PathFinder

class Editable:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return PathFinder.find_spec(name, ["/".join([{str(ROOT)!r}, *name.split(".")[:-1]])])

sys.meta_path.insert(sys.meta_path.index(PathFinder) + 1, Editable)
"""


@pytest.mark.slow
def test_a_folder_gpu_beside_a_script_does_not_hide_the_files_of_ours(tmp_path):
    (tmp_path / "gpu").mkdir()
    script = tmp_path / "script.py"
    script.write_text(f"""{EDITABLE}
import gpu, numpy as np
from search import generate_matmul
from search.evaluator.gpu.cuda import _digest
assert gpu.__file__ is None, "the folder was not found first"
print(generate_matmul(m=16, n=16, k=16, target="cuda-twin")(np.ones((16, 16)), np.ones((16, 16)))[3, 5], _digest())
""")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.stdout.split() == ["16.0", _digest()], ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["search.py", "tiling.py"])
def test_the_installed_command_does_not_look_into_the_current_folder(name, tmp_path):
    (tmp_path / name).write_text("made = 'by somebody else'\n")
    command = tmp_path / "bin" / "tilewright"
    command.parent.mkdir()
    command.write_text("import sys\nfrom search.console import main\nsys.exit(main())\n")
    ended = run(tmp_path, str(command), "conv", "--shape", "c=0,h=4,w=4,k=4,r=1,s=1")
    assert ended.returncode == 2 and "c=0 must be at least 1" in ended.stderr, ended.stderr


@pytest.mark.parametrize(
    ("help_", "keys"), [(conv.SHAPE_HELP, (*KEYS, *VOLUME_KEYS)), (matmul.SHAPE_HELP, (*MATMUL_KEYS, *DTYPE_KEYS))]
)
def test_the_help_of_shapes_has_their_keys(help_, keys):
    """Those of one axis or side have the word that they begin with."""
    words = set(re.findall(r"[a-z_]+", help_)) | {"padding", "order"}  # pad, and order_a
    missing = {key for key in (*keys, "epilogue") if key not in words and key.partition("_")[0] not in words}
    assert not missing and {"dtype", "out", "epilogue"} <= words
