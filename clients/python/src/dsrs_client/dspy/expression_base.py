"""What all parts of a translated expression share: how one is written, what fails it, and what has no counterpart."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from .annotation import may_be_none
from .expression_names import Names, Untranslated, kind_of

#: an expression that fails as Python's exception does
FAILS = "('no value'|int)"
Writer = Callable[[Any, Names], str]
#: how each kind of expression is written
WRITERS: dict[type[ast.expr], Writer] = {}


def written(node: ast.expr, names: Names) -> str:
    """The expression in Jinja."""
    writer = WRITERS.get(type(node))
    if writer is None:
        raise unsaid(node)
    return writer(node, names)


def given(node: ast.expr, names: Names) -> str:
    """A value that is not `None`: Python fails where it is."""
    text = written(node, names)
    return f"({text} if {text} is not none else {FAILS})" if may_be_none(kind_of(node, names)) else text


def number(node: ast.expr, names: Names) -> str:
    """An operand: Python computes with `True` as with 1."""
    text = given(node, names)
    return f"(1 if {text} else 0)" if kind_of(node, names) is bool else text


def unsaid(node: ast.AST, why: str = "which no expression of the server can say") -> Untranslated:
    """The problem of a part that has no counterpart."""
    return Untranslated(node, f"`{ast.unparse(node)}`, {why}")
