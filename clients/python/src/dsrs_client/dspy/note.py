"""A sentence of `pushed.notes`. Knows which notes change a meaning, and refuses them where nothing may change."""

from __future__ import annotations

from collections.abc import Iterable

from .place import Place, here
from .refusal import CannotPush, Reason


class Note(str):
    """What a push left out or decided. With a way out it changes a meaning: the graph may answer something else."""

    way_out: str | None
    #: the lines of the program that it is about
    places: list[Place]

    def __new__(cls, text: str, way_out: str | None = None) -> Note:
        note = super().__new__(cls, text)
        note.way_out = way_out
        note.places = [place] if (place := here()) is not None else []
        return note


def add_note(notes: list[Note], note: Note) -> None:
    """Adds a note once; the same one at another line adds the line."""
    for known in notes:
        if known == note:
            known.places += [place for place in note.places if place not in known.places]
            return
    notes.append(note)


def refuse_changes(notes: Iterable[Note], otherwise: Place | None) -> None:
    """Refuses a program whose graph would mean something else: every such note at each of its lines."""
    reasons: list[Reason] = []
    for note in (note for note in notes if note.way_out is not None):
        places: list[Place | None] = [*note.places]
        reasons += [Reason(place, str(note), note.way_out) for place in places or [otherwise]]
    if reasons:
        raise CannotPush(reasons)
