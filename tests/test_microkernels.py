"""The offline stage: which register tiles there are, how they are timed, and what is remembered of it."""

import importlib.util
import json
import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import microkernels.command as command_line
from cpu.emit import emit
from cpu.worker import CandidateError, WorkerError
from microkernels import database, offline, plot
from microkernels.benchmark import SHARE_OF_L1, benchmark_scheme
from microkernels.catalog import Catalog, Entry, Failure
from microkernels.database import FILE_NAME, SCHEMA_VERSION, StoreError, connect
from microkernels.estimate import estimate, loads_per_step
from microkernels.isa import AVX2, AVX512F, ISAS, PORTABLE
from microkernels.microkernel import Microkernel, parse
from microkernels.rank import BATCH, RankingError, ensure_ranked, rank
from microkernels.records import load, measured, record, revision, settle, start_over
from microkernels.space import most_rows, quick, space
from tiling import notation
from tiling.footprint import footprint
from tiling.machine import Timing
from tiling.operators import matmul

ROOT = Path(__file__).parent.parent
SPACES = [(isa, op) for isa in ISAS.values() for op in ("conv2d", "depthwise2d")]
TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY);"
TILE = Microkernel("conv2d", "avx2", (("w", 6),), 2)
L1 = 32 << 10


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    """Nothing lands in the user's folders."""
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "data"


def timing_at(kernel, fraction, l1_bytes=L1, peak_gflops=100.0):
    seconds = benchmark_scheme(kernel, l1_bytes).problem.flops / (fraction * peak_gflops * 1e9)
    return Timing((seconds, seconds, seconds), peak_gflops)


def measure_by_estimate(kernels):
    for kernel in kernels:
        yield kernel, timing_at(kernel, estimate(kernel))


def refuse(kernels):
    assert not kernels, "nothing was left to measure"
    yield from ()


# The space


@pytest.mark.parametrize("isa, op", SPACES)
def test_every_tile_has_a_name_that_parses_back_and_fits_the_registers(isa, op):
    kernels = space(isa, op)
    assert len(set(kernels)) == len(kernels) > 0
    for kernel in kernels:
        assert parse(kernel.name) == kernel
        assert kernel.registers <= isa.registers
        assert kernel.isa == isa.name and kernel.op == op


@pytest.mark.parametrize("isa", ISAS.values())
def test_plain_rows_are_complete_up_to_the_budget(isa):
    kernels = set(space(isa, "conv2d", (1,)))
    for vectors in range(1, isa.registers):
        for w in range(1, isa.registers):
            tile = Microkernel("conv2d", isa.name, (("w", w),) if w > 1 else (), vectors)
            assert (tile in kernels) == (tile.registers <= isa.registers)
            assert (w <= most_rows(isa, vectors)) == (tile.registers <= isa.registers)


def test_strides_differ_in_nothing_but_the_stride():
    one, two = space(AVX512F, strides=(1,)), space(AVX512F, strides=(2,))
    assert space(AVX512F) == one + two
    assert tuple(replace(kernel, stride=2) for kernel in one) == two


def test_the_space_can_be_ranked_in_minutes_and_the_quick_part_in_two():
    assert 600 <= len(space(AVX512F, strides=(1,))) <= 1200
    for isa, op in SPACES:
        assert 0 < len(quick(isa, op)) <= 120
        assert set(quick(isa, op)) <= set(space(isa, op, (1,)))


def test_the_tiles_that_won_for_ttile_are_in_the_space():
    kernels = set(space(AVX512F, strides=(1,)))
    for vectors, unrolled, rows in (
        (1, (("r", 3),), range(9, 15)),
        (2, (), range(8, 16)),
        (2, (("r", 3),), range(9, 13)),
        (3, (), range(5, 10)),
        (4, (("s", 3),), range(4, 8)),
    ):
        for w in rows:
            assert Microkernel("conv2d", "avx512f", (("w", w),), vectors, unrolled) in kernels


