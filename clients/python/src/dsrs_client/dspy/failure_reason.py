"""The reason for a program that raises an exception while it is traced: its innermost line."""

from __future__ import annotations

import linecache
import traceback

from .place import Place, is_users
from .refusal import Reason


def failure_of(error: Exception) -> Reason:
    """The exception at the line of the program that raises it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users(frame.filename)]
    place = Place(frames[-1].filename, frames[-1].lineno or 0) if frames else None
    line = linecache.getline(place.file, place.line).strip() if place else ""
    where = f"`{line}` fails" if line else "fails"
    return Reason(place, f"{where} when it is traced: {type(error).__name__}: {error}")
