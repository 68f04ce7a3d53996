"""Calls of Python's functions and methods in a translated expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from .annotation import is_enum, is_text, without_null
from .computed import quoted
from .expression_base import FAILS, WRITERS, given, number, unsaid, written
from .expression_names import Names, kind_of
from .pattern import Translation, Unsupported

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
#: how the parts of a comprehension are joined, and what none of them are
JOINED = {"any": (" or ", "false"), "all": (" and ", "true"), "sum": (" + ", "0"), "len": (" + ", "0")}
#: the most constants of a comprehension
MOST = 50
FILTERS = {"len": "length", "abs": "abs", "sum": "sum"}
METHODS = {"lower": "lower", "upper": "upper", "strip": "trim", "split": "split", "splitlines": "lines"}
TESTS = {"startswith": "startingwith", "endswith": "endingwith"}
INTEGER = r"^\\s*[+-]?[0-9]+(_[0-9]+)*\\s*$"


def _call(node: ast.Call, names: Names) -> str:
    if (pattern := _pattern(node, names)) is not None:
        return pattern
    if node.keywords:
        raise unsaid(node)
    if isinstance(node.func, ast.Name) and len(node.args) == 1 and isinstance(node.args[0], COMPREHENSIONS):
        return _of_each(node, node.func.id, node.args[0], names)
    if isinstance(node.func, ast.Name) and node.args:
        return _function(node, node.func.id, names)
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, names)
    raise unsaid(node)


def _pattern(node: ast.Call, names: Names) -> str | None:
    """`re.search` and its relatives, of which only the truth is said."""
    function = node.func
    if not (isinstance(function, ast.Attribute) and function.attr in ("search", "match", "fullmatch")):
        return None
    if not isinstance(function.value, ast.Name) or names.constants.get(function.value.id) is not re:
        return None
    try:
        pattern, text = node.args[0], node.args[1]
        flags = _flags(node.args[2:])
        found = names.constants.get(pattern.id) if isinstance(pattern, ast.Name) else ast.literal_eval(pattern)
        made = getattr(Translation(str(found), flags), function.attr)()
    except (Unsupported, IndexError, ValueError, TypeError) as problem:
        raise unsaid(node, f"which has {problem}") from None
    return f"({given(text, names)} is matching({quoted(made)}))"


def _flags(given_flags: list[ast.expr]) -> int:
    """`re.I` or `re.I | re.M`."""
    found = 0
    for part in given_flags:
        names = [inner.attr for inner in ast.walk(part) if isinstance(inner, ast.Attribute)]
        for name in names:
            found |= int(getattr(re, name))
    return found


def _of_each(node: ast.Call, name: str, made: ast.ListComp | ast.GeneratorExp, names: Names) -> str:
    """`any`, `all`, `sum` and `len` over constants: each of them in turn."""
    loop = made.generators[0]
    if name not in JOINED or len(made.generators) > 1 or not isinstance(loop.target, ast.Name):
        raise unsaid(node)
    parts = []
    for constant in _constants_of(loop.iter, names, node):
        inner = names.inner()
        inner.local[loop.target.id] = (written(ast.Constant(constant), names), type(constant))
        tests = [written(test, inner) for test in loop.ifs]
        value = written(made.elt, inner) if name in ("any", "all") else number(made.elt, inner)
        value = "1" if name == "len" else value
        parts.append(_taken(value, tests, name))
    joined, empty = JOINED[name]
    whole = f"({joined.join(parts)})" if parts else empty
    return f"(true if {whole} else false)" if name in ("any", "all") else whole


def _taken(value: str, tests: list[str], name: str) -> str:
    """An element that is counted only where tests are true."""
    if not tests:
        return value
    condition = " and ".join(tests)
    otherwise = {"any": "false", "all": "true"}.get(name, "0")
    return f"({value} if {condition} else {otherwise})"


def _constants_of(node: ast.expr, names: Names, call: ast.Call) -> list[Any]:
    """The constants that a comprehension goes through."""
    if isinstance(node, ast.Name) and node.id in names.constants and node.id not in names.local:
        found = names.constants[node.id]
    else:
        try:
            found = ast.literal_eval(node)
        except ValueError:
            raise unsaid(call, "which goes through values of the run") from None
    is_short = isinstance(found, (list, tuple, set, frozenset)) and len(found) <= MOST
    if not is_short or not all(isinstance(each, (str, int, float)) for each in found):
        raise unsaid(call, f"which goes through something else than at most {MOST} texts or numbers")
    return sorted(found) if isinstance(found, (set, frozenset)) else list(found)


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
