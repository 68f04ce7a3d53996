"""Server-sent events, read line by line. Knows no event."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass
class EventReader:
    """Collects lines until an event is complete."""

    kind: str = "message"
    _data: list[str] = field(default_factory=list)

    def read(self, line: str) -> tuple[str, dict[str, Any]] | None:
        """The event that ends with this line, if one does."""
        if line == "":
            found = (self.kind, json.loads("\n".join(self._data))) if self._data else None
            self.kind, self._data = "message", []
            return found
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self.kind = value
        elif name == "data":
            self._data.append(value)
        return None
