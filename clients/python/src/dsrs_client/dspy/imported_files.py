"""Which files of a directory a program was imported from, and whether they have changed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

#: what shows that a file is another one: its time, its size and its number
Mark = tuple[int, int, int] | None


def imported_from(directory: Path) -> list[str]:
    """The Python files of a directory that this process has imported, without installed packages."""
    root = f"{directory}{os.sep}"
    files = [os.path.realpath(file) for each in list(sys.modules.values()) if (file := getattr(each, "__file__", None))]
    return sorted({file for file in files if file.startswith(root) and "site-packages" not in file})


def marks_of(files: Iterable[str]) -> dict[str, Mark]:
    """The marks of files; none for a file that is not there."""
    return {file: _mark(file) for file in files}


def _mark(file: str) -> Mark:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