@pytest.mark.parametrize("isa", ISAS.values())
def test_depthwise_tiles_hold_the_weights_of_a_step(isa):
    kernels = space(isa, "depthwise2d", (1,))
    for kernel in kernels:
        if kernel.unrolled:
            assert kernel.accumulators + kernel.steps * kernel.vectors + 1 < isa.registers
    assert Microkernel("depthwise2d", isa.name, (("w", 4),), 1, (("r", 3), ("s", 3))) in kernels


def test_an_unknown_operator_is_refused():
    with pytest.raises(ValueError, match="unknown operator 'fft'"):
        space(AVX2, "fft")


# The benchmark


@pytest.mark.parametrize("isa, op", SPACES)
@pytest.mark.parametrize("l1_bytes", [L1, 48 << 10])
def test_every_tile_has_a_benchmark_that_stays_in_l1(isa, op, l1_bytes):
    for kernel in space(isa, op):
        scheme = benchmark_scheme(kernel, l1_bytes)
        problem = scheme.problem
        assert notation.parse(problem, scheme.text) == scheme
        (tile,) = scheme.tiles
        assert tile.pop(problem.vector_dim) == kernel.vectors
        assert {dim: n for dim, n in tile.items() if n > 1} == dict(kernel.rows + kernel.unrolled)
        total = sum(footprint(problem, tensor, problem.extents) for tensor in problem.tensors)
        assert total <= SHARE_OF_L1 * l1_bytes


def test_the_benchmark_in_its_text_form():
    tile = Microkernel("conv2d", "avx512f", (("h", 2), ("w", 7)), 2, (("s", 3),))
    # 64 c: weights 24 KiB, x 4.5 KiB, y 1.75 KiB; 128 c would need 59 KiB.
    assert str(benchmark_scheme(tile, 48 << 10)) == "S(y) T(c,64) U(h,2) U(w,7) U(s,3) U(k,2) V(k,16)"
    depthwise = Microkernel("depthwise2d", "avx512f", (("h", 2), ("w", 7)), 1, (("r", 3), ("s", 3)))
    scheme = benchmark_scheme(depthwise, 48 << 10)
    assert str(scheme) == "S(y) T(r,8) U(h,2) U(w,7) U(r,3) U(s,3) V(c,16)"
    assert scheme.problem.extents == {"n": 1, "c": 16, "h": 2, "w": 7, "r": 24, "s": 3}
    assert str(benchmark_scheme(TILE, 1 << 20)) == "S(y) T(c,512) U(w,6) U(k,2) V(k,8)"


def test_the_stride_spreads_the_input():
    tile = Microkernel("conv2d", "avx2", (("h", 2), ("w", 3)), 1, (("r", 3),), stride=2)
    assert benchmark_scheme(tile, L1).problem.broadcast.shape[1:3] == (5, 5)


def test_a_cache_too_small_for_anything_still_gets_one_iteration():
    assert "T(c,1) " in str(benchmark_scheme(TILE, 64))


# The database


def test_a_record_is_visible_elsewhere_at_once(data_folder):
    with connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('one')")
        with connect(TABLE) as other:
            assert other.execute("SELECT name FROM things").fetchall() == [("one",)]


def test_a_killed_process_loses_nothing_that_it_recorded(data_folder):
    program = (
        "import os, signal\n"
        "from microkernels.database import connect\n"
        f"with connect({TABLE!r}) as c:\n"
        "    c.execute(\"INSERT INTO things VALUES ('kept')\")\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", program], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    with connect(TABLE) as connection:
        assert connection.execute("SELECT name FROM things").fetchall() == [("kept",)]


def test_packages_share_the_file(data_folder):
    with connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('one')")
    with connect("CREATE TABLE IF NOT EXISTS others (name TEXT);") as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (1,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)


def test_a_damaged_file_is_set_aside(data_folder):
    data_folder.mkdir()
    (data_folder / FILE_NAME).write_bytes(b"not a database at all" * 1000)
    with pytest.warns(RuntimeWarning, match="is damaged .* set aside as") as warned:
        with connect(TABLE) as connection:
            connection.execute("INSERT INTO things VALUES ('new')")
    assert warned[0].filename == __file__
    (aside,) = data_folder.glob(f"{FILE_NAME}.set-aside-*")
    assert aside.read_bytes().startswith(b"not a database at all")


