"""Runs a program over symbolic values and returns the graph that it draws."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

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
from .failure_reason import failure_of
from .hooks import Hooks
from .inputs import declared_inputs, forward_of, inputs_of, own_call, place_of, refuse_library
from .judged_reward import Adopted
from .leaf import Leaf, leaf_of, of_program
from .link import CALL, Link
from .lm import Models
from .notes import notes_of_types
from .options import Options
from .outputs import declare_outputs, settle_inputs
from .outside import Outside
from .patches import calls_go_to
from .place import INSTALLED, OUTERMOST, Place, here, installed_packages
from .record import node_name, record
from .refusal import STOPS, CannotPush, Reason, Stop, refuse
from .repetition import difference
from .server_tools import ServerTools
from .unrepeatable import moved
from .value import Value
from .ways import TooManyWays, Ways

_lock = RLock()


class Tracer:
    """The traces of one program."""

    def __init__(self, program: Any, options: Options) -> None:
        self.program, self.options = program, options
        self.draft = Draft()
        self.stops: list[Stop] = []
        self.clocks: dict[str, Place | None] = {}
        self.is_second = False
        #: the modules of a reward, while it is traced
        self.adopted: Adopted | None = None
        #: whether loops that decide are nodes
        self.is_rolled = False
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
            reason = self.stops[0].reason if self.stops else failure_of(error)
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
        made = in_contexts(self.hooks.run(call), own_call(module), self.draft)
        return MethodType(made, module)(*positional, **arguments)

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
        made = in_contexts(self.hooks.run(followed), function, self.draft)
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
        if lm.get("temperature") != 1:
            self.draft.note(NOTE, "Set `temperature=1.0`.")
        return predicted(made, leaf, count)

    def name_of(self, module: Any) -> str:
        """The attribute of the program that holds a module; empty for the program itself."""
        full = self.names.get(id(module))
        if self.adopted is not None:
            adopted = self.adopted.name_of(module)
            full = adopted if full is None else full
        if full is None:
            refuse(
                "calls a module that is no attribute of the program; make it in `__init__`, where its state is stored"
            )
        return str(full).removeprefix("self").removeprefix(".")

    def has(self, predictor: Any) -> bool:
        """Whether a predictor is one of the program, which DSPy saves with it."""
        return id(predictor) in self.predictors

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
        """The graph of all ways through the program; with loops as nodes, if there are too many."""
        try:
            return self._all_ways()
        except TooManyWays as refusal:
            if self.is_rolled:
                raise
            self.is_rolled = True
            self.stops.clear()
            return self._rolled(refusal)

    def _rolled(self, refusal: Stop) -> Draft:
        """The graph with loops as nodes; what cannot be one is refused as it was."""
        try:
            with restored(self.modules):
                return self._all_ways()
        except Stop:
            self.stops[:] = [refusal]
            raise refusal from None

    def _all_ways(self) -> Draft:
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
        for note in self.models.notes:
            self.draft.note(note)
        return self.draft

    def _refuse_growth(self, first: Draft, grown: list[str]) -> None:
        """Refuses a program whose second call draws another graph: its answers depend on the calls before."""
        self.is_second = True
        found = difference(first, self._traced)
        if found is None:
            return
        what, place = found
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
