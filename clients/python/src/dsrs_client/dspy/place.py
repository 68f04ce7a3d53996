"""Where a program is: the innermost frame that is the user's own code."""

from __future__ import annotations

import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

OWN = str(Path(__file__).parent)
LIBRARIES = tuple(
    path for path in (sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")) if path is not None
)


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def is_users(file: str) -> bool:
    """Whether a file is neither this package nor a library."""
    return not file.startswith((OWN, *LIBRARIES)) and not file.startswith("<frozen")


def here() -> Place | None:
    """The line of the user's code that runs now."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return Place(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None
