"""Types as the API prints them, and as Python types."""

from __future__ import annotations

import json
from typing import Any, Literal, Optional, Union

CLOSING = {"[": "]", "{": "}", "(": ")"}
SCALARS: dict[str, Any] = {"str": str, "int": int, "float": float, "bool": bool, "null": None, "any": Any, "bytes": str}


def python_type(text: str, types: dict[str, Any]) -> Any:
    """The Python type; a class is a dict of its members."""
    text = text.strip()
    members = split(text, "|")
    if len(members) > 1:
        return _union(members, types)
    if text.endswith("?"):
        return Optional[python_type(text[:-1], types)]
    if text.startswith("(") and text.endswith(")"):
        return python_type(text[1:-1], types)
    if text.startswith("list["):
        element: Any = python_type(text[5:-1], types)
        return list[element]
    if text.startswith("dict["):
        value: Any = python_type(split(text[5:-1], ",")[1], types)
        return dict[str, value]
    if text.startswith("tuple["):
        members_of: Any = tuple(python_type(part, types) for part in split(text[6:-1], ","))
        return tuple[members_of]
    if text in types and "enum" in types[text]:
        return Literal[tuple(types[text]["enum"])]
    if text in types or text.startswith("{") or text == "error":
        return dict[str, Any]
    return SCALARS[text] if text in SCALARS else Literal[literal(text)]


def _union(members: list[str], types: dict[str, Any]) -> Any:
    kinds = [python_type(member, types) for member in members]
    return Union[tuple(kinds)]


def literal(text: str) -> Any:
    """The value of a literal."""
    return json.loads(text)


def split(text: str, separator: str) -> list[str]:
    """The parts of a type outside of brackets and texts."""
    parts, depth, quoted, start, at = [], 0, False, 0, 0
    while at < len(text):
        letter = text[at]
        if letter == "\\" and quoted:
            at += 1
        elif letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter in CLOSING) - (letter in CLOSING.values())
            if letter == separator and depth == 0:
                parts.append(text[start:at])
                start = at + 1
        at += 1
    return [*parts, text[start:]] if text[start:].strip() or not parts else parts
