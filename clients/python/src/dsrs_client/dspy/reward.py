"""A reward function as an expression of the server, where the expression can say it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NoReturn

from .expression import translate
from .expression_names import Names, kind_of
from .place import Place
from .refusal import Reason, Stop
from .source import definition_of

WAY_OUT = "Nearest: a reward of the server (docs/strategies.md#rewards): `rewards={{{!r}: {{'expression': '…'}}}}`."


def expression_of(function: Any, kinds: Mapping[str, Mapping[str, Any]]) -> str:
    """The Jinja expression over `inputs` and `outputs`, fields of these types, that a function of DSPy computes."""
    if not isinstance(function, FunctionType):
        raise Stop(Reason(None, f"the reward `{function!r}` is not a Python function", WAY_OUT.format("name")))
    definition = definition_of(function.__code__)
    parameters = [argument.arg for argument in definition.args.args]
    if len(parameters) < 2:
        _refuse(definition, function, "other parameters than the inputs and the prediction")
    names = Names(parameters[0], parameters[1], _constants(function, parameters[2:]), kinds)
    if isinstance(definition, ast.Lambda):
        return _translated(definition.body, names, function)
    body = [statement for statement in definition.body if not _is_docstring(statement)]
    return _statements(body, names, function)


def _statements(body: list[ast.stmt], names: Names, function: FunctionType) -> str:
    """`if …: return a`, assignments, and a last `return b`."""
    first, rest = (body[0], body[1:]) if body else (ast.Pass(), [])
    if isinstance(first, ast.Return) and first.value is not None:
        return _translated(first.value, names, function)
    if isinstance(first, ast.Assign) and len(first.targets) == 1 and isinstance(first.targets[0], ast.Name) and rest:
        value = _translated(first.value, names, function)
        names.local[first.targets[0].id] = (value, kind_of(first.value, names))
        return _statements(rest, names, function)
    if isinstance(first, ast.If) and (first.orelse or rest):
        condition = _translated(first.test, names, function)
        then = _statements([*first.body, *rest], names.inner(), function)
        otherwise = _statements([*first.orelse, *rest], names.inner(), function)
        return f"({then} if {condition} else {otherwise})"
    _refuse(first, function, "a statement that no expression can say")


def _constants(function: FunctionType, optional: list[str]) -> Mapping[str, Any]:
    """What names mean: parameters by their defaults, then names of the function around it, then those of its module."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {name: cell.cell_contents for name, cell in cells}
    defaults = dict(zip(optional, (function.__defaults__ or ())[-len(optional) :], strict=False)) if optional else {}
    return {**function.__globals__, **found, **defaults, **(function.__kwdefaults__ or {})}


def _translated(node: ast.expr, names: Names, function: FunctionType) -> str:
    result = translate(node, names)
    if isinstance(result, str):
        return result
    _refuse(result.node, function, result.what)


def _refuse(node: ast.AST, function: FunctionType, what: str) -> NoReturn:
    place = Place(function.__code__.co_filename, getattr(node, "lineno", function.__code__.co_firstlineno))
    name = function.__name__
    raise Stop(Reason(place, f"the reward `{name}` has {what}", WAY_OUT.format(name)))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
