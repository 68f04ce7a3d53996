"""A function with its f-strings, calls and `is` comparisons sent through hooks, so that none of them passes unseen."""

from __future__ import annotations
import __future__

import ast
from types import CellType, CodeType, FunctionType
from typing import Any

from .source import definition_of

HOOKS = "__dsrs_hooks__"
UNTOUCHED = {"super", "locals", "globals", "vars", "eval", "exec", "dir"}
FUTURE = sum(getattr(__future__, name).compiler_flag for name in ("annotations",))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, owner: str | None) -> None:
        self.owner = owner

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        parts: list[ast.expr] = []
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                spec = self.visit(part.format_spec) if part.format_spec is not None else ast.Constant("")
                conversion = ast.Constant(part.conversion)
                parts.append(ast.Tuple([self.visit(part.value), conversion, spec], ast.Load()))
            else:
                parts.append(part)
        return self._hook(node, "joined", parts)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id in UNTOUCHED:
            return self.generic_visit(node)
        self.generic_visit(node)
        call = self._hook(node, "call", [node.func, *node.args])
        call.keywords = node.keywords
        return call

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            negated = ast.Constant(isinstance(node.ops[0], ast.IsNot))
            return self._hook(node, "same", [node.left, node.comparators[0], negated])
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        self.generic_visit(node)
        if not node.handlers:
            return node
        begin = ast.Expr(self._hook(node, "try_begins", []))
        end = ast.Expr(self._hook(node, "try_ends", []))
        return ast.copy_location(ast.Try([begin, node], [], [], [end]), node)

    def visit_Match(self, node: ast.Match) -> ast.AST:
        self.generic_visit(node)
        node.subject = self._hook(node, "matched", [node.subject])
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        loop = node.generators[0]
        if len(node.generators) > 1 or loop.ifs or loop.is_async or not isinstance(loop.target, ast.Name):
            return node
        body = ast.Lambda(_arguments([ast.arg(loop.target.id)]), node.elt)
        return self._hook(node, "mapped", [loop.iter, ast.copy_location(body, node)])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if self.owner and node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = f"_{self.owner.lstrip('_')}{node.attr}"
        return node

    def _hook(self, at: ast.AST, name: str, arguments: list[ast.expr]) -> ast.Call:
        function = ast.Attribute(ast.Name(HOOKS, ast.Load()), name, ast.Load())
        return ast.copy_location(ast.Call(function, arguments, []), at)


def rewritten(function: FunctionType, hooks: Any) -> FunctionType:
    """The same function, at the same lines, with the hooks in it."""
    code = function.__code__
    definition = definition_of(code)
    if isinstance(definition, ast.Lambda):
        return function
    _strip(definition)
    owner = function.__qualname__.rsplit(".", 2)[-2] if function.__qualname__.count(".") else None
    definition = _Rewriter(None if owner == "<locals>" else owner).visit(definition)
    parameters = [ast.arg(name) for name in (*code.co_freevars, HOOKS)]
    returned = ast.Return(ast.Name(definition.name, ast.Load()))
    outer = ast.FunctionDef("outer", _arguments(parameters), [definition, returned], [])
    if hasattr(outer, "type_params"):
        outer.type_params = []
    module = ast.fix_missing_locations(ast.Module([outer], []))
    compiled = compile(module, code.co_filename, "exec", code.co_flags & FUTURE, True)
    return _assembled(function, _inner(_inner(compiled, "outer"), definition.name), hooks)


def _assembled(function: FunctionType, code: CodeType, hooks: Any) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[HOOKS] = CellType(hooks)
    closure = tuple(cells[name] for name in code.co_freevars)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _strip(node: ast.FunctionDef) -> None:
    node.decorator_list, node.returns = [], None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    for argument in arguments:
        if argument is not None:
            argument.annotation = None


def _arguments(parameters: list[ast.arg]) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])


def _inner(code: CodeType, name: str) -> CodeType:
    return next(const for const in code.co_consts if isinstance(const, CodeType) and const.co_name == name)
