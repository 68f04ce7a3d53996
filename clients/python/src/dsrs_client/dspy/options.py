"""What the caller of :func:`push` says about a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .draft import Draft


@dataclass(frozen=True)
class Options:
    """The choices that the program itself does not make."""

    #: inputs with their types, where `forward` does not name them
    inputs: Mapping[str, Any] | None = None
    #: aliases of the server by the name of DSPy's model
    models: Mapping[str, str] = field(default_factory=dict)

    @property
    def kinds(self) -> dict[Any, Callable[[Any], Any]]:
        """Modules whose node depends on the options."""
        return {}

    def outside_of(self, draft: Draft) -> Callable[[Any], Callable[..., Any] | None]:
        """Functions that stay with the caller."""
        return lambda function: None