def test_a_file_with_damage_inside_is_set_aside(data_folder, monkeypatch):
    with connect(TABLE) as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:0200}",) for n in range(500)])
    path = data_folder / FILE_NAME
    content = bytearray(path.read_bytes())
    content[8192:40960] = b"\xff" * (40960 - 8192)
    path.write_bytes(content)
    monkeypatch.setattr(database, "_sound", set())  # as in another process
    with pytest.warns(RuntimeWarning, match="is damaged"), connect(TABLE) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (0,)


def test_damage_that_comes_up_later_is_a_sentence_and_then_set_aside(data_folder):
    with connect(TABLE) as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:0200}",) for n in range(500)])
    path = data_folder / FILE_NAME
    content = bytearray(path.read_bytes())
    content[8192:40960] = b"\xff" * (40960 - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="malformed"), connect(TABLE) as connection:
        connection.execute("SELECT * FROM things NOT INDEXED").fetchall()
    with pytest.warns(RuntimeWarning, match="is damaged"), connect(TABLE):
        pass


def test_a_file_is_looked_through_once_a_process(data_folder, monkeypatch):
    statements = []

    class Traced(sqlite3.Connection):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.set_trace_callback(statements.append)

    genuine = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **options: genuine(*a, factory=Traced, **options))
    for _ in range(3):
        with connect(TABLE):
            pass
    assert sum("quick_check" in statement for statement in statements) == 1
    assert sum(statement == "PRAGMA user_version" for statement in statements) == 3


@pytest.mark.parametrize("version", [0, SCHEMA_VERSION + 1])
def test_a_file_of_another_version_is_set_aside_as_it_is(data_folder, version):
    data_folder.mkdir()
    foreign = sqlite3.connect(data_folder / FILE_NAME)
    foreign.execute("CREATE TABLE theirs (x)")
    foreign.execute(f"PRAGMA user_version = {version}")
    foreign.commit()
    foreign.close()
    content = (data_folder / FILE_NAME).read_bytes()
    with pytest.warns(RuntimeWarning, match=f"has schema version {version} "), connect(TABLE):
        pass
    (aside,) = data_folder.glob(f"{FILE_NAME}.set-aside-*")
    assert aside.read_bytes() == content


def test_two_files_set_aside_in_one_second_are_both_kept(data_folder):
    data_folder.mkdir()
    for content in (b"first" * 1000, b"second" * 1000):
        (data_folder / FILE_NAME).write_bytes(content)
        with pytest.warns(RuntimeWarning), connect(TABLE):
            pass
    assert len(list(data_folder.glob(f"{FILE_NAME}.set-aside-*[0-9]"))) == 2


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "file" / "below"))
    with pytest.raises(StoreError, match="measurements cannot be kept in .*set TILEWRIGHT_DATA"), connect(TABLE):
        pass


def test_a_full_disk_is_one_sentence(data_folder):
    with pytest.raises(StoreError, match="full"), connect(TABLE) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:0500}",) for n in range(100)])


def test_a_wrong_statement_is_not_blamed_on_the_disk(data_folder):
    with pytest.raises(sqlite3.IntegrityError), connect(TABLE) as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [("same",), ("same",)])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not tell SQLite's error codes")
@pytest.mark.parametrize("statement", ["SELECT colour FROM things", "SELEKT 1", "SELECT * FROM nothing"])
def test_a_statement_that_cannot_be_run_is_not_blamed_on_the_disk(data_folder, statement):
    with pytest.raises(sqlite3.OperationalError), connect(TABLE) as connection:
        connection.execute(statement)


