"""A loop over a list of the run: `map` where its rounds are independent, `loop` where one needs the one before.

The body is traced several times: to see what it changes, which of that it reads, and then to draw it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .annotation import element_of, is_list, list_of
from .attributes import Saved, restore, same_content
from .carry import Carry, Round, State, one
from .container import Splice, collected
from .contents import Stale
from .draft import Draft
from .link import Link
from .predicted import as_value
from .refusal import op, refuse
from .round_nodes import Drawn, draw_loop, draw_map
from .subgraph import root_of
from .value import Value, link_of
from .ways import Ways

if TYPE_CHECKING:
    from .trace import Tracer

BREAK = "break"
#: how many loops are open around the line that is traced
DEPTH: ContextVar[int] = ContextVar("DEPTH", default=0)


@dataclass
class Cells:
    """The variables that a body assigns, and the objects that it may change."""

    read: Callable[[], State] = dict
    write: Callable[[State], None] = lambda _: None
    saved: Saved = field(default_factory=list)


class Rounds:
    """One loop."""

    def __init__(self, tracer: Tracer, values: Value, body: Callable[[Any], Any], cells: Cells) -> None:
        self.tracer, self.body, self.cells = tracer, body, cells
        self.link = link_of(values)
        if not is_list(self.link.annotation):
            refuse(f"goes through {self.link.label}, which is no list; declare its type", op("map"))
        self.carry = Carry(f"round_{DEPTH.get() + 1}", element_of(self.link.annotation))
        self.before = cells.read()
        self.lists = {id(thing): thing for thing, _ in cells.saved if type(thing) is list}
        self.contents = {id(thing): content for thing, content in cells.saved}
        #: the variables that a round assigns
        self.assigned: set[str] = set()

    def run(self) -> None:
        """Draws the loop, and gives the variables and lists what they are after it."""
        self._discover()
        found = self._traced(self.carry.state(self.before))
        carried = self._carried(found)
        ends = any(each.ends for each in found)
        is_loop = bool(carried) or ends
        self.carry.names = {name: kind for name, kind in self.carry.names.items() if is_loop and name in self.before}
        drawn = self._drawn(is_loop, ends)
        self._leave(drawn, is_loop)

    def _discover(self) -> None:
        """Which variables and lists the body changes, and their types."""
        self.assigned = self.carry.learn(self._traced(dict(self.before)), self.before)

    def _carried(self, found: list[Round]) -> set[str]:
        """The sources of the round before that a round uses."""
        used: set[str] = set()
        for each in found:
            used |= {root_of(edge.source) for edge in each.draft.edges}
            used |= {root_of(source) for decision in each.draft.decisions for _, source in decision.inputs}
            changed = {name for name in self.carry.names if any(self.carry.differs(other, name) for other in found)}
            for name in changed:
                if not self.carry.differs(each, name):
                    used.add(f"{self.carry.scope}.{name}")
        return self.carry.sources() & used

    def _traced(self, state: State) -> list[Round]:
        """All ways through the body, one after another."""
        found: list[Round] = []

        def once(_: bool) -> Draft:
            made = self._once(state, self.carry.element(False))
            for items in made.appended.values():
                made.draft.selection(collected(list(items)))
            for name in self.carry.names:
                made.draft.selection(one(made.state[name], self.carry.names[name]))
            found.append(made)
            return made.draft

        outer = self.tracer.draft
        token = DEPTH.set(DEPTH.get() + 1)
        try:
            Ways(once, lambda: self.tracer.draft, lambda then, *_: then).all()
        finally:
            DEPTH.reset(token)
            self.tracer.draft = outer
            self._restore(self.before)
        return found

    def _once(self, state: State, element: Link) -> Round:
        """One call of the body, with a draft of its own."""
        outer = self.tracer.draft
        taken = {*outer.nodes, *outer.taken, self.carry.scope}
        inner = Draft(inputs=outer.inputs, taken=taken, kinds=dict(outer.kinds))
        inner.kinds[f"{self.carry.scope}.element"] = self.carry.kind
        self.tracer.draft = inner
        try:
            self._restore(state)
            self._splice(state is not self.before)
            ends = self.body(Value(element)) == BREAK
            inner.write_pending()
            return Round(inner, self.cells.read(), self._appended(), ends)
        finally:
            self.tracer.draft = outer

    def _splice(self, is_needed: bool) -> None:
        for identity, kind in self.carry.grown.items() if is_needed else ():
            self.lists[identity][:] = [Splice(Link(self.carry.source_of(identity), "", list_of(kind)))]

    def _restore(self, state: State) -> None:
        for thing, content in self.cells.saved:
            restore(thing, content)
        self.cells.write(state)

    def _appended(self) -> dict[int, list[Any]]:
        """What a round has appended to lists outside of it; other changes of objects are refused."""
        found: dict[int, list[Any]] = {}
        for thing, content in self.cells.saved:
            if same_content(thing, content):
                continue
            known = 1 if id(thing) in self.carry.grown and thing and isinstance(thing[0], Splice) else len(content)
            is_longer = type(thing) is list and len(thing) >= known
            if not is_longer or any(one is not other for one, other in zip(thing, content, strict=False) if known != 1):
                what = f"changes a `{type(thing).__name__}` in a loop over {self.link.label}"
                refuse(f"{what} in another way than by `.append`", "Append to a list, or assign a variable.")
            if items := [as_value(item) for item in thing[known:]]:
                found[id(thing)] = items
        return found

    def _drawn(self, is_loop: bool, ends: bool) -> Drawn:
        """The node of the loop."""
        outer = self.tracer.draft

        def once(_: bool) -> Draft:
            state = self.carry.state(self.before) if is_loop else dict(self.before)
            made = self._once(state, self.carry.element(is_loop))
            outputs = self.carry.loop_outputs(made, ends) if is_loop else self.carry.map_outputs(made)
            made.draft.outputs = {name: made.draft.selection(link) for name, link in outputs.items()}
            return made.draft

        token = DEPTH.set(DEPTH.get() + 1)
        try:
            inner = Ways(once, lambda: self.tracer.draft).all()
        finally:
            DEPTH.reset(token)
            self.tracer.draft = outer
            self._restore(self.before)
        if is_loop:
            initial = self.carry.initial(self.before, self.contents, outer.note)
            return draw_loop(outer, inner, self.carry.scope, self.link, initial, ends)
        return draw_map(outer, inner, self.carry.scope, self.link)

    def _leave(self, drawn: Drawn, is_loop: bool) -> None:
        """The program after the loop."""
        self._restore({**self.before, **{name: Stale(name) for name in self.assigned - set(self.carry.names)}})
        if is_loop:
            self.cells.write({name: Value(drawn.link(f"next_{name}", kind)) for name, kind in self.carry.names.items()})
        for identity, kind in self.carry.grown.items():
            name = self.carry.name_of(identity)
            if is_loop:
                self.lists[identity][:] = [Splice(drawn.link(f"next_{name}", list_of(kind)))]
            else:
                self.lists[identity].append(Splice(drawn.results(name, kind, self.carry.is_flat[identity])))
