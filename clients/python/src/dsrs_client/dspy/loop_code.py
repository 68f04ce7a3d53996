"""A loop of a program in two forms: by calls of its body, each of which is a round of one node, and as it was."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from .moved_code import Ends, assigned_names, declared, hook, is_movable, jumps, parsed_at, state_functions

Visit = Callable[[list[ast.stmt]], list[ast.stmt]]

_SOURCE = """
__dsrs_values_{number} = None
if __dsrs_hooks__.repeats(__dsrs_values_{number}, {decides}):
    def __dsrs_body_{number}(__dsrs_element):
        {declared}
{state}
    __dsrs_hooks__.looped(__dsrs_values_{number}, __dsrs_body_{number}, __dsrs_read_{number}, __dsrs_write_{number})
"""


def is_callable(node: ast.For) -> bool:
    """Whether the body of a loop means the same in a function of its own."""
    has_names = bool(assigned_names([node.target]))
    return has_names and is_movable([node], True) and not (node.orelse and jumps(node.body, (ast.Break,)))


def callable_loop(node: ast.For, number: int, visit: Visit) -> list[ast.stmt]:
    """Both forms. ``visit`` sends what they do through hooks."""
    names = sorted(assigned_names([node.target, *node.body]))
    state = "\n".join(f"    {line}" for line in state_functions(names, number).splitlines())
    made = parsed_at(
        _SOURCE.format(number=number, decides=decides(node.body), declared=declared(names), state=state), node
    )
    assign, decide = made
    assert isinstance(assign, ast.Assign) and isinstance(decide, ast.If)
    assign.value = node.iter
    function = decide.body[0]
    assert isinstance(function, ast.FunctionDef)
    element = ast.copy_location(ast.Assign([copy.deepcopy(node.target)], ast.Name("__dsrs_element", ast.Load())), node)
    ends = Ends("returned", True)
    moved = visit([ends.visit(copy.deepcopy(line)) for line in node.body])
    function.body = [*function.body, element, *moved]
    decide.body += visit(copy.deepcopy(node.orelse))
    known = ast.Call(hook("known"), [ast.Name(f"__dsrs_values_{number}", ast.Load())], [])
    plain = ast.For(node.target, ast.copy_location(known, node), visit(node.body), visit(node.orelse))
    decide.orelse = [ast.copy_location(plain, node)]
    return [ast.fix_missing_locations(part) for part in made]


def is_callable_while(node: ast.While) -> bool:
    """Whether the body and the test of a `while` mean the same in a function of their own."""
    return is_movable([node], True) and not node.orelse


def callable_while(node: ast.While, number: int, visit: Visit, plain: Callable[[ast.While], ast.AST]) -> ast.stmt:
    """Both forms: rounds that end when the test fails, and the loop as it was."""
    leave = ast.If(ast.UnaryOp(ast.Not(), copy.deepcopy(node.test)), [ast.Break()], [])
    body = [leave, *copy.deepcopy(node.body)]
    rounds = ast.For(ast.Name(f"__dsrs_round_{number}", ast.Store()), ast.Call(hook("rounds"), [], []), body, [])
    for part in (leave, *ast.walk(leave), rounds, rounds.target, rounds.iter):
        ast.copy_location(part, node)
    made = callable_loop(ast.fix_missing_locations(rounds), number, visit)
    was = plain(node)
    assert isinstance(was, ast.stmt)
    both = ast.If(ast.Call(hook("is_rolled"), [], []), made, [was])
    return ast.fix_missing_locations(ast.copy_location(both, node))


def decides(body: list[ast.stmt]) -> bool:
    """Whether code may decide by a value."""
    kinds = (ast.If, ast.IfExp, ast.While, ast.Match, ast.BoolOp, ast.Compare, ast.Not)
    return any(isinstance(part, kinds) for line in body for part in ast.walk(line))
