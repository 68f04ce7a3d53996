"""Python expressions over the inputs and outputs of a call, as Jinja expressions."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Names:
    """What the names of an expression mean."""

    inputs: str
    outputs: str
    constants: dict[str, Any]
    local: dict[str, str] = field(default_factory=dict)

    def inner(self) -> Names:
        """The same names, for one branch."""
        return Names(self.inputs, self.outputs, self.constants, dict(self.local))


@dataclass
class Untranslated(Exception):
    """A part that has no counterpart."""

    node: ast.AST
    what: str


COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
COMPUTED: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
}  # fmt: skip
FUNCTIONS = {
    "len": "length",
    "abs": "abs",
    "sum": "sum",
    "round": "round",
    "float": "float",
    "int": "int",
    "str": "string",
}
METHODS = {"lower": "lower", "upper": "upper", "strip": "trim", "split": "split", "splitlines": "lines"}
TESTS = {"startswith": "startingwith", "endswith": "endingwith"}


def translate(node: ast.expr, names: Names) -> str | Untranslated:
    """The expression, or the part of it that has no counterpart."""
    try:
        return _expression(node, names)
    except Untranslated as problem:
        return problem


def _expression(node: ast.expr, names: Names) -> str:
    writer: Callable[[Any, Names], str] | None = WRITERS.get(type(node))
    if writer is None:
        raise Untranslated(node, f"`{ast.unparse(node)}`, which no expression of the server can say")
    return writer(node, names)


def _constant(node: ast.Constant, names: Names) -> str:
    words = {True: "true", False: "false", None: "none"}
    if isinstance(node.value, (bool, type(None))):
        return words[node.value]
    return json.dumps(node.value, ensure_ascii=False)


def _name(node: ast.Name, names: Names) -> str:
    if node.id in names.local:
        return names.local[node.id]
    known = {names.inputs: "inputs", names.outputs: "outputs"}
    if node.id in known:
        return known[node.id]
    value = names.constants.get(node.id)
    if isinstance(value, (str, int, float)):
        return _constant(ast.Constant(value), names)
    raise Untranslated(node, f"`{node.id}`, which is neither an input, an output nor a constant")


def _attribute(node: ast.Attribute, names: Names) -> str:
    return f"{_expression(node.value, names)}.{node.attr}"


def _subscript(node: ast.Subscript, names: Names) -> str:
    return f"{_expression(node.value, names)}[{_expression(node.slice, names)}]"


def _slice(node: ast.Slice, names: Names) -> str:
    parts = [_expression(part, names) if part else "" for part in (node.lower, node.upper)]
    return ":".join(parts)


def _compare(node: ast.Compare, names: Names) -> str:
    sides = [_expression(side, names) for side in (node.left, *node.comparators)]
    pairs = []
    for number, operator in enumerate(node.ops):
        if type(operator) not in COMPARED:
            same = "is" if isinstance(operator, ast.Is) else "is not"
            if sides[number + 1] != "none":
                raise Untranslated(node, f"`{ast.unparse(node)}`, which no expression of the server can say")
            pairs.append(f"{sides[number]} {same} none")
            continue
        pairs.append(f"{sides[number]} {COMPARED[type(operator)]} {sides[number + 1]}")
    return f"({' and '.join(pairs)})"


def _boolean(node: ast.BoolOp, names: Names) -> str:
    word = " and " if isinstance(node.op, ast.And) else " or "
    return f"({word.join(_expression(value, names) for value in node.values)})"


def _unary(node: ast.UnaryOp, names: Names) -> str:
    return f"({'not ' if isinstance(node.op, ast.Not) else '-'}{_expression(node.operand, names)})"


def _binary(node: ast.BinOp, names: Names) -> str:
    if type(node.op) not in COMPUTED:
        raise Untranslated(node, f"`{ast.unparse(node)}`, which no expression of the server can say")
    return f"({_expression(node.left, names)} {COMPUTED[type(node.op)]} {_expression(node.right, names)})"


def _choice(node: ast.IfExp, names: Names) -> str:
    parts = [_expression(part, names) for part in (node.body, node.test, node.orelse)]
    return f"({parts[0]} if {parts[1]} else {parts[2]})"


def _list(node: ast.List | ast.Tuple | ast.Set, names: Names) -> str:
    return f"[{', '.join(_expression(item, names) for item in node.elts)}]"


def _call(node: ast.Call, names: Names) -> str:
    arguments = [_expression(argument, names) for argument in node.args]
    if isinstance(node.func, ast.Name) and not node.keywords and arguments:
        name = node.func.id
        if name in ("min", "max"):
            return f"({arguments[0] if len(arguments) == 1 else '[' + ', '.join(arguments) + ']'}|{name})"
        if name in FUNCTIONS:
            return _filtered(arguments[0], FUNCTIONS[name], arguments[1:])
        if name == "bool" and len(arguments) == 1:
            return f"(true if {arguments[0]} else false)"
    if isinstance(node.func, ast.Attribute) and not node.keywords:
        owner, method = _expression(node.func.value, names), node.func.attr
        if method in METHODS and (not arguments or method == "split"):
            return _filtered(owner, METHODS[method], arguments)
        if method in TESTS and len(arguments) == 1:
            return f"({owner} is {TESTS[method]}({arguments[0]}))"
        if method == "get" and len(arguments) == 1:
            return f"{owner}[{arguments[0]}]"
    raise Untranslated(node, f"`{ast.unparse(node)}`, which no expression of the server can say")


def _filtered(value: str, name: str, arguments: list[str]) -> str:
    return f"({value}|{name}{'(' + ', '.join(arguments) + ')' if arguments else ''})"


WRITERS: dict[type[ast.expr], Callable[[Any, Names], str]] = {
    ast.Constant: _constant, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript, ast.Slice: _slice,
    ast.Compare: _compare, ast.BoolOp: _boolean, ast.UnaryOp: _unary, ast.BinOp: _binary, ast.IfExp: _choice,
    ast.List: _list, ast.Tuple: _list, ast.Set: _list, ast.Call: _call,
}  # fmt: skip
