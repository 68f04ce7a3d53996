"""What needs the content of a symbolic value: each of Python's special methods refuses, by what it would do."""

from __future__ import annotations

from typing import Any, NoReturn

from .decision import compared, truth
from .refusal import op, refuse
from .value import Value, link_of

COMPARISONS = {"__eq__": "==", "__ne__": "!=", "__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
CONTENTS = {
    "__contains__": ("looks for something in {}", "branch"),
    "__reversed__": ("iterates over {}", "map"),
    "__aiter__": ("iterates over {}", "map"),
    "__len__": ("takes the length of {}", "render"),
    "__str__": ("writes {} as a text", "format"),
    "__repr__": ("writes Python's notation of {}", "format"),
    "__format__": ("writes {} as a text", "format"),
    "__bytes__": ("writes {} as bytes", "format"),
    "__fspath__": ("uses {} as a path", "render"),
    "__int__": ("reads {} as a number", "coerce"),
    "__float__": ("reads {} as a number", "coerce"),
    "__complex__": ("reads {} as a number", "coerce"),
    "__index__": ("uses {} as an index", "select"),
    "__hash__": ("uses {} as a key", "select"),
    "__call__": ("calls {}", "render"),
    "__await__": ("waits for {}", "await"),
    "__enter__": ("enters {} as a context", "render"),
    "__setitem__": ("assigns a part of {}: values of a graph do not change", "collect"),
    "__delitem__": ("deletes a part of {}: values of a graph do not change", "collect"),
    "__delattr__": ("deletes a part of {}: values of a graph do not change", "collect"),
    "__reduce_ex__": ("pickles {}", "render"),
}
#: operators without an op, by the names of their methods
OPERATORS = {
    "floordiv": "//", "mod": "%", "pow": "**", "divmod": "divmod", "matmul": "@",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
UNARY = {
    "pos": "+", "invert": "~", "abs": "abs", "round": "round",
    "trunc": "trunc", "floor": "floor", "ceil": "ceil",
}  # fmt: skip


def _refusal(what: str, nearest: str) -> Any:
    def method(self: Value, *_: object) -> NoReturn:
        refuse(what.format(link_of(self).label), op(nearest))

    return method


def _define() -> None:
    tests = {name: compared(symbol) for name, symbol in COMPARISONS.items()}
    for name, method in {"__bool__": truth, **tests}.items():
        setattr(Value, name, method)
    for name, (what, nearest) in CONTENTS.items():
        setattr(Value, name, _refusal(what, nearest))
    for name, symbol in OPERATORS.items():
        for side in ("", "r"):
            setattr(Value, f"__{side}{name}__", _refusal(f"computes `{symbol}` of {{}}", "render"))
    for name, symbol in UNARY.items():
        setattr(Value, f"__{name}__", _refusal(f"computes `{symbol}` of {{}}", "render"))


_define()
