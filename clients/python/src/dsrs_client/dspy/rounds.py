"""A loop over a list of the run: `map` where its rounds are independent, `loop` where one needs the one before.

The body is traced several times: to see what it changes, which of that it reads, and then to draw it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

from .annotation import element_of, is_list, list_of
from .attributes import Saved, restore, same_content
from .container import Splice, collected
from .contents import Stale, holds_value
from .draft import Draft
from .link import Link
from .predicted import as_value
from .refusal import op, refuse
from .round_nodes import Drawn, draw_loop, draw_map
from .structure import constant, joined, structured, type_of
from .subgraph import root_of
from .value import Value, link_of
from .ways import Ways

if TYPE_CHECKING:
    from .trace import Tracer

BREAK = "break"
#: how many loops are open around the line that is traced
DEPTH: ContextVar[int] = ContextVar("DEPTH", default=0)
State = dict[str, Any]


@dataclass
class Cells:
    """The variables that a body assigns, and the objects that it may change."""

    read: Callable[[], State] = dict
    write: Callable[[State], None] = lambda _: None
    saved: Saved = field(default_factory=list)


@dataclass
class Round:
    """What one way through the body did."""

    draft: Draft
    state: State
    appended: dict[int, list[Any]]
    ends: bool


class Rounds:
    """One loop."""

    def __init__(self, tracer: Tracer, values: Value, body: Callable[[Any], Any], cells: Cells) -> None:
        self.tracer, self.body, self.cells = tracer, body, cells
        self.link = link_of(values)
        if not is_list(self.link.annotation):
            refuse(f"goes through {self.link.label}, which is no list; declare its type", op("map"))
        self.kind = element_of(self.link.annotation)
        self.scope = f"round_{DEPTH.get() + 1}"
        self.before = cells.read()
        self.lists = {id(thing): thing for thing, _ in cells.saved if type(thing) is list}
        self.contents = {id(thing): content for thing, content in cells.saved}
        #: the variables that a round assigns
        self.assigned: set[str] = set()
        #: the kinds of the variables and of the elements of the lists that the body changes
        self.names: dict[str, Any] = {}
        self.grown: dict[int, Any] = {}
        self.is_flat: dict[int, bool] = {}

    def run(self) -> None:
        """Draws the loop, and gives the variables and lists what they are after it."""
        self._discover()
        found = self._traced(self._state())
        carried = self._carried(found)
        ends = any(each.ends for each in found)
        is_loop = bool(carried) or ends
        self.names = {name: kind for name, kind in self.names.items() if is_loop and name in self.before}
        drawn = self._drawn(is_loop, ends)
        self._leave(drawn, is_loop)

    def _discover(self) -> None:
        """Which variables and lists the body changes, and their types."""
        found = self._traced(dict(self.before))
        for each in found:
            for name, value in each.state.items():
                if name not in self.before or value is not self.before[name]:
                    self.assigned.add(name)
                if name in self.before and value is not self.before[name] and _is_data(self.before[name]):
                    kinds = [kind for kind in map(_kind, (self.before[name], value)) if kind is not None]
                    self.names[name] = joined([self.names[name], *kinds] if name in self.names else kinds)
            for identity, items in each.appended.items():
                kinds = [_kind_of_item(item) for item in items]
                known = [self.grown[identity]] if identity in self.grown else []
                self.grown[identity] = joined([*known, *kinds])
        self.names = {name: float if kind == Union[int, float] else kind for name, kind in self.names.items()}
        for identity in self.grown:
            counts = [each.appended.get(identity, []) for each in found]
            self.is_flat[identity] = any(len(items) != 1 or isinstance(items[0], Splice) for items in counts)

    def _state(self) -> State:
        """Variables and lists as values that the round before decides."""
        names = {name: Value(Link(f"{self.scope}.{name}", "", kind)) for name, kind in self.names.items()}
        return {**self.before, **names}

    def _source_of(self, identity: int) -> str:
        return f"{self.scope}.list_{list(self.grown).index(identity) + 1}"

    def _carried(self, found: list[Round]) -> set[str]:
        """The sources of the round before that a round uses."""
        states = {f"{self.scope}.{name}" for name in self.names} | {self._source_of(each) for each in self.grown}
        used: set[str] = set()
        for each in found:
            used |= {root_of(edge.source) for edge in each.draft.edges}
            used |= {root_of(source) for decision in each.draft.decisions for _, source in decision.inputs}
            changed = {name for name in self.names if any(_differs(other, name, self) for other in found)}
            for name in changed:
                if not _differs(each, name, self):
                    used.add(f"{self.scope}.{name}")
        return states & used

    def _traced(self, state: State) -> list[Round]:
        """All ways through the body, one after another."""
        found: list[Round] = []

        def once(_: bool) -> Draft:
            made = self._once(state, self._element(False))
            for items in made.appended.values():
                made.draft.selection(collected(list(items)))
            for name in self.names:
                made.draft.selection(_one(made.state[name], self.names[name]))
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

    def _element(self, is_loop: bool) -> Link:
        if is_loop:
            return Link(f"{self.scope}.rest", "", list_of(self.kind)).element(0, self.kind)
        return Link(f"{self.scope}.element", "", self.kind)

    def _once(self, state: State, element: Link) -> Round:
        """One call of the body, with a draft of its own."""
        outer = self.tracer.draft
        inner = Draft(inputs=outer.inputs, taken={*outer.nodes, *outer.taken, self.scope}, kinds=dict(outer.kinds))
        inner.kinds[f"{self.scope}.element"] = self.kind
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
        for identity, kind in self.grown.items() if is_needed else ():
            self.lists[identity][:] = [Splice(Link(self._source_of(identity), "", list_of(kind)))]

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
            known = 1 if id(thing) in self.grown and thing and isinstance(thing[0], Splice) else len(content)
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
            made = self._once(self._state() if is_loop else dict(self.before), self._element(is_loop))
            outputs = self._loop_outputs(made, ends) if is_loop else self._map_outputs(made)
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
            return draw_loop(outer, inner, self.scope, self.link, self._initial(), ends)
        return draw_map(outer, inner, self.scope, self.link)

    def _map_outputs(self, made: Round) -> dict[str, Link]:
        outputs = {}
        for identity, kind in self.grown.items():
            items = made.appended.get(identity, [])
            name = self._source_of(identity).partition(".")[2]
            outputs[name] = _many(items, kind) if self.is_flat[identity] else _one(items[0])
        return outputs or {"done": constant(True)}

    def _loop_outputs(self, made: Round, ends: bool) -> dict[str, Link]:
        rest = Link(f"{self.scope}.rest", "", list_of(self.kind))
        outputs: dict[str, Any] = {"next_rest": Value(rest)[1:]}
        outputs |= {f"next_{name}": made.state[name] for name in self.names}
        for identity, kind in self.grown.items():
            source = self._source_of(identity)
            state = Splice(Link(source, "", list_of(kind)))
            outputs[f"next_{source.partition('.')[2]}"] = Value(collected([state, *made.appended.get(identity, [])]))
        if ends:
            outputs["ends"] = made.ends
        kinds = {f"next_{name}": kind for name, kind in self.names.items()}
        return {name: _one(value, kinds.get(name)) for name, value in outputs.items()}

    def _initial(self) -> dict[str, tuple[Link, Any]]:
        """What the first round begins with, with the type that all rounds have."""
        initial = {name: (_one(self.before[name], kind), kind) for name, kind in self.names.items()}
        for name, kind in self.names.items():
            if kind is float and type(self.before[name]) is int:
                begins = f"{float(self.before[name])} instead of {self.before[name]}"
                self.tracer.draft.note(f"`{name}` is {begins} where a loop makes no round")
        for identity, kind in self.grown.items():
            content = self.contents[identity]
            link = collected(list(content)) if content else structured([], list_of(kind))
            initial[self._source_of(identity).partition(".")[2]] = (link, list_of(kind))
        return initial

    def _leave(self, drawn: Drawn, is_loop: bool) -> None:
        """The program after the loop."""
        self._restore({**self.before, **{name: Stale(name) for name in self.assigned - set(self.names)}})
        if is_loop:
            self.cells.write({name: Value(drawn.link(f"next_{name}", kind)) for name, kind in self.names.items()})
        for identity, kind in self.grown.items():
            name = self._source_of(identity).partition(".")[2]
            if is_loop:
                self.lists[identity][:] = [Splice(drawn.link(f"next_{name}", list_of(kind)))]
            else:
                self.lists[identity].append(Splice(drawn.results(name, kind, self.is_flat[identity])))


def _kind_of_item(item: Any) -> Any:
    return element_of(item.link.annotation) if isinstance(item, Splice) else type_of(item)


def _is_data(value: Any) -> bool:
    """Whether a variable is a value that a round can take from the one before it."""
    return isinstance(value, (Value, str, int, float, list, dict, tuple, type(None)))


def _kind(value: Any) -> Any:
    """The type of a variable; an empty container says none."""
    return None if isinstance(value, (list, dict)) and not value else type_of(value)


def _differs(each: Round, name: str, rounds: Rounds) -> bool:
    """Whether a round assigned another value to a variable."""
    value = each.state.get(name)
    return not (isinstance(value, Value) and link_of(value).source == f"{rounds.scope}.{name}")


def _one(value: Any, kind: Any = None) -> Link:
    """A value of a round as an output."""
    if isinstance(value, Value):
        return link_of(value)
    if holds_value(value):
        return collected(value)
    return constant(value) if kind in (None, str) else structured(value, kind)


def _many(items: list[Any], kind: Any) -> Link:
    """The values that a round appends."""
    return collected(list(items)) if items else structured([], list_of(kind))
