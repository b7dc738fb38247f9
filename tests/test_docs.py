"""The pages say where things are and which options there are: what they name exists."""

import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
import onnx.reference
import pytest

from cpu.codegen.emit import emit
from gpu.codegen.loops.scheme import emit_scheme
from microkernels.tile.isa import isa_named
from tests.support.kernels.low_precision_cases import multiplies
from tests.support.running.forgotten import forget
from tiling.operators import conv2d, matmul
from tiling.scheme.specifiers import SchemeError
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OURS = "bench|cpu|docs|examples|gpu|graph|microkernels|search|tests|tiling"
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def anchors(page: Path) -> set[str]:
    """What `#…` may follow a link to a page, as GitHub makes it of the headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not re.match("https?:", link) and (
            not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target))
        ):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_that_are_named_exist(page):
    """`cpu/codegen/site.py`, a file of tests in a command, `gpu/twin/*.h`. A benchmark's command is as it was typed."""
    text = re.sub(r"^Written by `.*", "", page.read_text(encoding="utf-8"), flags=re.M)
    named = set(re.findall(rf"(?<![\w/.])((?:{OURS})/[a-z0-9_/*]+(?:\.[a-z][a-z0-9]*)+)\b", text))
    assert not [name for name in sorted(named) if not any(ROOT.glob(name))]


SOURCES = sorted(path for package in OURS.split("|") for path in (ROOT / package).rglob("*.py"))


def unknown(name: str) -> bool:
    """Whether no module or room of ours has the dotted name, and none has its last word in its text."""
    path = ROOT.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return False
    texts = [path.parent.with_suffix(".py"), path.parent / "__init__.py"]
    return not any(text.exists() and re.search(rf"\b{path.name}\b", text.read_text(encoding="utf-8")) for text in texts)


def test_modules_that_sources_name_exist():
    """`tiling.scheme.rules` or `cpu.kernel.measure.timed` in a docstring, a comment or a message."""
    named = re.compile(rf"`((?:{OURS})(?:\.[a-z_]\w*)+)`")
    found = {(path, name) for path in SOURCES for name in named.findall(path.read_text(encoding="utf-8"))}
    assert len(found) > 100
    assert sorted(f"{path.relative_to(ROOT)}: {name}" for path, name in found if unknown(name)) == []


def test_a_module_that_is_not_there_is_found():
    assert unknown("tiling.scheme.no_such") and unknown("tiling.no_such.scheme") and unknown("no_such.scheme")
    assert (
        not unknown("tiling.scheme") and not unknown("tiling.scheme.rules") and not unknown("tiling.scheme.rules.check")
    )


def test_a_name_of_a_room_is_found_where_the_room_has_it():
    assert not unknown("search.evaluator.target_of") and unknown("search.evaluator.no_such_name")


