"""Statements of a program as a function within it, which assigns the variables of the one around it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

HOOKS = "__dsrs_hooks__"
#: what a function within a function would see otherwise
SCOPED = {"super", "locals", "globals", "vars", "eval", "exec", "dir"}
_BOUND = (ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete)
_OWN_SCOPE = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
#: where statements have statements
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
Part = TypeVar("Part", bound=ast.AST)

_READ = """
    try:
        state["{0}"] = {0}
    except NameError:
        pass"""
_WRITE = """
    if "{0}" in state:
        {0} = state["{0}"]"""
_STATE = """
def __dsrs_read_{number}():
    state = {{}}{reads}
    return state
def __dsrs_write_{number}(state):
    {declared}{writes}
"""


def is_movable(lines: Sequence[ast.AST], of_loop: bool = False) -> bool:
    """Whether statements mean the same in a function of their own."""
    parts = [part for line in lines for part in ast.walk(line)]
    is_bound = any(isinstance(part, _BOUND) or (isinstance(part, ast.Name) and part.id in SCOPED) for part in parts)
    return not is_bound and (of_loop or not jumps(list(lines), (ast.Break, ast.Continue)))


def jumps(lines: Sequence[ast.AST], kinds: tuple[type[ast.stmt], ...]) -> bool:
    """Whether statements leave the loop around them."""
    for line in lines:
        if isinstance(line, kinds):
            return True
        if isinstance(line, (ast.For, ast.While)):
            if jumps(line.orelse, kinds):
                return True
            continue
        if isinstance(line, (ast.FunctionDef, ast.ClassDef)):
            continue
        inner = [part for name in BLOCKS for part in getattr(line, name, [])]
        if not isinstance(line, ast.expr) and jumps(inner, kinds):
            return True
    return False


def assigned_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The variables that code assigns in its own scope."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, _OWN_SCOPE):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        if isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        found |= assigned_names(list(ast.iter_child_nodes(node)))
    return {name for name in found if not name.startswith("__dsrs_")}


def state_functions(names: Sequence[str], number: int) -> str:
    """Functions that read and write the variables."""
    reads, writes = ("".join(map(form.format, names)) for form in (_READ, _WRITE))
    return _STATE.format(number=number, reads=reads, writes=writes, declared=declared(names))


def declared(names: Sequence[str]) -> str:
    """The variables as those of the function around."""
    return f"nonlocal {', '.join(names)}" if names else "pass"


def parsed_at(source: str, at: ast.stmt) -> list[ast.stmt]:
    """Statements, at the line of another one."""
    made = ast.parse(source).body
    for line in made:
        for part in ast.walk(line):
            if hasattr(part, "lineno"):
                ast.copy_location(part, at)
                part.end_lineno, part.end_col_offset = at.lineno, at.col_offset + 1  # type: ignore[attr-defined]
    return made


class Ends(ast.NodeTransformer):
    """`return` of statements that are a function of their own, and `continue` and `break` of the loop that they are."""

    def __init__(self, hook: str, of_loop: bool) -> None:
        self.hook, self.of_loop = hook, of_loop

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return self._jump(node, None)

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return self._jump(node, "break")

    def _jump(self, node: ast.stmt, value: str | None) -> ast.AST:
        return ast.copy_location(ast.Return(ast.Constant(value)), node) if self.of_loop else node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        value = node.value or ast.Constant(None)
        return ast.copy_location(ast.Return(ast.Call(hook(self.hook), [value], [])), node)

    def _loop(self, node: ast.For | ast.While) -> ast.AST:
        """A loop within has its own `continue` and `break`."""
        inner = Ends(self.hook, False)
        node.body = [inner.visit(line) for line in node.body]
        node.orelse = [self.visit(line) for line in node.orelse]
        return node

    visit_For = visit_While = _loop

    def _function(self, node: Part) -> Part:
        return node

    visit_FunctionDef = visit_Lambda = visit_ClassDef = _function


def hook(name: str) -> ast.Attribute:
    """A hook of the trace."""
    return ast.Attribute(ast.Name(HOOKS, ast.Load()), name, ast.Load())


def is_hook(function: ast.expr) -> bool:
    """Whether a function is a hook already."""
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == HOOKS
