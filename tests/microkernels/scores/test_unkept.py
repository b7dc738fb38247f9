"""`kept_if_possible`: what a command that measures nothing does without a data folder that can be written."""

import errno
import os
from pathlib import Path

import pytest

from microkernels.scores import database, unkept
from microkernels.scores.database import FILE_NAME, StoreError, connect
from microkernels.scores.unkept import kept_if_possible
from tilewright_entry import TilewrightWarning

TABLE = "CREATE TABLE IF NOT EXISTS things (name TEXT PRIMARY KEY);"


def test_what_keeps_nothing_goes_on_where_nothing_can_be_kept(tmp_path, monkeypatch):
    """Processes that it starts have the same empty folder. A folder that can be used is used."""
    unusable = str(tmp_path / "file" / "below")
    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_DATA", unusable)
    said = "TILEWRIGHT_DATA to a folder that can be written; now nothing is kept"
    with pytest.raises(ZeroDivisionError), pytest.warns(TilewrightWarning, match=said), kept_if_possible():
        instead = os.environ["TILEWRIGHT_DATA"]
        with connect(TABLE) as connection:
            connection.execute("INSERT INTO things VALUES ('here')")
        raise ZeroDivisionError
    assert os.environ["TILEWRIGHT_DATA"] == unusable and not Path(instead).exists()
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "fine"))
    with kept_if_possible(), connect(TABLE):
        assert (tmp_path / "fine" / FILE_NAME).exists()


def test_what_keeps_nothing_reads_what_is_there(data_folder, monkeypatch):
    """A file that can only be read is copied, so that a write to the copy fails nowhere."""
    with connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('known')")
    content, lock = (data_folder / FILE_NAME).read_bytes(), database.filelock.FileLock

    def locked(path, **options):
        if str(data_folder) in str(path):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return lock(path, **options)

    monkeypatch.setattr(database.filelock, "FileLock", locked)
    said = r"folder that can be written; now nothing is kept\. If this CPU has no ranking yet, making one takes minutes"
    with pytest.warns(TilewrightWarning, match=said), kept_if_possible(), connect(TABLE) as connection:
        connection.execute("INSERT INTO things VALUES ('more')")
        assert connection.execute("SELECT name FROM things ORDER BY name").fetchall() == [("known",), ("more",)]
    assert (data_folder / FILE_NAME).read_bytes() == content and os.environ["TILEWRIGHT_DATA"] == str(data_folder)


def test_where_nothing_can_be_written_anywhere_one_sentence_says_so(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "file").touch()
    monkeypatch.setenv("TILEWRIGHT_DATA", str(tmp_path / "file" / "below"))
    monkeypatch.setattr(unkept.tempfile, "TemporaryDirectory", full)
    said = r"set TILEWRIGHT_DATA to a folder that can be written, or TMPDIR \(No space left on device\)"
    with pytest.raises(StoreError, match=said), kept_if_possible():
        pass
