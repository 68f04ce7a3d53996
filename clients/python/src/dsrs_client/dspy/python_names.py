"""Members of classes as a schema has them: pydantic saves them by their names in Python, and a schema has aliases."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel

from .annotation import element_of, is_class, without_null


def by_alias(value: Any, annotation: Any) -> Any:
    """The value with the aliases of members; a value that does not fit the type stays as it is."""
    if isinstance(value, dict):
        return _dict(value, annotation)
    if isinstance(value, list | tuple):
        return [by_alias(item, kind) for item, kind in zip(value, _elements(annotation, len(value)), strict=True)]
    return value


def _dict(value: dict[Any, Any], annotation: Any) -> dict[Any, Any]:
    model = next((model for model in _models(annotation) if set(value) <= _known(model)), None)
    if model is None:
        return {key: by_alias(item, element_of(annotation)) for key, item in value.items()}
    names = _aliases(model)
    members = {}
    for name, item in value.items():
        field = name if name in model.model_fields else next(known for known in names if names[known] == name)
        members[names[field]] = by_alias(item, model.model_fields[field].annotation)
    return members


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The class of a type, or the classes of a union."""
    if is_class(annotation):
        return [without_null(annotation)]
    members = get_args(annotation) if get_origin(annotation) is not dict else ()
    return [member for member in members if is_class(member)]


def _known(model: type[BaseModel]) -> set[str]:
    aliases = _aliases(model)
    return {*aliases, *aliases.values()}


def _aliases(model: type[BaseModel]) -> dict[str, str]:
    """The names of members in a schema by their names in Python."""
    return {
        name: alias if isinstance(alias := info.validation_alias, str) else info.alias or name
        for name, info in model.model_fields.items()
    }


def _elements(annotation: Any, count: int) -> list[Any]:
    """The types of the elements of a list or a tuple."""
    inner = without_null(annotation)
    kinds = get_args(inner)
    if get_origin(inner) is tuple and len(kinds) == count and Ellipsis not in kinds:
        return list(kinds)
    return [kinds[0] if kinds else Any] * count
