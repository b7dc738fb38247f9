"""The files of saved programs: read without waiting for a pipe, and told of where others may have written them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def regular(path: Path) -> Iterator[BinaryIO]:
    """A file to read bytes from. Raises OSError, also for a pipe or a device: reading those may never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        # `open` refuses a directory, and leaves its descriptor to us.
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        with open(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def content(path: Path) -> bytes:
    """The bytes of a file. Raises as `regular` does."""
    with regular(path) as file:
        return file.read()


def of_others(*paths: Path) -> str:
    """Who else may have written one of these files or folders, as a sentence about it; "" where nobody can have.

    Root counts as the user. A folder with the sticky bit, such as /tmp, lets nobody replace the files of others.
    """
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue  # it does not exist or cannot be read: nothing is loaded from it
        if status.st_uid not in (os.geteuid(), 0):
            return f"{path} belongs to another user (number {status.st_uid})"
        if status.st_mode & stat.S_IWOTH and not status.st_mode & stat.S_ISVTX:
            return f"everybody may write into {path}"
    return ""
