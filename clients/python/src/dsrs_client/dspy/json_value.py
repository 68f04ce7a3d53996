"""Python values as JSON values, as demos, defaults and inputs of a graph need them."""

from __future__ import annotations

from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from .refusal import refuse


def to_json(value: Any) -> Any:
    """The value as JSON; what JSON cannot say is refused."""
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError:
        refuse(f"{value!r} is not a JSON value")
