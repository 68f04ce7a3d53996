"""What the names of a translated expression mean, and the types of its parts as far as they are known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .annotation import Unknown, element_of, field_of, is_class, is_text

TEXTS = ("lower", "upper", "strip")
NUMBERS = {"any": bool, "all": bool, "len": int, "int": int, "float": float, "bool": bool, "str": str}


@dataclass
class Untranslated(Exception):
    """A part that has no counterpart."""

    node: ast.AST
    what: str


@dataclass
class Names:
    """What the names of an expression mean."""

    inputs: str
    outputs: str
    constants: Mapping[str, Any]
    #: the types of the fields that `inputs` and `outputs` have
    kinds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    #: local names, as expressions with their types
    local: dict[str, tuple[str, Any]] = field(default_factory=dict)

    def inner(self) -> Names:
        """The same names, for one branch."""
        return Names(self.inputs, self.outputs, self.constants, self.kinds, dict(self.local))


def kind_of(node: ast.expr, names: Names) -> Any:
    """The Python type of an expression; `Any` where nothing says it."""
    reader: Callable[[Any, Names], Any] | None = READERS.get(type(node))
    kind = reader(node, names) if reader is not None else Any
    return str if kind is Unknown else kind


def _of_name(node: ast.Name, names: Names) -> Any:
    if node.id in names.local:
        return names.local[node.id][1]
    if node.id in names.constants:
        return type(names.constants[node.id])
    return Any


def _of_attribute(node: ast.Attribute, names: Names) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id == names.outputs:
        return names.kinds.get("outputs", {}).get(node.attr, Any)
    owner = kind_of(node.value, names)
    if is_class(owner):
        return field_of(owner, node.attr)
    return str if is_text(owner) and node.attr == "value" else Any


def _of_subscript(node: ast.Subscript, names: Names) -> Any:
    if isinstance(node.value, ast.Name) and node.value.id in (names.inputs, names.outputs):
        side = "inputs" if node.value.id == names.inputs else "outputs"
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return names.kinds.get(side, {}).get(str(key), Any)
    owner = kind_of(node.value, names)
    if isinstance(node.slice, ast.Slice) or is_text(owner):
        return owner
    return element_of(owner)


def _of_call(node: ast.Call, names: Names) -> Any:
    if isinstance(node.func, ast.Name):
        return NUMBERS.get(node.func.id, Any)
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in TEXTS:
            return str
        if node.func.attr in ("split", "splitlines"):
            return list[str]
        if node.func.attr in ("startswith", "endswith", "search", "match", "fullmatch"):
            return bool
    return Any


def _of_binary(node: ast.BinOp, names: Names) -> Any:
    kinds = {kind_of(node.left, names), kind_of(node.right, names)}
    if kinds <= {int, float, bool}:
        return float if float in kinds or isinstance(node.op, ast.Div) else int
    return str if kinds == {str} else Any


def _of_choice(node: ast.IfExp | ast.BoolOp, names: Names) -> Any:
    parts = node.values if isinstance(node, ast.BoolOp) else [node.body, node.orelse]
    kinds = [kind_of(part, names) for part in parts]
    return kinds[0] if all(kind == kinds[0] for kind in kinds) else Any


def _of_unary(node: ast.UnaryOp, names: Names) -> Any:
    return bool if isinstance(node.op, ast.Not) else kind_of(node.operand, names)


READERS: dict[type[ast.expr], Callable[[Any, Names], Any]] = {
    ast.Constant: lambda node, _: type(node.value), ast.Name: _of_name, ast.Attribute: _of_attribute,
    ast.Subscript: _of_subscript, ast.Call: _of_call, ast.BinOp: _of_binary, ast.IfExp: _of_choice,
    ast.BoolOp: _of_choice, ast.UnaryOp: _of_unary, ast.Compare: lambda *_: bool,
}  # fmt: skip
