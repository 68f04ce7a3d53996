"""Sends what a trace has to see through hooks: texts, calls, tests, attributes, loops, `try`, `with` and `match`."""

from __future__ import annotations

import ast
from typing import Any

from . import loop_code, try_code
from .moved_code import HOOKS, is_hook

UNTOUCHED = {"super", "locals", "globals", "vars", "eval", "exec", "dir"}
#: the methods of a logger that write a message, and functions of Python that change nothing
LEVELS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}
PLAIN = {"str", "repr", "len", "type", "sorted", "list", "round", "sum", "min", "max"}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Is: "same", ast.IsNot: "same", ast.In: "contains", ast.NotIn: "contains",
}  # fmt: skip


class Rewriter(ast.NodeTransformer):
    def __init__(self, owner: str | None) -> None:
        self.owner = owner
        self.moved = 0

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
        if is_hook(node.func):
            node.args = [self.visit(argument) for argument in node.args]
            return node
        if isinstance(node.func, ast.Name) and node.func.id in UNTOUCHED:
            return self.generic_visit(node)
        if is_message(node):
            return self._message(node)
        self.generic_visit(node)
        call = self._hook(node, "call", [node.func, *node.args])
        call.keywords = node.keywords
        return call

    def _message(self, node: ast.Call) -> ast.AST:
        """A message for people, whose parts are only made where it is written."""
        self.generic_visit(node)
        values: list[ast.expr] = [ast.Tuple(node.args, ast.Load())]
        names: list[ast.expr | None] = [ast.Constant(keyword.arg) for keyword in node.keywords]
        values.append(ast.Dict(names, [keyword.value for keyword in node.keywords]))
        return self._hook(node, "written", [node.func, *(ast.Lambda(arguments_of([]), value) for value in values)])

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.left = self._known(node.left)
        node.comparators = [self._known(side) for side in node.comparators]
        hook = COMPARED.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if hook is None:
            return node
        negated = ast.Constant(isinstance(node.ops[0], (ast.IsNot, ast.NotIn)))
        return self._hook(node, hook, [node.left, node.comparators[0], negated])

    def _handled(self, node: Any) -> Any:
        self.generic_visit(node)
        if node.handlers:
            caught = ast.withitem(self._hook(node, "caught", []))
            node.body = [ast.copy_location(ast.With([caught], node.body), node)]
        return node

    visit_TryStar = _handled

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = self._hook(item.context_expr, "entered", [item.context_expr])
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        is_plain = all(_compares(case.pattern) for case in node.cases)
        self.generic_visit(node)
        if not is_plain:
            node.subject = self._hook(node, "matched", [node.subject])
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Patterns are no expressions."""
        node.guard = self.visit(node.guard) if node.guard is not None else None
        node.body = [self.visit(line) for line in node.body]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehension(node, "mapped")

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp, hook: str) -> ast.AST:
        """A comprehension over one list, by functions of an element: what it makes, and whether it takes it."""
        self.generic_visit(node)
        loop = node.generators[0]
        names = _names_of(loop.target)
        if len(node.generators) > 1 or loop.is_async or names is None:
            return node
        functions: list[ast.expr] = [ast.Lambda(arguments_of([ast.arg(name) for name in names]), node.elt)]
        if loop.ifs:
            test = ast.BoolOp(ast.And(), loop.ifs) if len(loop.ifs) > 1 else loop.ifs[0]
            functions.append(ast.Lambda(arguments_of([ast.arg(name) for name in names]), test))
        functions = [ast.copy_location(function, node) for function in functions]
        is_tuple = ast.Constant(isinstance(loop.target, ast.Tuple))
        return self._hook(node, hook, [loop.iter, is_tuple, *functions])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if self.owner and node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = f"_{self.owner.lstrip('_')}{node.attr}"
        if not isinstance(node.ctx, ast.Load):
            return node
        return self._hook(node, "attribute", [node.value, ast.Constant(node.attr)])

    def _hook(self, at: ast.AST, name: str, arguments: list[ast.expr]) -> ast.Call:
        function = ast.Attribute(ast.Name(HOOKS, ast.Load()), name, ast.Load())
        call = ast.copy_location(ast.Call(function, arguments, []), at)
        # Of a call over several lines, Python reports the line on which its function ends.
        for part in (function, function.value):
            ast.copy_location(part, call)
            part.end_lineno, part.end_col_offset = call.lineno, call.col_offset + 1
        return call

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        key = node.slice
        if isinstance(key, ast.Slice):
            limits = [limit or ast.Constant(None) for limit in (key.lower, key.upper, key.step)]
            key = ast.Call(ast.Name("slice", ast.Load()), limits, [])
        return self._hook(node, "item", [node.value, key])

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return self._hook(node, "modulo", [node.left, node.right]) if isinstance(node.op, ast.Mod) else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        node.values = [self._known(value) for value in node.values]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Not):
            node.operand = self._known(node.operand)
        return node

    def _tested(self, node: ast.If | ast.IfExp | ast.While | ast.Assert) -> ast.AST:
        self.generic_visit(node)
        node.test = self._known(node.test)
        return node

    visit_If = visit_IfExp = visit_Assert = _tested

    def visit_While(self, node: ast.While) -> ast.AST:
        if not loop_code.is_callable_while(node):
            return self._tested(node)
        self.moved += 1
        return loop_code.callable_while(node, self.moved, self._visited, self._tested)

    def _iterated(self, node: ast.For | ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = self._known(node.iter)
        return node

    visit_comprehension = _iterated

    def visit_For(self, node: ast.For) -> Any:
        if not loop_code.is_callable(node):
            self.generic_visit(node)
            node.iter = self._known(node.iter)
            return node
        self.moved += 1
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        return loop_code.callable_loop(node, self.moved, self._visited)

    def visit_Try(self, node: ast.Try) -> Any:
        if not try_code.is_callable(node):
            return self._handled(node)
        self.moved += 1
        return try_code.callable_try(node, self.moved, self._visited, self._handled)

    def _visited(self, lines: list[ast.stmt]) -> list[ast.stmt]:
        """Statements with hooks; one may become several."""
        found: list[ast.stmt] = []
        for line in lines:
            made = self.visit(line)
            found += made if isinstance(made, list) else [made]
        return found

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehension(node, "generated")

    def _known(self, node: ast.expr) -> ast.expr:
        return self._hook(node, "known", [node])


def is_message(node: ast.Call) -> bool:
    """Whether a call may be `print` or a logger's, and its arguments call nothing but Python's own functions."""
    function = node.func
    named = isinstance(function, ast.Name) and function.id == "print"
    if not named and not (isinstance(function, ast.Attribute) and function.attr in LEVELS):
        return False
    parts = [part for argument in [*node.args, *node.keywords] for part in ast.walk(argument)]
    if any(isinstance(part, (ast.NamedExpr, ast.Await, ast.Yield, ast.Starred)) for part in parts):
        return False
    calls = [part.func for part in parts if isinstance(part, ast.Call)]
    return all(isinstance(called, ast.Name) and called.id in PLAIN for called in calls) and not any(
        keyword.arg is None for keyword in node.keywords
    )


def _names_of(target: ast.expr) -> list[str] | None:
    """The variables of a comprehension: one, or those of a tuple."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple) and all(isinstance(part, ast.Name) for part in target.elts):
        return [part.id for part in target.elts if isinstance(part, ast.Name)]
    return None


def _compares(pattern: ast.pattern) -> bool:
    """Whether a pattern is `==` with a constant, or fits always. `None`, `True` and `False` use `is`."""
    if isinstance(pattern, ast.MatchOr):
        return all(_compares(each) for each in pattern.patterns)
    return isinstance(pattern, ast.MatchValue) or (isinstance(pattern, ast.MatchAs) and pattern.pattern is None)


def arguments_of(parameters: list[ast.arg]) -> ast.arguments:
    """Parameters without defaults."""
    return ast.arguments(posonlyargs=[], args=parameters, kwonlyargs=[], kw_defaults=[], defaults=[])
