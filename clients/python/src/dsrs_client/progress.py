"""Progress on a terminal or in a notebook: tqdm if it is installed, else one line. Silent where nobody looks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Report = Callable[[int, int, str], None]


def progress(title: str, is_shown: bool | None) -> Report:
    """Reports `done of total`. By default only if a person looks: a terminal or a notebook."""
    if is_shown is False or (is_shown is None and not _is_watched()):
        return lambda done, total, text: None
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return _line(title)
    bar: Any = None

    def report(done: int, total: int, text: str) -> None:
        nonlocal bar
        bar = bar or tqdm(total=total, desc=title)
        bar.total, bar.n = total, done
        bar.set_postfix_str(text)
        if done >= total:
            bar.close()

    return report


def _line(title: str) -> Report:
    def report(done: int, total: int, text: str) -> None:
        end = "\n" if done >= total else ""
        print(f"\r{title}: {done} of {total} {text}", end=end, file=sys.stderr, flush=True)

    return report


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
