"""A `try` of a program in two forms: as calls of its body and its handler, and as it was."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable

from .moved_code import Ends, assigned_names, declared, is_movable, parsed_at, state_functions

Visit = Callable[[list[ast.stmt]], list[ast.stmt]]

_SOURCE = """
def __dsrs_body_{number}():
    {declared}
def __dsrs_handler_{number}(__dsrs_failure):
    {declared}
    {failure}
{state}
__dsrs_try_{number} = __dsrs_hooks__.guarded(
    __dsrs_body_{number}, __dsrs_handler_{number}, __dsrs_read_{number}, __dsrs_write_{number}
)
if __dsrs_try_{number}.may_fail():
    __dsrs_left_{number} = __dsrs_try_{number}.run(None, {decides})
    if __dsrs_left_{number} is not None:
        return __dsrs_left_{number}.value
    if not __dsrs_try_{number}.handles:
        pass
"""


class Reraises(ast.NodeTransformer):
    """The statements of a handler, whose `raise` without an exception calls a hook: a trace has none to raise again."""

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        """`raise`, or `raise error`."""
        if node.exc is not None:
            return node
        return parsed_at("__dsrs_hooks__.reraised()", node)[0]

    def visit_Try(self, node: ast.Try) -> ast.Try:
        """The handlers of another `try` have an exception of their own."""
        node.body = [self.visit(line) for line in node.body]
        return node


def is_callable(node: ast.Try) -> bool:
    """Whether the body and the handler mean the same in functions of their own."""
    return len(node.handlers) == 1 and is_movable([*node.body, *node.handlers[0].body])


def callable_try(node: ast.Try, number: int, visit: Visit, plain: Callable[[ast.Try], ast.Try]) -> list[ast.stmt]:
    """Both forms. ``visit`` sends what they do through hooks, ``plain`` the statement as it was."""
    [handler] = node.handlers
    names = sorted(assigned_names([*node.body, handler]))
    failure = f"{handler.name} = __dsrs_failure" if handler.name else "pass"
    text = _SOURCE.format(
        number=number,
        declared=declared(names),
        failure=failure,
        state=state_functions(names, number),
        decides=bool(node.orelse),
    )
    made = parsed_at(text.replace("return __dsrs_left", "__dsrs_left"), node)
    body, handled = made[0], made[1]
    assert isinstance(body, ast.FunctionDef) and isinstance(handled, ast.FunctionDef)
    again = Reraises()
    for function, lines in ((body, node.body), (handled, [again.visit(copy.deepcopy(line)) for line in handler.body])):
        ends = Ends("left", False)
        function.body += visit([ends.visit(copy.deepcopy(line)) for line in lines])
    decide = made[-1]
    assert isinstance(decide, ast.If)
    run, leave, otherwise = decide.body
    assert isinstance(otherwise, ast.If)
    otherwise.body += visit(copy.deepcopy(node.orelse))
    assert isinstance(run, ast.Assign) and isinstance(run.value, ast.Call) and isinstance(leave, ast.If)
    run.value.args[0] = copy.deepcopy(handler.type) or ast.Name("BaseException", ast.Load())
    expression = leave.body[0]
    assert isinstance(expression, ast.Expr)
    leave.body = [*visit(copy.deepcopy(node.finalbody)), ast.copy_location(ast.Return(expression.value), node)]
    decide.body += visit(copy.deepcopy(node.finalbody))
    decide.orelse = [plain(node)]
    return [ast.fix_missing_locations(part) for part in made]
