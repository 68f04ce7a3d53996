"""Where a program is: the innermost frame that is the program's own code."""

from __future__ import annotations

import site
import sys
import sysconfig
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

OWN = str(Path(__file__).parent)
LIBRARIES = tuple(
    path
    for path in (*(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), site.getusersitepackages())
    if path is not None
)
#: packages whose code is never a part of a program
ENGINES = {"dspy", "dsrs_client"}
#: the code that runs the program: what called it is no code of the program
OUTERMOST: ContextVar[CodeType | None] = ContextVar("OUTERMOST", default=None)
#: installed packages that the program of this trace comes from, by their directories or files
INSTALLED: ContextVar[tuple[str, ...]] = ContextVar("INSTALLED", default=())


@dataclass(frozen=True)
class Place:
    """A line of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def is_users(file: str) -> bool:
    """Whether a file is code of the program: neither this package nor a library that others wrote."""
    if file.startswith(OWN) or file.startswith("<frozen"):
        return False
    return file.startswith(INSTALLED.get()) or not file.startswith(LIBRARIES)


def installed_packages(modules: Iterable[Any]) -> tuple[str, ...]:
    """Where the packages are that define the classes of a program."""
    roots = {owner.__module__.partition(".")[0] for module in modules for owner in type(module).__mro__}
    found: list[str] = []
    for root in sorted(roots - ENGINES - sys.stdlib_module_names):
        package = sys.modules.get(root)
        if (file := getattr(package, "__file__", None)) is not None:
            found.append(f"{Path(file).parent}/" if hasattr(package, "__path__") else file)
        else:
            found += [f"{directory}/" for directory in getattr(package, "__path__", ())]
    return tuple(found)


def here() -> Place | None:
    """The line of the program that runs now; none outside of its code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not OUTERMOST.get():
        is_own = str(frame.f_globals.get("__name__")).startswith("dsrs_client.")
        if is_users(frame.f_code.co_filename) and not is_own:
            return Place(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None
