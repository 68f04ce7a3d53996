"""The syntax tree of a function, at the lines of its file."""

from __future__ import annotations

import ast
import inspect
from types import CodeType

from .place import Place
from .refusal import refuse


def definition_of(code: CodeType) -> ast.FunctionDef | ast.Lambda:
    """The `def` or the `lambda` that a code object was compiled from."""
    found = [node for node in ast.walk(_tree(code)) if _is(node, code)]
    if len(found) == 1 and isinstance(found[0], (ast.FunctionDef, ast.Lambda)):
        return found[0]
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
    return isinstance(node, ast.FunctionDef) and node.name == code.co_name and _first_line(node) == code.co_firstlineno


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
