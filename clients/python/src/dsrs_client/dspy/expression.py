"""Python expressions over the inputs and outputs of a call, as Jinja expressions.

What Python refuses by an exception fails the expression too: a missing element, `int("3.7")`, `None.lower()`.
"""

from __future__ import annotations

import ast
import json
from typing import Any

from . import expression_calls as _calls
from .annotation import is_enum, is_list, is_text
from .expression_base import FAILS, WRITERS, given, number, unsaid, written
from .expression_names import Names, Untranslated, kind_of

_WRITERS_OF_CALLS = _calls

COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
COMPUTED: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip


def translate(node: ast.expr, names: Names) -> str | Untranslated:
    """The expression, or the part of it that has no counterpart."""
    try:
        return written(node, names)
    except Untranslated as problem:
        return problem


def _constant(node: ast.Constant, names: Names) -> str:
    words = {True: "true", False: "false", None: "none"}
    if isinstance(node.value, (bool, type(None))):
        return words[node.value]
    if not isinstance(node.value, (str, int, float)):
        raise unsaid(node)
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
    owner, kind = written(node.value, names), kind_of(node.value, names)
    if is_enum(kind) and node.attr == "value":
        return owner
    return f"{owner}.{node.attr}"


def _subscript(node: ast.Subscript, names: Names) -> str:
    owner, kind = given(node.value, names), kind_of(node.value, names)
    if isinstance(node.slice, ast.Slice):
        # The server does not find a name that is only before a slice.
        return f"({owner}[{_slice(node.slice, names)}] if {owner} is defined else {FAILS})"
    key = written(node.slice, names)
    if owner in ("inputs", "outputs"):
        return f"{owner}[{key}]"
    index = _index(node.slice)
    if index is not None:
        least = index + 1 if index >= 0 else -index
        element = f"{owner}[{index}]"
        if is_text(kind):
            element = f"{owner}[{index}:{index + 1 if index != -1 else ''}]"
        elif not is_list(kind):
            raise unsaid(node, "of a type that the signature does not declare as a list")
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
        raise unsaid(node)
    return ":".join(written(part, names) if part else "" for part in (node.lower, node.upper))


def _compare(node: ast.Compare, names: Names) -> str:
    sides = [node.left, *node.comparators]
    if any(is_enum(kind) and not is_text(kind) for kind in (kind_of(side, names) for side in sides)):
        raise unsaid(node, "which compares a member of an enum; compare its `.value`")
    pairs = []
    for left, operator, right in zip(sides, node.ops, sides[1:], strict=False):
        if isinstance(operator, (ast.Is, ast.IsNot)):
            if not (isinstance(right, ast.Constant) and right.value is None):
                raise unsaid(node)
            word = "is" if isinstance(operator, ast.Is) else "is not"
            pairs.append(f"{written(left, names)} {word} none")
            continue
        write = given if isinstance(operator, ORDERED) else written
        pairs.append(f"{write(left, names)} {COMPARED[type(operator)]} {write(right, names)}")
    return f"({' and '.join(pairs)})"


def _boolean(node: ast.BoolOp, names: Names) -> str:
    word = " and " if isinstance(node.op, ast.And) else " or "
    return f"({word.join(written(value, names) for value in node.values)})"


def _unary(node: ast.UnaryOp, names: Names) -> str:
    if isinstance(node.op, ast.Not):
        return f"(not {written(node.operand, names)})"
    if not isinstance(node.op, ast.USub):
        raise unsaid(node)
    return f"(-{number(node.operand, names)})"


def _binary(node: ast.BinOp, names: Names) -> str:
    if type(node.op) not in COMPUTED:
        raise unsaid(node)
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        divisor = node.right.value if isinstance(node.right, ast.Constant) else None
        if not isinstance(divisor, (int, float)) or divisor <= 0:
            raise unsaid(node, "which the server computes in another way if the divisor is negative")
    return f"({number(node.left, names)} {COMPUTED[type(node.op)]} {number(node.right, names)})"


def _choice(node: ast.IfExp, names: Names) -> str:
    parts = [written(part, names) for part in (node.body, node.test, node.orelse)]
    return f"({parts[0]} if {parts[1]} else {parts[2]})"


def _list(node: ast.List | ast.Tuple | ast.Set, names: Names) -> str:
    return f"[{', '.join(written(item, names) for item in node.elts)}]"


WRITERS |= {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.Compare: _compare, ast.BoolOp: _boolean, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.IfExp: _choice,
    ast.List: _list, ast.Tuple: _list, ast.Set: _list,
}  # fmt: skip
