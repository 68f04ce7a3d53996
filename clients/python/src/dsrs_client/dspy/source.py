"""The syntax tree of a function, at the lines of its file."""

from __future__ import annotations

import ast
import inspect
from types import CodeType

from .place import Place
from .refusal import refuse

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def definition_of(code: CodeType) -> Definition:
    """The `def` or the `lambda` that a code object was compiled from."""
    found = [node for node in ast.walk(_tree(code)) if _is(node, code)]
    if len(found) > 1:
        found = [node for node in found if _surrounds(node, code)]
    if len(found) == 1:
        return found[0]  # type: ignore[return-value]
    place = Place(code.co_filename, code.co_firstlineno)
    several = "shares its line with another one" if found else "is not available; put the program into a file"
    refuse(f"the source of `{code.co_name}` {several}", None, place)


def _tree(code: CodeType) -> ast.AST:
    try:
        lines, _ = inspect.findsource(code)
        return ast.parse("".join(lines))
    except (OSError, SyntaxError):
        return ast.Module([], [])


def _is(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    return node.name == code.co_name and code.co_firstlineno in (_first_line(node), node.lineno)


def _surrounds(node: ast.AST, code: CodeType) -> bool:
    """Whether a `lambda` is where the code is in its line. Python 3.10 does not say."""
    if not isinstance(node, ast.Lambda) or not hasattr(code, "co_positions"):
        return False
    body = node.body
    start, end = (body.lineno, body.col_offset), (body.end_lineno or 0, body.end_col_offset or 0)
    places = [
        ((line, column), (last, after))
        for line, last, column, after in code.co_positions()
        if line and last and column is not None and after and after > column
    ]
    return bool(places) and (min(first for first, _ in places), max(last for _, last in places)) == (start, end)


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
