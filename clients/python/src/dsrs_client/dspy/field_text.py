"""The text of one field for one of DSPy's stream listeners: one call of the LM after another. Knows no event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dspy.streaming import StreamResponse


@dataclass
class _Waiting:
    """The text of a call that began while another one was being sent."""

    texts: list[str] = field(default_factory=list)
    has_ended: bool = False


class FieldText:
    """Sends the text of a field. As in DSPy, only the first call is sent unless the listener allows its reuse.

    ``spent`` has the ids of the listeners whose call has ended in this stream: DSPy marks it in the listener, which all
    streams of a program share.
    """

    def __init__(self, listener: Any, send: Callable[[Any], None], spent: set[int]) -> None:
        self.listener, self._send, self._spent = listener, send, spent
        self._span: int | None = None
        self._waiting: dict[int, _Waiting] = {}

    def add(self, span: int, text: str) -> None:
        """More text of a call."""
        if self._span is None and self._is_open():
            self._begin(span)
        if span == self._span:
            self._respond(text)
        elif self._is_open():
            self._waiting.setdefault(span, _Waiting()).texts.append(text)

    def end(self, span: int) -> None:
        """The text of a call is complete."""
        if span == self._span:
            self._end()
        elif span in self._waiting:
            self._waiting[span].has_ended = True

    def discard(self, span: int) -> None:
        """The LM is asked again. What was sent ends; what waits is dropped."""
        self._waiting.pop(span, None)
        if span == self._span:
            self._end()

    def end_all(self) -> None:
        """Every call has ended."""
        for waiting in self._waiting.values():
            waiting.has_ended = True
        if self._span is not None:
            self._end()

    def _is_open(self) -> bool:
        return self.listener.allow_reuse or id(self.listener) not in self._spent

    def _begin(self, span: int) -> None:
        self._span = span
        self.listener.stream_start, self.listener.stream_end = True, False

    def _end(self) -> None:
        self._respond("", is_last=True)
        self._span, self.listener.stream_end = None, True
        self._spent.add(id(self.listener))
        if self._waiting and self._is_open():
            span, waiting = next(iter(self._waiting.items()))
            del self._waiting[span]
            self._begin(span)
            self._respond("".join(waiting.texts))
            if waiting.has_ended:
                self._end()

    def _respond(self, text: str, is_last: bool = False) -> None:
        self._send(StreamResponse(self.listener.predict_name, self.listener.signature_field_name, text, is_last))
