"""Runs a program once over symbolic values and returns the graph that it draws."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock
from types import MethodType
from typing import Any

import dspy

from .attributes import restored
from .comparison import compare
from .draft import Draft
from .hooks import Hooks
from .inputs import declared_inputs, forward_of, inputs_of, place_of
from .leaf import Leaf, leaf_of
from .link import Link
from .lm import Models
from .mapping import mapped
from .options import Options
from .outputs import declare_outputs
from .outside import Outside
from .parallel import parallel
from .place import Place, is_users
from .record import node_name, record
from .refusal import STOPS, CannotPush, Reason, Stop, op, refuse
from .value import Value

_PATCHED = ((dspy.Module, "__call__"), (dspy.Module, "acall"), (dspy.Predict, "__call__"), (dspy.Parallel, "__call__"))
_lock = RLock()


class Tracer:
    """One trace of one program."""

    def __init__(self, program: Any, options: Options) -> None:
        self.program, self.options = program, options
        self.draft = Draft()
        self.models = Models(options.models)
        self.hooks = Hooks(Outside(lambda: self.draft, options.outside).stand_in, partial(mapped, self))
        named = list(program.named_sub_modules(dspy.Module))
        self.names, self.modules = {id(module): name for name, module in named}, [module for _, module in named]

    def run(self) -> Draft:
        """The graph of the program."""
        stops: list[Stop] = []
        token = STOPS.set(stops)
        try:
            with _lock, restored(self.modules), _calls_go_to(self):
                returned = self.called(self.program, **self._arguments())
                declare_outputs(self.draft, returned, place_of(self.program))
        except Stop as stop:
            raise CannotPush([stop.reason]) from None
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise CannotPush([stops[0].reason if stops else _failure(error)]) from error
        finally:
            STOPS.reset(token)
        if stops:
            raise CannotPush([stops[0].reason])
        self.draft.notes += self.models.notes
        return self.draft

    def called(self, module: Any, /, *positional: Any, **arguments: Any) -> Any:
        """What a module returns: a node's outputs, or what its own forward does."""
        forward = forward_of(module)
        if forward is dspy.MultiChainComparison.forward:
            return compare(self, module, *positional, **arguments)
        if (leaf := leaf_of(module, self.options)) is not None:
            return self.node(module, leaf, positional, arguments)
        if not is_users(forward.__code__.co_filename):
            refuse(f"`dspy.{type(module).__name__}` has no strategy", "The strategies are in docs/strategies.md.")
        return MethodType(self.hooks.run(forward), module)(*positional, **arguments)

    def node(self, module: Any, leaf: Leaf, positional: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        """The node of a module that a strategy runs."""
        if positional:
            refuse("calls a predictor with positional arguments")
        if self.hooks.tries:
            refuse("catches the failure of a predictor", op("unwrap_or"))
        attribute = self.name_of(module)
        lm = self.models.settings(leaf, arguments)
        return record(self.draft, node_name(attribute, module), attribute, leaf, arguments, lm)

    def name_of(self, module: Any) -> str:
        """The attribute of the program that holds a module; empty for the program itself."""
        full = self.names.get(id(module))
        if full is None:
            refuse(
                "calls a module that is no attribute of the program; make it in `__init__`, where its state is stored"
            )
        return str(full).removeprefix("self").removeprefix(".")

    def _arguments(self) -> dict[str, Value]:
        names = dict(self.options.inputs or inputs_of(self.program, self.options))
        self.draft.inputs.update(names)
        self.draft.declared.update(declared_inputs(self.program, self.options))
        return {name: Value(Link(f"input.{name}", "", kind)) for name, kind in names.items()}


def _failure(error: Exception) -> Reason:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users(frame.filename)]
    place = Place(frames[-1].filename, frames[-1].lineno or 0) if frames else None
    return Reason(place, f"fails over values without content: {type(error).__name__}: {error}")


@contextmanager
def _calls_go_to(tracer: Tracer) -> Iterator[None]:
    """While a program is traced, calls of modules are recorded. Other threads keep the modules as they are."""
    from threading import get_ident

    thread, originals = get_ident(), [(owner, name, getattr(owner, name)) for owner, name in _PATCHED]

    def patched(original: Any, name: str, owner: Any) -> Any:
        def call(module: Any, /, *positional: Any, **arguments: Any) -> Any:
            if get_ident() != thread:
                return original(module, *positional, **arguments)
            if name == "acall":
                refuse("calls a module with `acall`; a graph runs what does not depend on each other at once anyway")
            if owner is dspy.Parallel:
                return parallel(tracer, module, *positional, **arguments)
            return tracer.called(module, *positional, **arguments)

        return call

    try:
        for owner, name, original in originals:
            setattr(owner, name, patched(original, name, owner))
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)