def test_processes_that_open_a_new_file_at_once_all_get_it(data_folder):
    program = (
        "import sys\n"
        "from microkernels.database import connect\n"
        f"with connect({TABLE!r}) as c:\n"
        "    c.execute('INSERT INTO things VALUES (?)', (sys.argv[1],))\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-W", "error", "-c", program, str(n)], cwd=ROOT) for n in range(4)
    ]
    assert [process.wait() for process in started] == [0] * 4
    with connect(TABLE) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (4,)


# The catalog


def test_a_catalog_holds_what_was_recorded(data_folder):
    slow = replace(TILE, vectors=1)
    record("here", Entry(slow, 0.5, timing_at(slow, 0.5)))
    record("here", Entry(TILE, 0.9, timing_at(TILE, 0.9)))
    record("here", Failure(replace(TILE, stride=2), "crashed with SIGSEGV"))
    record("elsewhere", Entry(TILE, 0.1, timing_at(TILE, 0.1)))
    catalog = load("here", "avx2")
    assert [entry.kernel for entry in catalog.entries] == [TILE, slow]
    assert catalog.best == Entry(TILE, 0.9, timing_at(TILE, 0.9))
    assert [failure.reason for failure in catalog.failures] == ["crashed with SIGSEGV"]
    assert load("here", "avx512f").entries == ()
    assert load("here", "avx2", "matmul").entries == catalog.entries


def test_another_emitter_begins_a_new_ranking(data_folder, monkeypatch):
    record("here", Entry(TILE, 0.9, timing_at(TILE, 0.9)))
    monkeypatch.setattr("microkernels.records.EMITTER_VERSION", -1)
    assert load("here", "avx2").best is None
    assert not measured("here")
    assert revision("here", "avx2", "conv2d") == "0"


def test_an_outcome_is_settled_once_its_ranking_is_done_with_it(data_folder):
    record("here", Entry(TILE, 0.9, timing_at(TILE, 0.9)))
    assert not measured("here")
    settle("here", [TILE])
    assert measured("here") == {TILE.name}
    start_over("here", [TILE])
    assert not measured("here") and load("here", "avx2").best.score == 0.9


def test_a_failure_takes_no_score_s_place(data_folder):
    record("here", Failure(TILE, "crashed with SIGSEGV"))
    record("here", Failure(TILE, "no answer within 60 s: killed"))
    assert load("here", "avx2").failures == (Failure(TILE, "no answer within 60 s: killed"),)
    known = Entry(TILE, 0.9, timing_at(TILE, 0.9))
    record("here", known)
    record("here", Failure(TILE, "crashed with SIGSEGV"))
    assert (load("here", "avx2").entries, load("here", "avx2").failures) == ((known,), ())
    record("elsewhere", Failure(TILE, "crashed with SIGSEGV"))
    assert len(load("elsewhere", "avx2").failures) == 1


def test_the_revision_changes_with_the_ranking_and_with_nothing_else(data_folder):
    def now():
        return revision("here", "avx2", "conv2d")

    assert now() == "0"
    seen = {now()}
    slow = replace(TILE, vectors=1)
    known = Entry(TILE, 0.9, timing_at(TILE, 0.9))
    for outcome in (known, Failure(slow, "crashed"), Entry(slow, 0.5, timing_at(slow, 0.5)), known, known):
        record("here", outcome)
        assert now() not in seen
        seen.add(now())
    last = now()
    start_over("here", [TILE])
    settle("here", [TILE])
    record("elsewhere", known)
    record("here", Failure(TILE, "crashed"))
    record("here", Failure(replace(TILE, isa="portable"), "crashed"))
    record("here", Failure(Microkernel("matmul", "avx2", (("m", 6),), 2), "crashed"))
    assert now() == last


def test_every_tile_has_a_score():
    known = Entry(TILE, 0.8, timing_at(TILE, 0.8))
    failed = Failure(replace(TILE, vectors=1), "wrong result")
    catalog = Catalog("here", "avx2", "conv2d", (known,), (failed,))
    assert catalog.score(TILE) == 0.8
    assert catalog.score(replace(TILE, stride=2)) == 0.8
    assert catalog.score(failed.kernel) == 0
    other = Microkernel("conv2d", "avx2", (("w", 5),), 2)
    assert catalog.score(other) == estimate(other) * 0.8
    assert Catalog("here", "avx2", "conv2d").score(other) == estimate(other)


