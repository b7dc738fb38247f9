"""Rankings that come with the package: when they stand in, what ends them, and what is refused of a damaged file."""

import json
from dataclasses import replace
from importlib.resources import files

import pytest

from cpu.runtime.machine.host import Host, fingerprint
from microkernels.ranking import export, offline
from microkernels.ranking.command import main
from microkernels.ranking.rank import ensure_ranked
from microkernels.scores import shipped
from microkernels.scores.catalog import Entry, Failure
from microkernels.scores.database import RecordError, StoreError
from microkernels.scores.kinds import Kind, Ranking, kind_of, read_kind, write_kind
from microkernels.scores.records import load, record
from microkernels.scores.shipped import known, revision
from microkernels.tile.benchmark import EMITTER_VERSION
from microkernels.tile.estimate import estimate
from microkernels.tile.isa import AVX2, isa_named
from microkernels.tile.space import quick
from tests.support.microkernels.cases import L1, TILE, timing_at

pytestmark = pytest.mark.usefixtures("data_folder")

HERE = "amd-99-7-1-0123456789ab"  # a machine of the kind amd-99-7
SLOW = replace(TILE, vectors=1)
RANKING = Ranking("avx2", "conv2d", EMITTER_VERSION, "2026-11-25", HERE, "", {TILE.name: 0.9, SLOW.name: 0.5})
KIND = Kind("amd-99-7", "AMD of tests", (RANKING,))


@pytest.fixture
def ships(monkeypatch):
    """Makes this kind the only one that comes with the package."""

    def put(kind: Kind) -> None:
        monkeypatch.setattr(shipped, "text_of", {kind.kind: write_kind(kind)}.get)

    return put


def refuse(kernels):
    raise AssertionError(f"{len(kernels)} kernels are measured")
    yield


def measure_by_estimate(kernels):
    for kernel in kernels:
        yield kernel, timing_at(kernel, estimate(kernel))


def test_a_kind_is_written_and_read_back():
    assert read_kind(KIND.kind, write_kind(KIND)) == KIND
    assert kind_of(HERE) == KIND.kind


def test_a_first_search_on_a_known_kind_starts_at_once_and_says_so_in_one_line(ships):
    ships(KIND)
    told = []
    catalog = ensure_ranked(AVX2, "conv2d", refuse, HERE, L1, announce=told.append)
    assert catalog.entries == (Entry(TILE, 0.9), Entry(SLOW, 0.5)) and catalog.score(TILE) == 0.9
    assert len(told) == 1 and "\n" not in told[0]
    assert "2 conv2d microkernels of avx2 were ranked on 2026-11-25 on a CPU of this kind, amd-99-7" in told[0]
    assert not load(HERE, "avx2").entries, "what came with the package is no measurement of this machine"
    ensure_ranked(AVX2, "conv2d", refuse, HERE, L1, announce=pytest.fail)  # it was told


def test_where_nothing_can_be_kept_it_is_said_again(ships, monkeypatch):
    ships(KIND)

    def full(schema):
        raise StoreError("the disk is full")

    monkeypatch.setattr("microkernels.scores.told.connect", full)
    told = []
    for _ in range(2):
        ensure_ranked(AVX2, "conv2d", refuse, HERE, L1, announce=told.append)
    assert len(told) == 2


def test_what_a_reader_should_know_is_said(ships):
    ships(replace(KIND, rankings=(replace(RANKING, remark="beside other programs"),)))
    assert known(HERE, "avx2", "conv2d").origin.endswith("(AMD of tests), beside other programs")


def test_an_unknown_kind_is_ranked(ships):
    ships(KIND)
    told = []
    elsewhere = "amd-99-8-1-0123456789ab"
    catalog = ensure_ranked(AVX2, "conv2d", measure_by_estimate, elsewhere, L1, announce=told.append)
    assert len(catalog.entries) == len(quick(AVX2)) and told[0].startswith(f"ranking {len(quick(AVX2))} conv2d")
    assert known("intel-6-1-1-0123456789ab", "avx2", "conv2d").entries == ()
    assert known(HERE, "avx512f", "conv2d").entries == () and known(HERE, "avx2", "depthwise2d").entries == ()


def test_to_forget_is_to_measure(ships):
    ships(KIND)
    own = ensure_ranked(AVX2, "conv2d", measure_by_estimate, HERE, L1, announce=lambda _: None, own=True)
    assert own.origin == "" and len(own.entries) == len(quick(AVX2))
    assert ensure_ranked(AVX2, "conv2d", refuse, HERE, L1, announce=pytest.fail) == own


