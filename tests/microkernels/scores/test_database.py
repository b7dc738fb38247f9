"""The one file of measurements: shared, killed over, damaged, of another version, on a full disk."""

import errno
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from microkernels.scores import database
from microkernels.scores.database import FILE_NAME, SCHEMA_VERSION, StoreError, connect

ROOT = Path(__file__).parents[3]
TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY);"


def damaged_inside(folder):
    """Writes a file of several pages, some of which no longer say anything."""
    with connect(TABLE) as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:0200}",) for n in range(500)])
    path = folder / FILE_NAME
    content = bytearray(path.read_bytes())
    content[8192:40960] = b"\xff" * (40960 - 8192)
    path.write_bytes(content)


def test_a_record_is_visible_elsewhere_at_once(data_folder):
    with connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('one')")
        with connect(TABLE) as other:
            assert other.execute("SELECT name FROM things").fetchall() == [("one",)]


def test_a_killed_process_loses_nothing_that_it_recorded(data_folder):
    program = (
        "import os, signal\n"
        "from microkernels.scores.database import connect\n"
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
    with pytest.warns(RuntimeWarning, match="is damaged .* set aside as") as warned, connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('new')")
    assert warned[0].filename == __file__
    (aside,) = data_folder.glob(f"{FILE_NAME}.set-aside-*")
    assert aside.read_bytes().startswith(b"not a database at all")


def test_a_file_with_damage_inside_is_set_aside(data_folder, monkeypatch):
    damaged_inside(data_folder)
    monkeypatch.setattr(database, "_sound", set())  # as in another process
    with pytest.warns(RuntimeWarning, match="is damaged"), connect(TABLE) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (0,)


def test_damage_that_comes_up_later_is_a_sentence_and_then_set_aside(data_folder):
    damaged_inside(data_folder)
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
    with pytest.raises(StoreError, match=r"measurements cannot be kept in .*set TILEWRIGHT_DATA"), connect(TABLE):
        pass


def test_a_full_disk_is_one_sentence(data_folder):
    with pytest.raises(StoreError, match="full"), connect(TABLE) as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
        connection.executemany("INSERT INTO things VALUES (?)", [(f"{n:0500}",) for n in range(100)])


def test_a_disk_that_is_full_when_the_file_is_opened_is_named(data_folder, monkeypatch):
    """It is read all the same; a write says what the system says, and not that SQLite opened it for reading."""
    with connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('kept')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("microkernels.scores.database._prepared", full)
    monkeypatch.setattr("microkernels.scores.database.tempfile.TemporaryFile", full)
    with pytest.raises(StoreError, match=r"cannot be kept in .* \(No space left on device\)"), connect(TABLE) as found:
        assert found.execute("SELECT * FROM things").fetchall() == [("kept",)]
        found.execute("INSERT INTO things VALUES ('more')")


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
        "from microkernels.scores.database import connect\n"
        f"with connect({TABLE!r}) as c:\n"
        "    c.execute('INSERT INTO things VALUES (?)', (sys.argv[1],))\n"
    )
    started = [subprocess.Popen([sys.executable, "-W", "error", "-c", program, str(n)], cwd=ROOT) for n in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    with connect(TABLE) as connection:
        assert connection.execute("SELECT count(*) FROM things").fetchone() == (4,)
