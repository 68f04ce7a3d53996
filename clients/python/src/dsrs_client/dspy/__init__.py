"""DSPy programs as stored graphs, and stored graphs as DSPy modules."""

from __future__ import annotations

from . import attempts as _attempts
from . import programs as _programs
from . import react as _react
from . import react_v2 as _react_v2
from . import stored as _stored
from . import unknown as _unknown
from .note import Note
from .prompts import PromptsDiffer
from .pull import CannotPull, pull
from .push import Pushed, graph_of, push, push_saved
from .refusal import CannotPush, Reason
from .remote import Remote
from .typed_outputs import InvalidOutputs
from .unmeasured import Unmeasured
from .waiting import RunFailed, answer

_KINDS = (_attempts, _programs, _react, _react_v2, _stored, _unknown)

__all__ = [
    "CannotPull",
    "CannotPush",
    "InvalidOutputs",
    "Note",
    "PromptsDiffer",
    "Pushed",
    "Reason",
    "Remote",
    "RunFailed",
    "Unmeasured",
    "answer",
    "graph_of",
    "pull",
    "push",
    "push_saved",
]