def test_a_machine_s_own_outcomes_never_mix_with_those_that_came(ships):
    ships(KIND)
    record(HERE, Entry(SLOW, 0.7, timing_at(SLOW, 0.7)))
    own = known(HERE, "avx2", "conv2d")
    assert [entry.kernel for entry in own.entries] == [SLOW] and own.score(SLOW) == 0.7
    record("amd-99-7-2-0123456789ab", Failure(TILE, "crashed with SIGILL"))
    assert known("amd-99-7-2-0123456789ab", "avx2", "conv2d").entries == ()


def test_another_emitter_s_scores_do_not_count(ships):
    ships(replace(KIND, rankings=(replace(RANKING, emitter=EMITTER_VERSION - 1),)))
    assert known(HERE, "avx2", "conv2d").entries == ()


def test_the_ranking_serves_the_operators_that_run_its_tiles(ships):
    ships(KIND)
    catalog = known(HERE, "avx2", "matmul")
    assert catalog.op == "matmul" and catalog.entries == known(HERE, "avx2", "conv2d").entries


def test_a_model_s_choice_lasts_as_long_as_the_ranking_that_came(ships):
    seen = {revision(HERE, "avx2", "conv2d")}
    for kind in (KIND, replace(KIND, rankings=(replace(RANKING, scores={TILE.name: 0.8}),))):
        ships(kind)
        assert revision(HERE, "avx2", "conv2d") == revision(HERE, "avx2", "conv2d") not in seen
        seen.add(revision(HERE, "avx2", "conv2d"))
    record(HERE, Entry(TILE, 0.7, timing_at(TILE, 0.7)))
    assert revision(HERE, "avx2", "conv2d") not in seen


def damaged():
    """Texts that are no kind amd-99-7."""
    whole = json.loads(write_kind(KIND))
    ranking = whole["rankings"][0]
    yield write_kind(KIND)[:-40]
    yield "[]"
    yield json.dumps({**whole, "kind": "amd-99-8"})
    yield json.dumps({**whole, "cpu": None})
    yield json.dumps({**whole, "rankings": {}})
    for field, value in (
        *(("isa", "avx9"), ("isa", "avx512f"), ("op", "matmul"), ("op", None), ("emitter", "4"), ("emitter", True)),
        *(("measured", 5), ("remark", None), ("scores", {}), ("scores", []), ("scores", {"no kernel": 0.5})),
        *(("scores", {TILE.name: value}) for value in (None, "0.9", 0, -0.5, 1.2, float("nan"), True)),
    ):
        yield json.dumps({**whole, "rankings": [{**ranking, field: value}]})
    yield json.dumps({**whole, "rankings": [{key: ranking[key] for key in ("isa", "op", "scores")}]})
    yield json.dumps({**whole, "rankings": ["avx2"]})


@pytest.mark.parametrize("text", list(damaged()))
def test_a_damaged_file_is_refused_by_a_sentence_and_the_machine_is_ranked(text, monkeypatch):
    with pytest.raises(RecordError) as raised:
        read_kind(KIND.kind, text)
    assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    few = quick(AVX2)[:3]
    monkeypatch.setattr("microkernels.ranking.rank.quick", lambda *asked: few)
    monkeypatch.setattr(shipped, "text_of", {KIND.kind: text}.get)
    with pytest.warns(RuntimeWarning, match=r"^the ranking of amd-99-7 that comes with Tilewright is damaged .*again$"):
        catalog = ensure_ranked(AVX2, "conv2d", measure_by_estimate, HERE, L1, announce=lambda _: None)
    assert catalog.origin == "" and {entry.kernel for entry in catalog.entries} == set(few)


def test_no_fingerprint_is_a_path():
    for fingerprint_ in ("../../catalog", "amd-99-7/../x", "", "here", "-1-1", "amd-999-999-1-0123456789ab"):
        assert shipped.text_of(kind_of(fingerprint_)) is None


