"""Python expressions over the inputs and outputs of a call, as Jinja expressions.

What Python refuses by an exception fails the expression too: a missing element, `int("3.7")`, `None.lower()`.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from typing import Any

from .annotation import is_enum, is_list, is_text, may_be_none, without_null
from .expression_names import Names, Untranslated, kind_of

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
COMPUTED: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
FILTERS = {"len": "length", "abs": "abs", "sum": "sum"}
METHODS = {"lower": "lower", "upper": "upper", "strip": "trim", "split": "split", "splitlines": "lines"}
TESTS = {"startswith": "startingwith", "endswith": "endingwith"}
#: an expression that fails as Python's exception does
FAILS = "('no value'|int)"
INTEGER = r"^\\s*[+-]?[0-9]+(_[0-9]+)*\\s*$"


def translate(node: ast.expr, names: Names) -> str | Untranslated:
    """The expression, or the part of it that has no counterpart."""
    try:
        return _expression(node, names)
    except Untranslated as problem:
        return problem


def _expression(node: ast.expr, names: Names) -> str:
    writer: Callable[[Any, Names], str] | None = WRITERS.get(type(node))
    if writer is None:
        raise _unsaid(node)
    return writer(node, names)


def _unsaid(node: ast.AST, why: str = "which no expression of the server can say") -> Untranslated:
    return Untranslated(node, f"`{ast.unparse(node)}`, {why}")


def _constant(node: ast.Constant, names: Names) -> str:
    words = {True: "true", False: "false", None: "none"}
    if isinstance(node.value, (bool, type(None))):
        return words[node.value]
    if not isinstance(node.value, (str, int, float)):
        raise _unsaid(node)
    return json.dumps(node.value, ensure_ascii=False)


def _name(node: ast.Name, names: Names) -> str:
    if node.id in names.local:
        return names.local[node.id][0]
    known = {names.inputs: "inputs", names.outputs: "outputs"}
    if node.id in known:
        return known[node.id]
    if node.id in names.constants:
        return _value(names.constants[node.id], node, names)
    raise Untranslated(node, f"`{node.id}`, which is neither an input, an output nor a constant")


def _value(value: Any, node: ast.Name, names: Names) -> str:
    """A constant of the module or of the function around the reward."""
    if isinstance(value, (list, tuple, set, frozenset)):
        return f"[{', '.join(_value(item, node, names) for item in value)}]"
    if isinstance(value, (str, int, float, type(None))) and not is_enum(type(value)):
        return _constant(ast.Constant(value), names)
    raise Untranslated(node, f"`{node.id}`, which is neither an input, an output nor a constant")


def _attribute(node: ast.Attribute, names: Names) -> str:
    owner, kind = _expression(node.value, names), kind_of(node.value, names)
    if is_enum(kind) and node.attr == "value":
        return owner
    return f"{owner}.{node.attr}"


def _subscript(node: ast.Subscript, names: Names) -> str:
    owner, kind = _given(node.value, names), kind_of(node.value, names)
    if isinstance(node.slice, ast.Slice):
        # The server does not find a name that is only before a slice.
        return f"({owner}[{_slice(node.slice, names)}] if {owner} is defined else {FAILS})"
    key = _expression(node.slice, names)
    if owner in ("inputs", "outputs"):
        return f"{owner}[{key}]"
    index = _index(node.slice)
    if index is not None:
        least = index + 1 if index >= 0 else -index
        element = f"{owner}[{index}]"
        if is_text(kind):
            element = f"{owner}[{index}:{index + 1 if index != -1 else ''}]"
        elif not is_list(kind):
            raise _unsaid(node, "of a type that the signature does not declare as a list")
        return f"({element} if {owner}|length >= {least} else {FAILS})"
    return f"({owner}[{key}] if {key} in {owner} else {FAILS})"


def _index(node: ast.expr) -> int | None:
    """The place that a constant index names."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _slice(node: ast.Slice, names: Names) -> str:
    if node.step is not None:
        raise _unsaid(node)
    return ":".join(_expression(part, names) if part else "" for part in (node.lower, node.upper))


def _compare(node: ast.Compare, names: Names) -> str:
    sides = [node.left, *node.comparators]
    if any(is_enum(kind) and not is_text(kind) for kind in (kind_of(side, names) for side in sides)):
        raise _unsaid(node, "which compares a member of an enum; compare its `.value`")
    pairs = []
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        if isinstance(operator, (ast.Is, ast.IsNot)):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise _unsaid(node)
            word = "is" if isinstance(operator, ast.Is) else "is not"
            pairs.append(f"{_expression(left, names)} {word} none")
            continue
        write = _given if isinstance(operator, ORDERED) else _expression
        pairs.append(f"{write(left, names)} {COMPARED[type(operator)]} {write(right, names)}")
    return f"({' and '.join(pairs)})"


