"""Calls of Python's functions and methods in a translated expression."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .annotation import is_enum, is_text, without_null
from .expression_base import FAILS, WRITERS, given, number, unsaid, written
from .expression_names import Names, kind_of

FILTERS = {"len": "length", "abs": "abs", "sum": "sum"}
METHODS = {"lower": "lower", "upper": "upper", "strip": "trim", "split": "split", "splitlines": "lines"}
TESTS = {"startswith": "startingwith", "endswith": "endingwith"}
INTEGER = r"^\\s*[+-]?[0-9]+(_[0-9]+)*\\s*$"


def _call(node: ast.Call, names: Names) -> str:
    if node.keywords:
        raise unsaid(node)
    if isinstance(node.func, ast.Name) and node.args:
        return _function(node, node.func.id, names)
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, names)
    raise unsaid(node)


def _function(node: ast.Call, name: str, names: Names) -> str:
    first, kind = given(node.args[0], names), kind_of(node.args[0], names)
    if name in ("min", "max"):
        several = f"[{', '.join(number(argument, names) for argument in node.args)}]"
        return f"({first if len(node.args) == 1 else several}|{name})"
    if len(node.args) > 1:
        raise unsaid(node)
    if name == "bool":
        return f"(true if {written(node.args[0], names)} else false)"
    if name in FILTERS:
        return f"({first}|{FILTERS[name]})"
    converted = CONVERTED.get(name)
    if converted is None:
        raise unsaid(node)
    return converted(node, first, without_null(kind))


def _as_int(node: ast.Call, value: str, kind: Any) -> str:
    if is_text(kind):
        return f"({value}|trim|replace('_', '')|int if {value} is matching(\"{INTEGER}\") else {FAILS})"
    if kind in (int, float):
        return f"({value}|int)"
    if kind is bool:
        return f"(1 if {value} else 0)"
    raise unsaid(node, "of a type that the signature does not declare")


def _as_float(node: ast.Call, value: str, kind: Any) -> str:
    if kind is bool:
        return f"(1.0 if {value} else 0.0)"
    return f"({value}|trim|float)" if is_text(kind) else f"({value}|float)"


def _as_text(node: ast.Call, value: str, kind: Any) -> str:
    if is_text(kind) and not is_enum(kind):
        return value
    if kind is int:
        return f"({value}|string)"
    raise unsaid(node, "which the server writes in another notation")


CONVERTED: dict[str, Callable[[ast.Call, str, Any], str]] = {"int": _as_int, "float": _as_float, "str": _as_text}


def _method(node: ast.Call, function: ast.Attribute, names: Names) -> str:
    owner, method = given(function.value, names), function.attr
    arguments = [written(argument, names) for argument in node.args]
    if method in METHODS and (not arguments or method == "split"):
        return f"({owner}|{METHODS[method]}{'(' + ', '.join(arguments) + ')' if arguments else ''})"
    if method in TESTS and len(arguments) == 1:
        texts = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args
        tests = [f"{owner} is {TESTS[method]}({written(text, names)})" for text in texts]
        return f"({' or '.join(tests)})" if tests else "false"
    if method == "get" and len(arguments) in (1, 2):
        otherwise = arguments[1] if len(arguments) == 2 else "none"
        return f"({owner}[{arguments[0]}] if {arguments[0]} in {owner} else {otherwise})"
    raise unsaid(node)


WRITERS[ast.Call] = _call
