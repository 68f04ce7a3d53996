"""What the caller of :func:`push` says about a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Options:
    """The choices that the program itself does not make."""

    #: inputs with their types, where `forward` does not name them
    inputs: Mapping[str, Any] | None = None
    #: aliases of the server by the name of DSPy's model
    models: Mapping[str, str] = field(default_factory=dict)
    #: tools of the server by the name of the Python function, as docs/tools.md describes them; beside the tool,
    #: `returns`, `select` and `cache_seconds` say what the result of a function is that `forward` calls
    tools: Mapping[str, Any] = field(default_factory=dict)
    #: rewards by the attribute of the module, as docs/strategies.md#rewards describes them
    rewards: Mapping[str, Any] = field(default_factory=dict)
    #: what functions return that stay with the caller, by the name of the function
    outside: Mapping[str, Any] = field(default_factory=dict)
    #: refuses what a note would say about a changed meaning
    strict: bool = False
