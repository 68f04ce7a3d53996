"""Runs a program over symbolic values and returns the graph that it draws."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import linecache
import traceback
from contextlib import nullcontext
from dataclasses import replace
from threading import RLock
from types import MethodType
from typing import Any

import dspy

from .attempts_of_steps import attempts_of_steps, makes_attempts_of_steps
from .attributes import changed, restored, snapshot
from .calls import Calls
from .catching import refuse_caught
from .code import in_contexts, users_function
from .comparison import compare
from .completions import NOTE, count_of, predicted, several
from .draft import Draft
from .hooks import Hooks
from .inputs import declared_inputs, forward_of, inputs_of, own_call, place_of, refuse_library
from .leaf import Leaf, leaf_of, of_program
from .link import CALL, Link
from .lm import Models
from .notes import notes_of_types
from .options import Options
from .outputs import declare_outputs, settle_inputs
from .outside import Outside
from .patches import calls_go_to
from .place import INSTALLED, OUTERMOST, Place, here, installed_packages, is_users
from .record import node_name, record
from .refusal import STOPS, CannotPush, Reason, Stop, refuse
from .server_tools import ServerTools
from .unrepeatable import moved
from .value import Value
from .ways import Ways

_lock = RLock()


class Tracer:
    """The traces of one program."""

    def __init__(self, program: Any, options: Options) -> None:
        self.program, self.options = program, options
        self.draft = Draft()
        self.stops: list[Stop] = []
        self.clocks: dict[str, Place | None] = {}
        self.is_second = False
        self.models = Models(options.models)
        self.hooks = Hooks(self)
        tools = ServerTools(lambda: self.draft, options.tools)
        outside = Outside(lambda: self.draft, options.outside)
        self.hooks.call = Calls(self, [tools.stand_in, outside.stand_in]).call
        named = list(program.named_sub_modules(dspy.Module))
        self.predictors = {id(predictor): name for name, predictor in program.named_predictors()}
        self.prompts = {id(predictor): _prompt(predictor) for _, predictor in program.named_predictors()}
        self.names, self.modules = {id(module): name for name, module in named}, [module for _, module in named]

    def run(self) -> Draft:
        """The graph of the program."""
        caller = here()
        installed = INSTALLED.set(installed_packages(self.modules))
        stops, outermost = STOPS.set(self.stops), OUTERMOST.set(Tracer.run.__code__)
        try:
            with _lock, restored(self.modules), calls_go_to(self):
                before = [snapshot(module) for module in self.modules]
                draft = self._traced()
                grown = [*changed(self.modules, self.names, before), *self.hooks.globals.changed()]
                self._refuse_growth(draft, grown)
        except Stop as stop:
            raise CannotPush([self._placed((self.stops or [stop])[0].reason, caller)]) from None
        except Exception as error:
            reason = self.stops[0].reason if self.stops else _failure(error)
            raise CannotPush([self._placed(reason, caller)]) from error
        finally:
            self.hooks.globals.restore()
            INSTALLED.reset(installed)
            STOPS.reset(stops)
            OUTERMOST.reset(outermost)
        if self.stops:
            raise CannotPush([self._placed(self.stops[0].reason, caller)])
        return draft

    def _placed(self, reason: Reason, caller: Place | None) -> Reason:
        """A reason that is no line of the program is about the program, or about the call that traces it."""
        return reason if reason.place is not None else replace(reason, place=place_of(self.program) or caller)

    def called(self, module: Any, /, *positional: Any, **arguments: Any) -> Any:
        """What the call of a module returns: a `__call__` of the program goes first."""
        call = users_function(own_call(module), self.draft.note)
        if call is None:
            return self.forwarded(module, *positional, **arguments)
        return MethodType(in_contexts(self.hooks.run(call), own_call(module)), module)(*positional, **arguments)

    def forwarded(self, module: Any, /, *positional: Any, **arguments: Any) -> Any:
        """What `forward` of a module returns: a node's outputs, or what its own code does."""
        function, owner = forward_of(module)
        if function is dspy.MultiChainComparison.forward:
            return compare(self, module, *positional, **arguments)
        if makes_attempts_of_steps(module, function, self.options):
            return attempts_of_steps(self, module, arguments)
        if (leaf := leaf_of(module, self.options)) is not None:
            return self.node(module, leaf, positional, arguments)
        followed = users_function(function, self.draft.note)
        if followed is None:
            refuse_library(module, function)
        made = in_contexts(self.hooks.run(followed), function)
        return (made if owner is None else MethodType(made, owner))(*positional, **arguments)

    def node(self, module: Any, leaf: Leaf, positional: tuple[Any, ...], arguments: dict[str, Any]) -> Any:
        """The node of a module that a strategy runs."""
        if positional:
            refuse("calls a predictor with positional arguments")
        refuse_caught("a predictor")
        attribute = self.name_of(module)
        for name in leaf.without:
            if name in arguments and name not in leaf.signature.input_fields:
                refuse(f"gives an agent `{name}` for one call, which a node does not have")
        for inner in leaf.inner:
            self._refuse_changed(of_program(inner.predictor))
        count = count_of(leaf, arguments)
        lm = self.models.settings(leaf, arguments)
        asked = leaf if count == 1 else several(leaf, count)
        for note in notes_of_types(leaf.signature):
            self.draft.note(note)
        made = record(self.draft, node_name(attribute, module), attribute, asked, arguments, lm, self.predictors)
        if count == 1:
            return made
        self.draft.note(NOTE)
        return predicted(made, leaf, count)

    def name_of(self, module: Any) -> str:
        """The attribute of the program that holds a module; empty for the program itself."""
        full = self.names.get(id(module))
        if full is None:
            refuse(
                "calls a module that is no attribute of the program; make it in `__init__`, where its state is stored"
            )
        return str(full).removeprefix("self").removeprefix(".")

    def clock(self, function: Any, present: Any) -> Any:
        """The result of a clock; in the second trace another one."""
        self.clocks.setdefault(function.__name__, here())
        return moved(function, present) if self.is_second else present

    def _refuse_changed(self, predictor: Any) -> None:
        """Refuses a predictor whose prompt the program changes while it runs: the graph has one state of it."""
        before = self.prompts.get(id(predictor))
        if before is not None and before != _prompt(predictor):
            name = self.predictors[id(predictor)]
            refuse(f"changes the signature or the demos of `{name}` in `forward`", "Make it a predictor of its own.")

    def _traced(self) -> Draft:
        """The graph of all ways through the program."""
        self.draft = Ways(self._one_way, lambda: self.draft).all()
        settle_inputs(self.draft)
        return self.draft

    def _one_way(self, was_traced: bool) -> Draft:
        """The graph of one call of the program."""
        self.draft, self.models = Draft(), Models(self.options.models)
        CALL.set(CALL.get() + 1)
        with restored(self.modules) if was_traced else nullcontext():
            returned = self.called(self.program, **self._arguments())
        declare_outputs(self.draft, returned, place_of(self.program))
        self.draft.write_pending()
        self.draft.notes += [note for note in self.models.notes if note not in self.draft.notes]
        return self.draft

    def _refuse_growth(self, first: Draft, grown: list[str]) -> None:
        """Refuses a program whose second call draws another graph: its answers depend on the calls before."""
        self.is_second = True
        try:
            second = self._traced()
        except Stop as stop:
            what, place = f"{stop.reason.what} when it is called again", stop.reason.place
        else:
            if second.definition("", None) == first.definition("", None):
                return
            what, place = "draws another graph when it is called again", _difference(first, second)
        self.stops.clear()
        changing = [*grown, *(f"the clock (`{name}`)" for name in self.clocks)]
        because = f": {', '.join(changing)} changes from call to call" if changing else ""
        refuse(f"{what}{because}", "Make it an input of `forward`.", place or place_of(self.program))

    def _arguments(self) -> dict[str, Value]:
        names = dict(self.options.inputs or inputs_of(self.program, self.options))
        self.draft.inputs.update(names)
        self.draft.declared.update(declared_inputs(self.program, self.options))
        return {name: Value(Link(f"input.{name}", "", kind)) for name, kind in names.items()}


def _prompt(predictor: Any) -> Any:
    """What shows whether the prompt of a predictor has changed."""
    return id(predictor.signature), [id(demo) for demo in predictor.demos]


def _difference(first: Draft, second: Draft) -> Place | None:
    """The line of the first node that differs."""
    for name, node in second.nodes.items():
        if first.nodes.get(name) != node:
            return second.places.get(name)
    return next((edge.place for edge, other in zip(second.edges, first.edges, strict=False) if edge != other), None)


def _failure(error: Exception) -> Reason:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users(frame.filename)]
    place = Place(frames[-1].filename, frames[-1].lineno or 0) if frames else None
    line = linecache.getline(place.file, place.line).strip() if place else ""
    where = f"`{line}` fails" if line else "fails"
    return Reason(place, f"{where} when it is traced: {type(error).__name__}: {error}")
