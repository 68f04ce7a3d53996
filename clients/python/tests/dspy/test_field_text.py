"""The text of a field for a listener, from the pieces of several calls of an LM."""

from __future__ import annotations

from typing import Any

import pytest
from dspy.streaming import StreamListener

from dsrs_client.dspy.field_text import FieldText

#: what happens to the spans 1 and 2: text is added, a call ends (`.`), or the LM is asked again (`?`)
CASES: dict[str, tuple[list[tuple[int, str]], str, str]] = {
    "one call": ([(1, "Li"), (1, "ma"), (1, ".")], "Li ma |", "Li ma |"),
    "one after another": ([(1, "Lima"), (1, "."), (2, "Rome"), (2, ".")], "Lima |", "Lima | Rome |"),
    "at the same time": ([(1, "Li"), (2, "Ro"), (1, "ma"), (2, "me"), (1, "."), (2, ".")], "Li ma |", "Li ma | Rome |"),
    "the second ends first": ([(1, "Li"), (2, "Rome"), (2, "."), (1, "ma"), (1, ".")], "Li ma |", "Li ma | Rome |"),
    "asked again": ([(1, "Rome"), (1, "?"), (1, "Lima"), (1, ".")], "Rome |", "Rome | Lima |"),
    "asked again while it waits": (
        [(1, "Lima"), (2, "Ro"), (2, "?"), (2, "Oslo"), (1, ".")],
        "Lima |",
        "Lima | Oslo |",
    ),
    "without an end": ([(1, "Lima"), (2, "Rome")], "Lima |", "Lima | Rome |"),
    "an end without text": ([(1, "."), (2, "?")], "", ""),
}


@pytest.mark.parametrize("allow_reuse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_texts_of_calls_follow_each_other(case: str, allow_reuse: bool) -> None:
    pieces, once, reused = CASES[case]
    sent: list[Any] = []
    field = FieldText(StreamListener("city", allow_reuse=allow_reuse), sent.append, set())
    for span, piece in pieces:
        if piece == ".":
            field.end(span)
        elif piece == "?":
            field.discard(span)
        else:
            field.add(span, piece)
    field.end_all()
    shown = " ".join("|" if value.is_last_chunk else value.chunk for value in sent)
    assert shown == (reused if allow_reuse else once)
