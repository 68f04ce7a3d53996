"""A value of a type, for prompts that are rendered and never sent."""

from __future__ import annotations

from typing import Any

from .type_text import literal, split

SCALARS: dict[str, Any] = {
    "str": "sample", "int": 1, "float": 0.5, "bool": True, "null": None, "any": "sample", "bytes": "AA==",
    "error": None,
}  # fmt: skip


def sample(kind: Any, types: dict[str, Any]) -> Any:
    """A value of the type, as the API prints types."""
    text = (kind["type"] if isinstance(kind, dict) else kind).strip()
    members = split(text, "|")
    if len(members) > 1:
        return sample(members[0], types)
    if text.endswith("?"):
        return None
    if text.startswith("(") and text.endswith(")"):
        return sample(text[1:-1], types)
    if text.startswith("list["):
        return []
    if text.startswith("dict["):
        return {}
    if text.startswith("tuple["):
        return [sample(part, types) for part in split(text[6:-1], ",")]
    if text.startswith("{"):
        return {name.strip(): sample(part, types) for name, part in _members(text)}
    if text in types:
        return _named(types[text], types)
    return SCALARS[text] if text in SCALARS else literal(text)


def _members(text: str) -> list[list[str]]:
    return [item.split(":", 1) for item in split(text[1:-1], ",")]


def _named(definition: dict[str, Any], types: dict[str, Any]) -> Any:
    if "enum" in definition:
        return next(iter(definition["enum"]))
    required = {name: field for name, field in definition["class"].items() if not _has_default(field)}
    return {name: sample(field, types) for name, field in required.items()}


def _has_default(field: Any) -> bool:
    return isinstance(field, dict) and "default" in field
