"""A `for` of a program in two forms: over a list of the run by calls of its body, and as it was."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from .moved_code import Ends, assigned_names, declared, hook, is_movable, jumps, parsed_at, state_functions

Visit = Callable[[list[ast.stmt]], list[ast.stmt]]

_SOURCE = """
__dsrs_values_{number} = None
if __dsrs_hooks__.repeats(__dsrs_values_{number}):
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
    made = parsed_at(_SOURCE.format(number=number, declared=declared(names), state=state), node)
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
