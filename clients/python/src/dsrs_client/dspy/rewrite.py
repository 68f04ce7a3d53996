"""A function with its f-strings, calls and comparisons sent through hooks, so that none of them passes unseen."""

from __future__ import annotations
import __future__

import ast
from types import CellType, CodeType, FunctionType
from typing import Any

from .moved_code import HOOKS
from .rewriter import Rewriter, arguments_of
from .source import definition_of

FUTURE = sum(getattr(__future__, name).compiler_flag for name in ("annotations",))


def rewritten(function: FunctionType, hooks: Any) -> FunctionType:
    """The same function, at the same lines, with the hooks in it."""
    code = function.__code__
    definition = definition_of(code)
    _strip(definition)
    owner = function.__qualname__.rsplit(".", 2)[-2] if function.__qualname__.count(".") else None
    definition = Rewriter(None if owner == "<locals>" else owner).visit(definition)
    parameters = [ast.arg(name) for name in (*code.co_freevars, HOOKS)]
    is_lambda = isinstance(definition, ast.Lambda)
    returned = ast.Return(definition if is_lambda else ast.Name(definition.name, ast.Load()))
    body = [returned] if is_lambda else [definition, returned]
    outer = ast.FunctionDef("outer", arguments_of(parameters), body, [])
    if hasattr(outer, "type_params"):
        outer.type_params = []
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & FUTURE, True)
    return _assembled(function, _inner(_inner(compiled, "outer"), code.co_name), hooks)


def _assembled(function: FunctionType, code: CodeType, hooks: Any) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _strip(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
    if not isinstance(node, ast.Lambda):
        node.decorator_list, node.returns = [], None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    for argument in arguments:
        if argument is not None:
            argument.annotation = None


def _inner(code: CodeType, name: str) -> CodeType:
    return next(const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == name)