def test_a_matmul_tile_has_the_score_of_the_equal_convolution():
    known = Entry(TILE, 0.8, timing_at(TILE, 0.8))
    catalog = Catalog("here", "avx2", "conv2d", (known,))
    product = Microkernel("matmul", "avx2", (("m", 6),), 2)
    assert product.measured_as == TILE and TILE.measured_as == TILE
    assert catalog.score(product) == 0.8 and catalog.is_measured(product)
    unrolled = replace(product, unrolled=(("k", 4),))
    assert unrolled.measured_as == replace(TILE, unrolled=(("c", 4),))
    assert catalog.score(unrolled) == estimate(unrolled) * 0.8 and not catalog.is_measured(unrolled)


@pytest.mark.parametrize("isa", ISAS)
def test_equal_tiles_are_emitted_alike(isa):
    """What a matmul tile's score rests on: its inner loop is the convolution's, but for the names of the dims."""
    row = ISAS[isa]
    problem = matmul(m=6, n=2 * row.lanes, k=64)
    product = emit(notation.parse(problem, f"S(c) T(k,64) U(m,6) U(n,2) V(n,{row.lanes})"), row)
    tile = Microkernel("matmul", isa, (("m", 6),), 2)
    convolution = emit(benchmark_scheme(tile.measured_as, L1), row)

    def steps(source):
        return [line.strip() for line in source.text.splitlines() if "acc_" in line and "x_" in line]

    renamed = [line.replace("X_m", "X_w").replace("x_k", "x_c") for line in steps(product)]
    assert renamed == steps(convolution) and len(renamed) == 6


def test_the_estimate_follows_latency_loads_and_registers():
    def tile(w, vectors, unrolled=(), isa="avx512f"):
        return Microkernel("conv2d", isa, (("w", w),) if w > 1 else (), vectors, unrolled)

    assert estimate(tile(1, 1)) == 1 / 8
    assert estimate(tile(4, 1)) == 4 / 8
    assert estimate(tile(12, 2)) == 1
    assert estimate(tile(12, 1)) == 12 / 13  # 12 x and one weight vector
    assert estimate(tile(12, 1, (("s", 3),))) == 1  # of 36 x only 14 differ
    assert estimate(tile(15, 2)) == 30 / 32  # no register left for x: each FMA reads its own
    assert loads_per_step(tile(12, 2)) == 14
    assert loads_per_step(tile(12, 1, (("s", 3),))) == 3 + 14
    assert loads_per_step(tile(8, 3, (("s", 3),))) == 9 + 24  # no room for all taps' weights: no x is shared
    assert loads_per_step(tile(15, 2)) == 32
    assert estimate(tile(16, 2)) < 0.5  # a row too many
    assert all(0 < estimate(kernel) <= 1 for isa, op in SPACES for kernel in space(isa, op))
    depthwise = Microkernel("depthwise2d", "avx512f", (("h", 2), ("w", 7)), 1, (("r", 3), ("s", 3)))
    assert loads_per_step(depthwise) == 9 + 4 * 9  # the weights of all taps, and the x of 4 × 9 pixels
    assert loads_per_step(replace(depthwise, rows=(("w", 5),), vectors=2)) == 2 * (9 + 3 * 7)  # an x for each vector
    assert loads_per_step(replace(depthwise, rows=(("w", 28),))) == 9 + 28 * 9  # no room for nine weights


# The ranking


def test_a_ranking_scores_by_the_peak_beside(data_folder):
    kernels = quick(PORTABLE)
    seen = []
    state = rank(kernels, measure_by_estimate, "here", L1, progress=seen.append)
    assert (state.total, state.done, state.failed) == (len(kernels), len(kernels), 0)
    assert [s.done for s in seen] == list(range(len(kernels) + 1))
    catalog = load("here", "portable")
    assert len(catalog.entries) == len(kernels)
    for entry in catalog.entries:
        assert entry.score == pytest.approx(estimate(entry.kernel))
    assert state.best.score == catalog.best.score


