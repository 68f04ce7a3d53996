"""What a tool of the caller returned as the JSON that the server takes, and as text where it cannot be JSON."""

from __future__ import annotations

import json
import math
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

#: the most characters that are sent: the server shows fewer to the model
MOST = 100_000
#: how deep the server reads JSON
DEPTH = 64


def result_of(returned: Any) -> Any:
    """JSON that says what the value is; its text, shortened, where none does."""
    try:
        value = to_jsonable_python(returned)
    except (PydanticSerializationError, UnicodeDecodeError, ValueError, RecursionError):
        return _shortened(str(returned))
    if not _is_sendable(value, 0):
        return _shortened(str(returned))
    if isinstance(value, str):
        return _shortened(value)
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= MOST else _shortened(text)


def _is_sendable(value: Any, depth: int) -> bool:
    """Whether the server reads it: numbers of 64 bits, no NaN, and not too deep."""
    if depth > DEPTH:
        return False
    if isinstance(value, dict):
        return all(_is_sendable(member, depth + 1) for member in value.values())
    if isinstance(value, list):
        return all(_is_sendable(item, depth + 1) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _shortened(text: str) -> str:
    text = text.encode("utf-8", "replace").decode()
    left = len(text) - MOST
    return text if left <= 0 else f"{text[:MOST]}\n… ({left} more characters were left out)"
