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
        name = getattr(function, "__qualname__", type(function).__name__)
        raise Stop(
            Reason(
                None,
                f"the reward `{name}` is not a Python function",
                WAY_OUT.format(getattr(function, "__name__", type(function).__name__)),
            )
        )
    definition = definition_of(function.__code__)
    parameters = [argument.arg for argument in definition.args.args]
    if len(parameters) < 2:
        _refuse(definition, function, "other parameters than the inputs and the prediction")
    names = Names(parameters[0], parameters[1], constants_of(function, parameters[2:]), kinds)
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
    if isinstance(first, ast.AugAssign) and isinstance(first.target, ast.Name) and rest:
        _assign(first, names, function)
        return _statements(rest, names, function)
    if isinstance(first, ast.If) and rest and _only_assigns([first]):
        _choose(first, names, function)
        return _statements(rest, names, function)
    if isinstance(first, ast.If) and (first.orelse or rest):
        condition = _translated(first.test, names, function)
        then = _statements([*first.body, *rest], names.inner(), function)
        otherwise = _statements([*first.orelse, *rest], names.inner(), function)
        return f"({then} if {condition} else {otherwise})"
    _refuse(first, function, "a statement that no expression can say")


def _only_assigns(body: list[ast.stmt]) -> bool:
    """Whether statements do nothing but to assign variables that have a value already, or on all ways."""
    return all(
        (isinstance(line, ast.If) and _only_assigns(line.body) and _only_assigns(line.orelse))
        or (isinstance(line, ast.AugAssign) and isinstance(line.target, ast.Name))
        or (isinstance(line, ast.Assign) and len(line.targets) == 1 and isinstance(line.targets[0], ast.Name))
        or isinstance(line, ast.Pass)
        for line in body
    )


def _assign(line: ast.stmt, names: Names, function: FunctionType) -> None:
    """One assignment of a variable."""
    if isinstance(line, ast.If):
        return _choose(line, names, function)
    target: ast.expr
    if isinstance(line, ast.AugAssign):
        target = line.target
        value: ast.expr = ast.copy_location(ast.BinOp(_loaded(target), line.op, line.value), line)
    elif isinstance(line, ast.Assign):
        target, value = line.targets[0], line.value
    else:
        return None
    assert isinstance(target, ast.Name)
    names.local[target.id] = (_translated(value, names, function), kind_of(value, names))
    return None


def _choose(line: ast.If, names: Names, function: FunctionType) -> None:
    """Variables that one way or the other of an `if` assigns."""
    condition = _translated(line.test, names, function)
    ways = [names.inner(), names.inner()]
    for way, body in zip(ways, (line.body, line.orelse), strict=True):
        for inner in body:
            _assign(inner, way, function)
    for name in {**ways[0].local, **ways[1].local}:
        if any(name not in way.local for way in ways):
            _refuse(line, function, f"`{name}`, which has a value on one way only")
        (then, kind), (otherwise, other) = ways[0].local[name], ways[1].local[name]
        if then != otherwise:
            names.local[name] = (f"({then} if {condition} else {otherwise})", _one_kind(kind, other))


def _one_kind(kind: Any, other: Any) -> Any:
    if {kind, other} <= {int, float}:
        return kind if kind is other else float
    return kind if kind == other else Any


def _loaded(target: ast.expr) -> ast.expr:
    assert isinstance(target, ast.Name)
    return ast.copy_location(ast.Name(target.id, ast.Load()), target)


def constants_of(function: FunctionType, optional: list[str]) -> Mapping[str, Any]:
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