def test_a_failure_is_recorded_with_its_reason(data_folder):
    def measure(kernels):
        for kernel in kernels:
            yield kernel, "crashed with SIGILL"

    state = rank([TILE], measure, "here", L1)
    assert (state.done, state.failed, state.best) == (1, 1, None)
    assert load("here", "avx2").failures == (Failure(TILE, "crashed with SIGILL"),)
    rank([TILE], refuse, "here", L1, resume=True)
    rank([TILE], measure_by_estimate, "here", L1)
    assert load("here", "avx2").failures == ()


def test_what_was_disturbed_is_looked_at_again_and_its_best_counts(data_folder):
    looks = []
    kernels = quick(PORTABLE)

    def disturbed(asked):
        looks.append(asked)
        for kernel in asked:
            slow = kernel in kernels[::4] and len(looks) == 1 or kernel == kernels[0]
            yield kernel, timing_at(kernel, estimate(kernel) * (0.5 / len(looks) if slow else 1))

    state = rank(kernels, disturbed, "here", L1)
    assert looks == [kernels, kernels[::4], kernels[:1]]
    assert state.done == state.total == len(kernels)
    catalog = load("here", "portable")
    for kernel in kernels:
        assert catalog.score(kernel) == pytest.approx(estimate(kernel) * (0.5 if kernel == kernels[0] else 1))


def test_a_score_above_the_peak_is_not_believed(data_folder):
    answers = iter([1.3, 0.97, 1.2])

    def measure(kernels):
        for kernel in kernels:
            yield kernel, timing_at(kernel, next(answers))

    rank([TILE], measure, "here", L1)
    assert load("here", "avx2").best.score == pytest.approx(0.97)


def test_a_kernel_that_fails_at_a_second_look_keeps_its_score(data_folder):
    other = replace(TILE, vectors=1)
    answers = iter([timing_at(TILE, 0.3), "crashed with SIGSEGV", timing_at(TILE, 0.2)])

    def measure(kernels):
        for kernel in kernels:
            yield kernel, next(answers) if kernel == TILE else timing_at(other, estimate(other))

    state = rank([TILE, other], measure, "here", L1)
    assert (state.done, state.failed) == (2, 0)
    catalog = load("here", "avx2")
    assert (catalog.score(TILE), catalog.failures) == (pytest.approx(0.3), ())


def test_an_interrupted_ranking_resumes_with_the_batch_it_was_in(data_folder):
    kernels = space(PORTABLE)[: BATCH + 10]
    assert len(kernels) == BATCH + 10
    rank(kernels, measure_by_estimate, "here", L1)
    ended = []

    def interrupted(asked):
        try:
            for kernel in asked:
                if kernel == kernels[BATCH + 4]:
                    raise KeyboardInterrupt
                yield kernel, timing_at(kernel, 0.01)
        finally:
            ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        rank(kernels, interrupted, "here", L1)
    assert ended
    catalog = load("here", "portable")
    assert len(catalog.entries) == BATCH + 10, "scores of the earlier ranking hold until they are replaced"
    assert sum(entry.score == pytest.approx(0.01) for entry in catalog.entries) == BATCH + 4
    asked_again = []

    def rest(asked):
        asked_again.extend(asked)
        yield from measure_by_estimate(asked)

    rank(kernels, rest, "here", L1, resume=True)
    assert asked_again == list(kernels[BATCH:])
    rank(kernels, refuse, "here", L1, resume=True)


def test_a_ranking_cut_short_between_looks_looks_again(data_folder):
    kernels = quick(PORTABLE)
    looks = []

    def cut_short(asked):
        looks.append(asked)
        if len(looks) == 2:
            raise KeyboardInterrupt
        for kernel in asked:
            yield kernel, timing_at(kernel, estimate(kernel) * (0.5 if kernel in kernels[::4] else 1))

    with pytest.raises(KeyboardInterrupt):
        rank(kernels, cut_short, "here", L1)
    assert looks == [kernels, kernels[::4]]
    rank(kernels, measure_by_estimate, "here", L1, resume=True)
    catalog = load("here", "portable")
    assert all(catalog.score(kernel) == pytest.approx(estimate(kernel)) for kernel in kernels)


