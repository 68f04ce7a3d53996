"""Where a symbolic value comes from: an input, a field of a node, or an op that is written once something uses it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from .place import Place, here


@dataclass(eq=False)
class Operation:
    """An op node that does not exist yet: its strategy, config and the links that feed its inputs."""

    strategy: str
    config: dict[str, Any]
    inputs: list[tuple[str, Link]]
    output: str
    place: Place | None = field(default_factory=here)

    def link(self, annotation: Any) -> Link:
        """The output of the op, as a value of this type."""
        return Link(self, "", annotation)


@dataclass(frozen=True)
class Link:
    """A selection: the source, the path within it, and its Python type."""

    source: str | Operation
    path: str
    annotation: Any

    @property
    def label(self) -> str:
        """How messages call it."""
        if isinstance(self.source, str):
            return f"`{self.source}{self.path}`"
        return f"the result of `{self.source.strategy}`"

    def part(self, path: str, annotation: Any) -> Link:
        """A part of the value."""
        return replace(self, path=self.path + path, annotation=annotation)

    def item(self, index: int, annotation: Any) -> Link:
        """An element of a list. A list that is too short fails the node, as `IndexError` ends a program."""
        return required(self.part(f"[{index}]", annotation))

    def key(self, key: str, annotation: Any) -> Link:
        """A value of a dict. A missing key fails the node, as `KeyError` ends a program."""
        return required(self.part(f"['{key}']", annotation))


def required(link: Link) -> Link:
    """The value without null: `coerce` fails where there is none."""
    from .annotation import schema_of

    config = {"type": schema_of(link.annotation)}
    return Operation("coerce", config, [("value", link)], "value").link(link.annotation)
