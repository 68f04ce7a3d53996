"""What rewritten code calls in place of f-strings, calls, tests, attributes, `try`, `with` and `match`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any

from .annotation import is_tuple
from .arithmetic import remainder
from .attributes import Saved, save
from .calls import is_logging
from .catching import Entered, caught
from .container import collected, holds_splice
from .contents import holds_value
from .decision import contained, is_none, may_be_null, routed, same_constant
from .guarded import Guarded, Returned
from .mapping import mapped
from .module_globals import ModuleGlobals
from .percent import percent
from .place import is_users
from .re_functions import Matched
from .refusal import op, refuse
from .rewrite import rewritten
from .rounds import Cells, Rounds
from .template import text_of_parts
from .text_functions import part_of_text
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer

CONTAINERS = (str, list, tuple, set, frozenset)
CONVERSIONS = {-1: "", 115: "s", 114: "r", 97: "a"}


class Hooks:
    """The hooks of one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        #: makes a call; :class:`Calls` sets it
        self.call: Callable[..., Any]
        self._rewritten: dict[FunctionType, FunctionType] = {}
        self.globals = ModuleGlobals()

    def joined(self, *parts: Any) -> Any:
        """An f-string."""
        made = [part if isinstance(part, str) else _part(*part) for part in parts]
        return "".join(made) if all(isinstance(part, str) for part in made) else text_of_parts(made)

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute. A property of the program is code of the program."""
        if isinstance(owner, Value) and name.startswith("__"):
            refuse(f"branches on the type of {link_of(owner).label}", op("branch"))
        getter = _getter(getattr(type(owner), name, None))
        if isinstance(getter, FunctionType) and is_users(getter.__code__.co_filename):
            return self.run(getter)(owner)
        return getattr(owner, name)

    def same(self, left: Any, right: Any, negated: bool) -> Any:
        """`is` and `is not`."""
        for value, other in ((left, right), (right, left)):
            if isinstance(value, Matched) and other is None:
                return value if negated else value.negated()
            if isinstance(value, Value) and other is None and may_be_null(value):
                return is_none(value, negated)
            if isinstance(value, Value) and (found := same_constant(value, other)) is not None:
                return found.negated() if negated else found
            if isinstance(value, Value) and other is not None:
                refuse(f"branches on {link_of(value).label}", op("branch"))
        return (left is right) is not negated

    def contains(self, item: Any, container: Any, negated: bool) -> Any:
        """`in` and `not in`."""
        if isinstance(container, Value) or (isinstance(item, Value) and isinstance(container, CONTAINERS)):
            return contained(item, container, negated)
        return (item in container) is not negated

    def mapped(self, values: Any, is_tuple: bool, function: Any, test: Any = None) -> Any:
        """A comprehension."""
        return mapped(self.tracer, self.known(values), _of_tuple(function, is_tuple), _of_tuple(test, is_tuple))

    def generated(self, values: Any, is_tuple: bool, function: Any, test: Any = None) -> Any:
        """A generator expression; over a list of the run it is a list."""
        made, taken = _of_tuple(function, is_tuple), _of_tuple(test, is_tuple)
        known = self.known(values)
        if isinstance(known, Value):
            return mapped(self.tracer, known, made, taken)
        return (made(value) for value in known if taken is None or taken(value))

    def repeats(self, values: Any) -> bool:
        """Whether a loop goes through a list of the run."""
        known = self.known(values)
        return isinstance(known, Value) and not is_tuple(link_of(known).annotation)

    def looped(self, values: Any, body: Any, read: Any, write: Any) -> None:
        """A loop over a list of the run."""
        Rounds(self.tracer, self.known(values), body, Cells(read, write, _seen_from(sys._getframe(1)))).run()

    def guarded(self, body: Any, handler: Any, read: Any, write: Any) -> Guarded:
        """A `try` with a handler."""
        return Guarded(self.tracer, body, handler, Cells(read, write, _seen_from(sys._getframe(1))))

    def written(self, function: Any, values: Any, named: Any) -> Any:
        """A call that may write a message for people, which a graph has no use for."""
        if is_logging(function) or (function is print and named().get("file") is None):
            return None
        return self.call(function, *values(), **named())

    def reraised(self) -> None:
        """`raise` in a handler."""
        refuse("raises a caught exception again", f"Return something else, or leave out the handler. {op('try')}")

    def left(self, value: Any) -> Any:
        """A `return` within a `try`."""
        return Returned(value)

    def returned(self, value: Any) -> Any:
        """A `return` within a loop over a list of the run."""
        refuse("returns within a loop over a list of the run", f"Assign a variable and `break`. {op('loop')}")

    def known(self, value: Any) -> Any:
        """What a program decides by: a list that takes in a list of the run is one of the run."""
        return Value(collected(value)) if holds_splice(value) else value

    def modulo(self, left: Any, right: Any) -> Any:
        """`left % right`: a text with slots, or a remainder."""
        if isinstance(left, Value):
            return remainder(left, right)
        return percent(left, right) if isinstance(left, str) else left % right

    def item(self, value: Any, key: Any) -> Any:
        """A subscript."""
        if isinstance(value, dict) and isinstance(key, Value):
            return routed(value, key)
        return Value(collected(value))[key] if holds_splice(value) else value[key]

    def matched(self, subject: Any) -> Any:
        """The subject of `match` with patterns other than constants."""
        if holds_value(subject):
            label = link_of(subject).label if isinstance(subject, Value) else "values of the run"
            refuse(f"branches on {label}", op("branch"))
        return subject

    def caught(self) -> AbstractContextManager[None]:
        """The body of a `try` with handlers."""
        return caught()

    def entered(self, context: Any) -> Any:
        """The context of a `with`."""
        if isinstance(context, Value):
            refuse(f"enters {link_of(context).label} as a context", op("render"))
        return Entered(context)

    def run(self, function: FunctionType) -> FunctionType:
        """The function with hooks."""
        if "__dsrs_hooks__" in function.__code__.co_freevars:
            return function
        if function not in self._rewritten:
            self.globals.add(function)
            self._rewritten[function] = rewritten(function, self)
        return self._rewritten[function]


def _getter(declared: Any) -> Any:
    """The function of a property."""
    if isinstance(declared, property):
        return declared.fget
    return declared.func if isinstance(declared, cached_property) else None


def _seen_from(frame: FrameType) -> Saved:
    """The containers and objects that a function of the program has, with what they hold."""
    saved: Saved = []
    seen: set[int] = set()
    for value in frame.f_locals.values():
        save(value, saved, seen)
    return saved


def _of_tuple(function: Any, is_tuple: bool) -> Any:
    """A function of an element that is taken apart into several variables."""
    return (lambda element: function(*[part for part in element])) if is_tuple and function is not None else function


def _part(value: Any, conversion: int, spec: Any) -> Any:
    if isinstance(spec, Value):
        refuse("writes a value with a format that the run decides", op("format"))
    return part_of_text(value, CONVERSIONS[conversion], spec)