def test_a_resumed_ranking_repeats_nothing_that_is_beyond_doubt(data_folder):
    kernels = quick(PORTABLE)

    def cut_short(asked):
        for kernel, timing in measure_by_estimate(asked[:7]):
            yield kernel, timing
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank(kernels, cut_short, "here", L1)
    asked_again = []

    def rest(asked):
        asked_again.extend(asked)
        yield from measure_by_estimate(asked)

    rank(kernels, rest, "here", L1, resume=True)
    assert asked_again == list(kernels[7:])


def test_a_machine_is_ranked_quickly_and_once(data_folder):
    told = []
    catalog = ensure_ranked(AVX2, "conv2d", measure_by_estimate, "here", L1, announce=told.append)
    assert len(catalog.entries) == len(quick(AVX2))
    assert len(told) == 1 and f"ranking {len(quick(AVX2))} conv2d" in told[0]
    assert ensure_ranked(AVX2, "conv2d", refuse, "here", L1, announce=told.append) == catalog
    assert len(told) == 1


def test_where_nothing_can_be_measured_the_reason_is_told_and_it_is_tried_again(data_folder):
    def broken(kernels):
        yield from ((kernel, "no space left" if kernel.row_count > 1 else "another") for kernel in kernels)

    with pytest.raises(RankingError, match="none of the 40 conv2d microkernels of avx2 .*: no space left$"):
        ensure_ranked(AVX2, "conv2d", broken, "here", L1, announce=lambda _: None)
    catalog = ensure_ranked(AVX2, "conv2d", measure_by_estimate, "here", L1, announce=lambda _: None)
    assert len(catalog.entries) == 40


# The command line


@pytest.fixture
def fake_workers(monkeypatch):
    monkeypatch.setattr(offline, "measure_in_workers", lambda jobs, l1_bytes: measure_with(l1_bytes))
    monkeypatch.setattr(offline, "find_compiler", lambda: None)


def measure_with(l1_bytes):
    def measure(kernels):
        for kernel in kernels:
            if kernel.row_count == 5:
                yield kernel, "no answer within 60 s: killed"
            else:
                yield kernel, timing_at(kernel, estimate(kernel), l1_bytes)

    return measure


def test_rank_show_and_plot(fake_workers, capsys, tmp_path):
    assert command_line.main(["rank", "--isa", "portable", "--quick"]) == 0
    printed = capsys.readouterr()
    count = len(quick(PORTABLE))
    assert printed.out.startswith(f"{count} measured in ")
    failed = sum(kernel.row_count == 5 for kernel in quick(PORTABLE))
    assert f"{failed} of them failed; 0 were measured before" in printed.out
    assert f"and {failed - 1} more: no answer within 60 s: killed" in printed.out
    assert printed.out.count("GFLOP/s") == 10
    assert 5 <= printed.err.count(" measured, best ") <= 11

    assert command_line.main(["rank", "--isa", "portable", "--quick", "--resume"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"{failed} measured in "), "what took too long is tried again, and nothing else"
    assert f"{failed} of them failed; {count - failed} were measured before" in printed

    assert command_line.main(["show", "--isa", "portable", "--top", "3", "--json"]) == 0
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in printed.out.splitlines()]
    assert len(lines) == 3 and printed.err == ""
    assert lines[0]["score"] >= lines[2]["score"] > 0
    assert parse(lines[0]["kernel"]).isa == "portable"
    assert lines[0]["samples"] == 3 and lines[0]["peak_gflops"] == 100.0

    assert command_line.main(["show", "--isa", "portable"]) == 0
    assert capsys.readouterr().out.count("\n") == count - failed + 1

    if importlib.util.find_spec("matplotlib"):
        assert command_line.main(["plot", "--isa", "portable", str(tmp_path / "map.png")]) == 0


