"""Where a symbolic value comes from: an input, a field of a node, or an op that is written once something uses it."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from .annotation import may_be_none, schema_of, without_null
from .catching import refuse_caught
from .place import Place, here

#: the number of the call of the program that is traced
CALL: ContextVar[int] = ContextVar("CALL", default=0)
#: values that are not `None` on this way, by the keys of their links
FACTS: ContextVar[dict[Any, Link] | None] = ContextVar("FACTS", default=None)
#: ops that may raise an exception and are not written yet
PENDING: ContextVar[list[Operation] | None] = ContextVar("PENDING", default=None)


@dataclass(eq=False)
class Operation:
    """An op node that does not exist yet: its strategy, config and the links that feed its inputs."""

    strategy: str
    config: dict[str, Any]
    inputs: list[tuple[str, Link]]
    output: str
    #: what of Python may raise an exception here, as messages call it
    raises: str | None = None
    place: Place | None = field(default_factory=here)

    #: the Python type of the output
    annotation: Any = Any

    def __post_init__(self) -> None:
        if self.raises is not None:
            refuse_caught(self.raises)
            if (pending := PENDING.get()) is not None:
                pending.append(self)

    def link(self, annotation: Any) -> Link:
        """The output of the op, as a value of this type."""
        self.annotation = annotation
        return Link(self, "", annotation)

    @cached_property
    def identity(self) -> Any:
        """What is the same for two ops that compute the same."""
        inputs = tuple((name, link.identity) for name, link in self.inputs)
        return self.strategy, json.dumps(self.config, sort_keys=True), inputs, self.output


@dataclass(frozen=True)
class Link:
    """A selection: the source, the path within it, and its Python type."""

    source: str | Operation
    path: str
    annotation: Any
    #: the call of the program that it belongs to
    call: int = field(default_factory=CALL.get, compare=False)

    @property
    def label(self) -> str:
        """How messages call it."""
        if isinstance(self.source, str):
            return f"`{self.source}{self.path}`"
        return f"the result of `{self.source.strategy}`"

    @property
    def identity(self) -> Any:
        """What is the same for two selections of the same value."""
        return (self.source if isinstance(self.source, str) else self.source.identity), self.path

    @property
    def is_optional(self) -> bool:
        """Whether the type says that the value may be `None`."""
        return may_be_none(self.annotation)

    def part(self, path: str, annotation: Any) -> Link:
        """A part of the value."""
        return replace(self, path=self.path + path, annotation=annotation)

    def typed(self, annotation: Any) -> Link:
        """The same value as one of another type."""
        return replace(self, annotation=annotation)

    def item(self, index: int, annotation: Any) -> Link:
        """An element of a list. A list that is too short fails the node, as `IndexError` ends a program."""
        return self._element({"index": index}, f"`[{index}]`", annotation)

    def key(self, key: str, annotation: Any) -> Link:
        """A value of a dict. A missing key fails the node, as `KeyError` ends a program."""
        return self._element({"key": key}, f"`[{key!r}]`", annotation)

    def element(self, index: int, annotation: Any) -> Link:
        """An element that is never missing."""
        return Operation("element", {"index": index}, [("value", self)], "value").link(annotation)

    def _element(self, config: dict[str, Any], raises: str, annotation: Any) -> Link:
        return Operation("element", config, [("value", self)], "value", raises).link(annotation)


def required(link: Link, raises: str | None) -> Link:
    """A value that is no text, without null: `coerce` fails where there is none, as Python does on `None`."""
    kind = without_null(link.annotation)
    config = {"type": schema_of(kind), "strict": True}
    return Operation("coerce", config, [("value", link)], "value", raises).link(kind)