def _boolean(node: ast.BoolOp, names: Names) -> str:
    word = " and " if isinstance(node.op, ast.And) else " or "
    return f"({word.join(_expression(value, names) for value in node.values)})"


def _unary(node: ast.UnaryOp, names: Names) -> str:
    if isinstance(node.op, ast.Not):
        return f"(not {_expression(node.operand, names)})"
    if not isinstance(node.op, ast.USub):
        raise _unsaid(node)
    return f"(-{_number(node.operand, names)})"


def _binary(node: ast.BinOp, names: Names) -> str:
    if type(node.op) not in COMPUTED:
        raise _unsaid(node)
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        divisor = node.right.value if isinstance(node.right, ast.Constant) else None
        if not isinstance(divisor, (int, float)) or divisor <= 0:
            raise _unsaid(node, "which the server computes in another way if the divisor is negative")
    return f"({_number(node.left, names)} {COMPUTED[type(node.op)]} {_number(node.right, names)})"


def _number(node: ast.expr, names: Names) -> str:
    """An operand: Python computes with `True` as with 1."""
    text = _given(node, names)
    return f"(1 if {text} else 0)" if kind_of(node, names) is bool else text


def _given(node: ast.expr, names: Names) -> str:
    """A value that is not `None`: Python fails where it is."""
    text = _expression(node, names)
    return f"({text} if {text} is not none else {FAILS})" if may_be_none(kind_of(node, names)) else text


def _choice(node: ast.IfExp, names: Names) -> str:
    parts = [_expression(part, names) for part in (node.body, node.test, node.orelse)]
    return f"({parts[0]} if {parts[1]} else {parts[2]})"


def _list(node: ast.List | ast.Tuple | ast.Set, names: Names) -> str:
    return f"[{', '.join(_expression(item, names) for item in node.elts)}]"


def _call(node: ast.Call, names: Names) -> str:
    if node.keywords:
        raise _unsaid(node)
    if isinstance(node.func, ast.Name) and node.args:
        return _function(node, node.func.id, names)
    if isinstance(node.func, ast.Attribute):
        return _method(node, node.func, names)
    raise _unsaid(node)


def _function(node: ast.Call, name: str, names: Names) -> str:
    first, kind = _given(node.args[0], names), kind_of(node.args[0], names)
    if name in ("min", "max"):
        several = f"[{', '.join(_number(argument, names) for argument in node.args)}]"
        return f"({first if len(node.args) == 1 else several}|{name})"
    if len(node.args) > 1:
        raise _unsaid(node)
    if name == "bool":
        return f"(true if {_expression(node.args[0], names)} else false)"
    if name in FILTERS:
        return f"({first}|{FILTERS[name]})"
    converted = CONVERTED.get(name)
    if converted is None:
        raise _unsaid(node)
    return converted(node, first, without_null(kind))


def _as_int(node: ast.Call, value: str, kind: Any) -> str:
    if is_text(kind):
        return f"({value}|trim|replace('_', '')|int if {value} is matching(\"{INTEGER}\") else {FAILS})"
    if kind in (int, float):
        return f"({value}|int)"
    if kind is bool:
        return f"(1 if {value} else 0)"
    raise _unsaid(node, "of a type that the signature does not declare")


def _as_float(node: ast.Call, value: str, kind: Any) -> str:
    if kind is bool:
        return f"(1.0 if {value} else 0.0)"
    return f"({value}|trim|float)" if is_text(kind) else f"({value}|float)"


def _as_text(node: ast.Call, value: str, kind: Any) -> str:
    if is_text(kind) and not is_enum(kind):
        return value
    if kind is int:
        return f"({value}|string)"
    raise _unsaid(node, "which the server writes in another notation")


CONVERTED: dict[str, Callable[[ast.Call, str, Any], str]] = {"int": _as_int, "float": _as_float, "str": _as_text}


def _method(node: ast.Call, function: ast.Attribute, names: Names) -> str:
    owner, method = _given(function.value, names), function.attr
    arguments = [_expression(argument, names) for argument in node.args]
    if method in METHODS and (not arguments or method == "split"):
        return f"({owner}|{METHODS[method]}{'(' + ', '.join(arguments) + ')' if arguments else ''})"
    if method in TESTS and len(arguments) == 1:
        texts = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args
        tests = [f"{owner} is {TESTS[method]}({_expression(text, names)})" for text in texts]
        return f"({' or '.join(tests)})" if tests else "false"
    if method == "get" and len(arguments) in (1, 2):
        otherwise = arguments[1] if len(arguments) == 2 else "none"
        return f"({owner}[{arguments[0]}] if {arguments[0]} in {owner} else {otherwise})"
    raise _unsaid(node)


WRITERS: dict[type[ast.expr], Callable[[Any, Names], str]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.Compare: _compare, ast.BoolOp: _boolean, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.IfExp: _choice,
    ast.List: _list, ast.Tuple: _list, ast.Set: _list, ast.Call: _call,
}  # fmt: skip