def test_ctrl_c_keeps_what_is_done_and_says_how_to_resume(fake_workers, monkeypatch, capsys):
    def measure(kernels):
        yield kernels[0], timing_at(kernels[0], 0.5)
        raise KeyboardInterrupt

    monkeypatch.setattr(offline, "measure_in_workers", lambda jobs, l1_bytes: measure)
    assert command_line.main(["rank", "--isa", "portable", "--quick"]) == 130
    assert "continue with: python -m microkernels rank --isa portable --quick --resume" in capsys.readouterr().err
    assert command_line.main(["show", "--isa", "portable", "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_machine_at_fault_is_one_sentence_and_no_kernel_s_failure(monkeypatch, capsys):
    def run_all(tasks, jobs):
        yield next(tasks), CandidateError("crashed with SIGSEGV")
        raise WorkerError("the cache folder cannot be written")

    monkeypatch.setattr(offline, "find_compiler", lambda: None)
    monkeypatch.setattr(offline, "run_all", run_all)
    assert command_line.main(["rank", "--isa", "portable", "--quick"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "the cache folder cannot be written"
    catalog = load(offline.fingerprint(offline.host()), "portable")
    assert (catalog.entries, catalog.failures) == ((), (Failure(quick(PORTABLE)[0], "crashed with SIGSEGV"),))
    assert measured(offline.fingerprint(offline.host())) == {quick(PORTABLE)[0].name}


def test_show_without_a_ranking_says_how_to_make_one(capsys):
    assert command_line.main(["show", "--isa", "portable"]) != 0
    printed = capsys.readouterr()
    assert "python -m microkernels rank --isa portable --op conv2d" in printed.err and printed.out == ""


def test_what_cannot_be_ranked_is_refused_in_a_sentence(monkeypatch, capsys):
    assert command_line.main(["rank", "--isa", "avx9"]) == 2
    assert capsys.readouterr().err == "unknown instruction set 'avx9'; known are avx512f, avx2, portable\n"
    bare = replace(offline.host(), flags=frozenset({"fma"}))
    monkeypatch.setattr(offline, "host", lambda: bare)
    assert command_line.main(["rank", "--isa", "avx512f"]) == 2
    assert capsys.readouterr().err == "this CPU does not run avx512f: it lacks avx512f, avx512vl\n"
    assert offline.usable_isa(None) == PORTABLE
    assert command_line.main(["rank", "--quick", "--stride", "2"]) == 2
    with pytest.raises(SystemExit) as ended:
        command_line.main(["rank", "--jobs", "0"])
    assert ended.value.code == 2


def test_a_reader_that_has_enough_is_no_error(fake_workers):
    command_line.main(["rank", "--isa", "portable"])
    show = [sys.executable, "-m", "microkernels", "show", "--isa", "portable"]
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(show, cwd=ROOT, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


# The picture


@pytest.mark.skipif(not importlib.util.find_spec("matplotlib"), reason="needs matplotlib, the extra [plot]")
def test_the_heat_map_is_written(tmp_path):
    entries = [Entry(kernel, estimate(kernel), timing_at(kernel, 0.5)) for kernel in space(AVX2)]
    plot.heat_map(entries, tmp_path / "map.png")
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(plot.PlotError, match="nothing to draw"):
        plot.heat_map([], tmp_path / "none.png")
    with pytest.raises(plot.PlotError, match="cannot be written"):
        plot.heat_map(entries[:5], tmp_path / "no" / "folder.png")
    with pytest.raises(plot.PlotError, match="cannot be written"):
        plot.heat_map(entries[:5], tmp_path / "map.unknown")


def test_without_matplotlib_the_picture_says_what_to_install(monkeypatch, tmp_path):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(plot.PlotError, match=r"pip install '\.\[plot\]'"):
        plot.heat_map([Entry(TILE, 0.9, timing_at(TILE, 0.9))], tmp_path / "map.png")