def typed(page: Path) -> set[tuple[str, str]]:
    """(what is started, its options) of each `python -m …` on a page. What a benchmark's page says was typed then."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    text = re.sub(r"^.*Written by `.*", "", text, flags=re.M)
    found = set()
    for module, rest in re.findall(rf"python -m ((?:{OURS})(?:\.[a-z_]+)*)([^`\n]*)", text):
        rest = rest.partition(" # ")[0].partition(" | ")[0]
        word = re.match(r" ([a-z]+)\b", rest) if module in ("microkernels", "cpu.cache") else None
        started = module + (f" {word[1]}" if word else " --models any" if "--models" in rest else "")
        found |= {(started, option) for option in re.findall(r" (--[a-z][a-z-]*)", rest)} | {(started, "")}
    return found


@cache
def options_of(started: str) -> str:
    """What `python -m … --help` prints; in this process, since starting all of them takes a quarter of a minute."""
    module, *words = started.split()
    printed = StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), pytest.raises(SystemExit) as ended:
        patch.setattr(sys, "argv", [module, *words, "--help"])
        main = module if find_spec(module).submodule_search_locations is None else f"{module}.__main__"
        forget(main, patch)
        runpy.run_module(main, run_name="__main__")
    assert not ended.value.code, f"{started} --help"
    return printed.getvalue()


@pytest.mark.slow
def test_commands_on_pages_are_there_with_their_options():
    pages = [page for page in PAGES if "benchmarks" not in page.parts and page.name != "CHANGELOG.md"]
    commands = {(page, *command) for page in pages for command in typed(page)}
    assert len({started for _, started, _ in commands}) > 15
    wrong = [
        f"{page.relative_to(ROOT)}: python -m {started} {option}"
        for page, started, option in sorted(commands)
        if option not in options_of(started)
    ]
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/guide.md"])
def test_python_on_pages_runs(page, tmp_path, monkeypatch):
    """One block after the other, as they are read; but for those that search, those that need PyTorch, as examples do,
    and those of a dtype that this CPU does not multiply.
    """
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)
    names: dict[str, object] = {}
    left_out = ["import torch", 'tune="measure", budget']
    left_out += [f'dtype="{dtype}"' for dtype in ("bf16", "int8") if not multiplies(dtype)]
    ran = [block for block in blocks if not any(words in block for words in left_out)]
    for number, block in enumerate(ran):
        exec(compile(block, f"{page}, block {number}", "exec"), names)
    assert ran and "k" in names


@pytest.mark.slow
def test_python_on_the_page_of_models_runs(tmp_path, monkeypatch):
    """On the model that the page has a reader write, and with nothing that the page does not name."""
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, ROOT / "examples/write_model.py"], check=True, capture_output=True)
    (block,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/models.md").read_text(encoding="utf-8"), re.M | re.S)
    names = {}
    exec(compile(block, "docs/models.md", "exec"), names)
    (wanted,) = onnx.reference.ReferenceEvaluator("model.onnx").run(None, {"x": names["x"]})
    for y in (names["outputs"][0], names["call"]()[0], names["m"](names["x"])[0]):
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)


def test_names_that_the_recipes_look_for_are_in_their_files():
    """As in "the table FLAGS in cpu/host.py" and "cpu/host.py: FLAGS, cores", each name in backticks."""
    text = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    names = r"((?:`[\w.]+`(?:, | and )?)+)"
    before = [(file, listed) for listed, file in re.findall(names + r" (?:in|of) `([\w/]+\.py)`", text)]
    after = re.findall(r"`([\w/]+\.py)`: " + names, text)
    found = {(file, name) for file, listed in before + after for name in re.findall(r"`(\w+)`", listed)}
    assert len(found) > 20
    absent = [
        f"{name} in {file}"
        for file, name in sorted(found)
        if not re.search(rf"\b{name}\b", (ROOT / file).read_text(encoding="utf-8"))
    ]
    assert not absent


HINT = re.compile(r"pip install (-e '[^']*'|'[^']*'|torch|[.])")


def test_what_to_install_is_said_in_one_way():
    """Pages are read in a checkout, so `-e '.[…]'` installs it too. A message comes from what is installed already:
    there `'tilewright[…]'` adds what is missing, from every folder.
    """
    told = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("optional-dependencies]")[2]
    extras = set(re.findall(r"^(\w+) = \[", told.partition("\n[")[0], re.M))
    sources = [path for path in SOURCES if path.relative_to(ROOT).parts[0] != "tests"]
    forms = {r"-e '\.\[([a-z,]+)\]'": PAGES, r"'tilewright\[([a-z,]+)\]'": sources}
    found = [
        (hint, re.fullmatch(form, hint))
        for form, files in forms.items()
        for path in files
        for hint in HINT.findall(path.read_text(encoding="utf-8"))
    ]
    hints, named = [hint for hint, _ in found], [name for _, name in found]
    assert len(hints) > 20 and all(named), [hint for hint, name in zip(hints, named) if not name]
    assert {extra for name in named for extra in name[1].split(",")} <= extras


def test_microseconds_have_one_sign():
    files = [path for path in (*PAGES, *SOURCES) if path.relative_to(ROOT).parts[0] != "tests"]
    assert not [path for path in files if re.search(r"(\d|predicted|,) us\b", path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("command", ["search.conv", "search.matmul"])
def test_the_guide_has_every_option(command):
    said = options_of(command)
    options = set(re.findall(r"^  (--[a-z-]+)", said, re.M))
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    assert len(options) > 15 and not [option for option in sorted(options) if f"`{option}" not in guide]


def test_the_guide_has_every_study():
    """Each command of `bench/`; `ahead` is the earlier name of one."""
    studies = {path.stem for path in (ROOT / "bench").glob("*.py")} - {"__init__", "__main__", "command", "ahead"}
    guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    named = set(re.findall(r"python -m bench\.(\w+)", guide))
    assert len(studies) > 10 and studies == named


def test_tests_that_pages_name_are_there():
    """`test_threads.py`, a whole name of a test, or a part of one such as `…the_ranking_goes_on…`."""
    written = [path for path in SOURCES if path.is_relative_to(ROOT / "tests")]
    files = {path.name for path in written}
    tests = " ".join(
        name for path in written for name in re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8"))
    )
    absent, count = [], 0
    for page in PAGES:
        if page.name == "conformance.md":  # names onnx's own tests
            continue
        named = re.findall(r"`(?:tests/[\w/]+/)?(test_\w+\.py|test_\w+…?|…\w+…?)`", page.read_text(encoding="utf-8"))
        count += len(named)
        absent += [f"{page.name}: {name}" for name in named if name not in files and name.strip("…") not in tests]
    assert count > 100 and not absent


def test_sentences_on_the_scheme_page_are_what_is_said():
    page = (ROOT / "docs" / "scheme.md").read_text(encoding="utf-8")
    sentences = [line for line in page.splitlines() if re.match(r"[A-Z]\(.*\)(@\w+)?: ", line)]
    layer = conv2d(c=16, h=34, w=34, k=16, r=3, s=3, padding=1)
    inner = "R(r) R(s) R(c)"
    refused = [
        f"R(w) T(h,3) S(y) {inner} U(h,11) V(k,16)",
        f"R(w) L(h, 2x11 + 1x12) S(y) {inner} V(k,16)",
        f"R(w) S(y) T(h,34) {inner} V(k,16)",
        f"T(c,2)@warp R(h) R(w) S(y) {inner} V(k,16)",
    ]
    assert len(sentences) == len(refused)
    for text, sentence in zip(refused, sentences):
        with pytest.raises(SchemeError) as error:
            parse(layer, text)
        assert str(error.value) == sentence


def test_every_decision_is_in_the_list():
    folder = ROOT / "docs" / "decisions"
    pages = {page.name for page in folder.glob("[0-9]*.md")}
    listed = re.findall(r"\]\(([0-9][^)]*)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert pages == set(listed) and [name[:3] for name in listed] == [f"{n:03}" for n in range(1, len(listed) + 1)]


def test_every_page_is_in_an_index():
    """`docs/README.md` lists all pages, but for decisions, whose own list it names. The README leads to both."""
    folder = ROOT / "docs"
    listed = re.findall(r"\]\(([^)#]+)\)", (folder / "README.md").read_text(encoding="utf-8"))
    pages = {(folder / name).resolve() for name in listed}
    absent = [
        page.relative_to(ROOT).as_posix()
        for page in PAGES
        if page.resolve() not in pages
        and page not in (ROOT / "README.md", folder / "README.md")
        and not re.match(r"\d{3}-", page.name)
    ]
    assert len(pages) > 15 and not absent
    assert "](docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "most"), [("README.md", 110), ("docs/architecture.md", 150)])
def test_the_pages_that_one_reads_first_are_short(page, most):
    assert len((ROOT / page).read_text(encoding="utf-8").splitlines()) <= most


def test_the_text_on_the_scheme_page_is_what_is_written():
    page = (ROOT / "docs" / "scheme.md").read_text(encoding="utf-8")
    convolution, portable, vectors = (
        re.findall(r"^(L\(h, .*)$", page, re.M)[0],
        re.findall(r"^(T\(m,2\)@block .*)$", page, re.M)[0],
        " ".join(re.findall(r"same text is `([^`]*)`", page)[0].split()),
    )
    layer, product = parse_shape("yolo9000:Y12"), matmul(m=128, n=128, k=64)
    texts = [
        emit(parse(layer, convolution), isa_named("avx512f")).text,
        emit_scheme(parse(product, portable)).text,
        emit(parse(product, vectors), isa_named("avx512f")).text,
    ]
    blocks = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == 3
    for block, text in zip(blocks, texts):
        for line in filter(None, (re.sub(r"/\*.*?\*/", "", line).strip() for line in block.splitlines())):
            parts = map(re.escape, map(str.strip, line.split("…")))
            assert re.search(".*".join(parts), text), line