def test_every_file_of_the_package_is_a_kind_with_whole_rankings():
    folder = files("microkernels.scores").joinpath("measured")
    for file in folder.iterdir():
        name = file.name.removesuffix(".json")
        kind = read_kind(name, file.read_text(encoding="utf-8"))
        assert kind.cpu and kind.rankings and write_kind(kind) == file.read_text(encoding="utf-8")
        assert {kind_of(ranking.fingerprint) for ranking in kind.rankings} == {name}
        assert len({(r.isa, r.op, r.emitter) for r in kind.rankings}) == len(kind.rankings)
        for ranking in kind.rankings:
            assert set(ranking.scores) == {tile.name for tile in quick(isa_named(ranking.isa), ranking.op)}


# python -m microkernels export


@pytest.fixture
def machine(monkeypatch):
    """This CPU as one of AVX2 of the kind amd-99-7."""
    host = Host("AuthenticAMD", 99, 7, 1, frozenset({"fma", "avx2"}), 2, offline.host().caches)
    for module in (export, offline):
        monkeypatch.setattr(module, "host", lambda: host)
    return fingerprint(host)


@pytest.mark.slow
def test_export_writes_the_whole_rankings_of_this_machine(machine, tmp_path, capsys):
    arguments = ["export", str(tmp_path / "new"), "--cpu", "AMD of tests", "--remark", "beside other programs"]
    assert main(arguments) == 2
    assert "no ranking of this machine is whole yet" in capsys.readouterr().err
    for kernel in quick(AVX2)[1:]:
        record(machine, Entry(kernel, 0.87654, timing_at(kernel, 0.87654)))
    record(machine, Entry(replace(TILE, stride=2), 0.5, timing_at(TILE, 0.5)))
    assert main(arguments) == 2, "one tile has no outcome yet"
    record(machine, Failure(quick(AVX2)[0], "crashed with SIGILL"))
    assert main(arguments) == 0
    file = tmp_path / "new" / "amd-99-7.json"
    assert f"wrote {file}: conv2d on avx2 ({len(quick(AVX2)) - 1} scores of 20" in capsys.readouterr().err
    kind = read_kind("amd-99-7", file.read_text())
    (ranking,) = kind.rankings
    assert (ranking.fingerprint, ranking.remark, kind.cpu) == (machine, "beside other programs", "AMD of tests")
    assert ranking.scores == {kernel.name: 0.8765 for kernel in quick(AVX2)[1:]}


@pytest.mark.slow
def test_export_names_the_rankings_that_are_not_whole(machine, tmp_path, capsys):
    for kernel in quick(AVX2):
        record(machine, Entry(kernel, 0.9, timing_at(kernel, 0.9)))
    first, *_ = tiles = quick(AVX2, "depthwise2d")
    record(machine, Failure(first, "crashed with SIGILL"))
    for kernel in quick(AVX2, "grouped2d"):  # whole, but there is no score to write
        record(machine, Failure(kernel, "crashed with SIGILL"))
    assert main(["export", str(tmp_path), "--cpu", "AMD of tests"]) == 0
    _, *unfinished = capsys.readouterr().err.splitlines()
    assert unfinished == [
        f"depthwise2d on avx2 is left out, as 1 of {len(tiles)} are measured: finish it with "
        "python -m microkernels rank --quick --resume --isa avx2 --op depthwise2d"
    ]


@pytest.mark.parametrize("cpu", ["", "  ", "AMD\nof tests"])
def test_export_needs_a_name_that_people_can_read(cpu, machine, tmp_path, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["export", str(tmp_path), "--cpu", cpu])
    assert stopped.value.code == 2 and f"{cpu!r} is no name: write what" in capsys.readouterr().err


def test_export_into_a_place_that_cannot_be_written_is_a_sentence(machine, tmp_path, capsys):
    for kernel in quick(AVX2):
        record(machine, Entry(kernel, 0.9, timing_at(kernel, 0.9)))
    (tmp_path / "file").touch()
    assert main(["export", str(tmp_path / "file" / "below"), "--cpu", "AMD of tests"]) == 2
    assert "amd-99-7.json cannot be written: " in capsys.readouterr().err


def test_show_prints_the_ranking_that_came(ships, machine, monkeypatch, capsys):
    ships(KIND)
    monkeypatch.setattr("microkernels.ranking.command.host", offline.host)
    assert main(["show"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].endswith("ranked on 2026-11-25 on a CPU of this kind, amd-99-7 (AMD of tests)")
    assert printed[1:] == [f"  90.0 %  {TILE.name}", f"  50.0 %  {SLOW.name}"]
    assert main(["show", "--json", "--top", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["seconds"], found["samples"]) == (0.9, None, 0)
