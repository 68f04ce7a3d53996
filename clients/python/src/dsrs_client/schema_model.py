"""Pydantic models made from the schemas of a graph's contract (`GET /v1/graphs/{graph}/openapi.json`): classes become
models, enums and literals stay what they are. Knows JSON Schema as the server writes it."""

from __future__ import annotations

import keyword
from enum import Enum
from typing import Annotated, Any, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field, create_model

_PREFIX = "#/components/schemas/"
_SIMPLE: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool, "null": None}


class GraphModel(BaseModel):
    """A value of a class of a graph."""

    model_config = ConfigDict(populate_by_name=True, extra="forbid", protected_namespaces=())


class ModelBuilder:
    """Makes the models of one document. A class that contains itself is made once."""

    def __init__(self, schemas: dict[str, Any]) -> None:
        self._schemas = schemas
        self._made: dict[str, Any] = {}
        self._open: set[str] = set()

    def model(self, name: str) -> type[GraphModel]:
        """The model of a class."""
        made = self._named(name)
        if not (isinstance(made, type) and issubclass(made, GraphModel)):
            raise TypeError(f"`{name}` is no class")
        for model in self._made.values():
            if isinstance(model, type) and issubclass(model, GraphModel):
                model.model_rebuild(_types_namespace=self._made)
        return made

    def _named(self, name: str) -> Any:
        if name in self._made:
            return self._made[name]
        if name in self._open:
            return name
        self._open.add(name)
        schema = self._schemas[name]
        self._made[name] = self._class(name, schema) if schema.get("type") == "object" else self._type(schema, name)
        return self._made[name]

    def _class(self, name: str, schema: dict[str, Any]) -> Any:
        required = set(schema.get("required", []))
        fields = {
            _python_name(field): self._field(field, member, field in required)
            for field, member in schema.get("properties", {}).items()
        }
        return create_model(name, __base__=GraphModel, __doc__=schema.get("description"), **fields)

    def _field(self, name: str, schema: dict[str, Any], is_required: bool) -> Any:
        default = ... if is_required else schema.get("default")
        alias = name if _python_name(name) != name else None
        return (self._type(schema, name), Field(default, alias=alias, description=schema.get("description")))

    def _type(self, schema: Any, name: str) -> Any:
        if not isinstance(schema, dict):
            return Any
        if "$ref" in schema:
            return self._named(schema["$ref"].removeprefix(_PREFIX))
        if "const" in schema:
            return Literal[schema["const"]]
        if "enum" in schema:
            return self._choice(schema, name)
        if "anyOf" in schema:
            return Union[tuple(self._type(member, name) for member in schema["anyOf"])]
        return self._of_type(schema, name)

    def _choice(self, schema: dict[str, Any], name: str) -> Any:
        values = schema["enum"]
        is_class = name in self._schemas and all(isinstance(value, str) for value in values)
        if is_class and all(value.isidentifier() and not keyword.iskeyword(value) for value in values):
            return Enum(name, {value: value for value in values}, type=str)
        plain = tuple(value for value in values if value is not None)
        choice = Literal[plain] if plain else None
        return Optional[choice] if None in values else choice

    def _of_type(self, schema: dict[str, Any], name: str) -> Any:
        kind = schema.get("type")
        if kind in _SIMPLE:
            return _SIMPLE[kind]
        if kind == "array":
            if "prefixItems" in schema:
                return tuple[tuple(self._type(item, name) for item in schema["prefixItems"])]  # type: ignore[misc]
            return list[self._type(schema.get("items", {}), name)]  # type: ignore[misc]
        if kind == "object":
            if schema.get("properties"):
                return self._class(name.title().replace("_", ""), schema)
            values = schema.get("additionalProperties", {})
            return dict[str, self._type(values, name)]  # type: ignore[misc]
        return Annotated[Any, Field(description=schema.get("description"))]


def _python_name(name: str) -> str:
    if keyword.iskeyword(name) or name.startswith("_") or not name.isidentifier() or hasattr(BaseModel, name):
        return f"field_{name}".replace("-", "_")
    return name
