"""DSPy programs as stored graphs, and stored graphs as DSPy modules."""

from __future__ import annotations

from .push import Pushed, graph_of, push, push_saved
from .refusal import CannotPush, Reason

__all__ = ["CannotPush", "Pushed", "Reason", "graph_of", "push", "push_saved"]
