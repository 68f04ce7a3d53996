"""`try` with a handler around what may fail in a run: the strategy `try`, whose `else` is the handler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn, Optional

import dspy

from .attributes import restore, same_content
from .catching import HANDLERS, SEEN
from .container import collected
from .contents import Symbolic, holds_value
from .decision import VALUE, Test
from .draft import Draft, Edge
from .failures import codes_of
from .link import Link, required
from .place import here
from .record import dspy_paths
from .refusal import op, refuse
from .rounds import Cells
from .structure import constant, joined, structured
from .subgraph import InputNames, Subgraph
from .value import Value, link_of
from .ways import Ways

if TYPE_CHECKING:
    from .trace import Tracer

#: how outputs begin that have a value on one side only
SIDES = ("body", "caught")


@dataclass(frozen=True)
class Returned:
    """What code in a `try` returns from the function around it."""

    value: Any


class Failure(Symbolic):
    """The exception that a handler has caught."""

    def _refuse(self, *_: object) -> NoReturn:
        refuse("uses the exception that it caught: a graph knows its code only", op("try"))

    __getattr__ = __str__ = __repr__ = __format__ = __getitem__ = __iter__ = _refuse


@dataclass
class Outcome:
    """What one side does: the variables that it assigns, what it appends to lists, and what it returns."""

    values: dict[str, Any] = field(default_factory=dict)
    #: how often it appends to each list
    counts: dict[int, int] = field(default_factory=dict)
    returns: bool = False

    def parts(self) -> dict[str, Any]:
        """All values by the names of outputs; those of a prediction one by one."""
        found: dict[str, Any] = {}
        for name, value in self.values.items():
            if isinstance(value, dspy.Prediction):
                found |= {f"{name}__{member}": part for member, part in value.items()}
            else:
                found[name] = value
        return found

    def shape(self) -> Any:
        """What both sides have in common if one node can be either."""
        kinds = {name: isinstance(value, dspy.Prediction) for name, value in self.values.items()}
        return self.returns, sorted(kinds.items()), sorted(self.counts.items())


class Guarded:
    """One `try`."""

    def __init__(self, tracer: Tracer, body: Callable[[], Any], handler: Callable[[Any], Any], cells: Cells) -> None:
        self.tracer, self.body, self.handler, self.cells = tracer, body, handler, cells
        #: whether the program is on the way on which the handler ran
        self.handles = False
        self.before = self.base = cells.read()
        self.lists = {id(thing): thing for thing, _ in cells.saved if type(thing) is list}

    def may_fail(self) -> bool:
        """Whether something in the body may fail in a run."""
        token, seen = SEEN.set([]), []
        try:
            self._outcomes(self.body)
        except Exception:
            pass
        finally:
            seen = SEEN.get() or []
            SEEN.reset(token)
        return bool(seen)

    def run(self, caught: Any, decides: bool) -> Any:
        """Draws the node; returns what the function around it returns, if it does."""
        outer = self.tracer.draft
        sides = [self._outcomes(self.body), self._outcomes(lambda: self.handler(Failure()))]
        outcomes = [self._only(found) for found in sides]
        merges = not decides and outcomes[0].shape() == outcomes[1].shape()
        names = [self._names(found, merges) for found in sides]
        kinds = [self._kinds(found) for found in sides]
        if merges:
            shared = [name for name in names[0] if name in names[1]]
            drafts = [self._drawn(code, shared, {}) for code in self._codes()]
        else:
            drafts = [
                self._drawn(code, names[number], self._nulls(1 - number, names, kinds), f"{SIDES[number]}_")
                for number, code in enumerate(self._codes())
            ]
        node = self._node(outer, drafts, caught)
        if merges:
            merged = {name: joined([kinds[0][name], kinds[1][name]]) for name in shared}
            return self._leave(outcomes[0], lambda name: Value(Link(f"{node}.{name}", "", merged[name])), shared, True)
        caught_code = Link(f"{node}.caught", "", Optional[str])
        number = 0 if bool(Test(f"{VALUE} is none", [(VALUE, caught_code)])) else 1
        side = SIDES[number]
        self.handles = number == 1
        found = kinds[number]
        return self._leave(outcomes[number], lambda name: _given(node, side, name, found[name]), names[number], False)

    def _codes(self) -> list[Callable[[], Any]]:
        return [self.body, lambda: self.handler(Failure())]

    def _once(self, code: Callable[[], Any]) -> tuple[Draft, Outcome]:
        """One call of a side, with a draft of its own."""
        outer = self.tracer.draft
        inner = Draft(inputs=outer.inputs, taken={*outer.nodes, *outer.taken}, kinds=dict(outer.kinds))
        self.tracer.draft = inner
        handlers = HANDLERS.get()
        HANDLERS.set(0)
        try:
            self._restore()
            returned = code()
            inner.write_pending()
            return inner, self._outcome(returned)
        finally:
            HANDLERS.set(handlers)
            self.tracer.draft = outer

    def _restore(self) -> None:
        for thing, content in self.cells.saved:
            restore(thing, content)
        self.cells.write(dict(self.before))
        # A variable that was not assigned before has what another side gave it.
        self.base = self.cells.read()

    def _outcome(self, returned: Any) -> Outcome:
        state = self.cells.read()
        values = {name: value for name, value in state.items() if value is not self.base.get(name, self)}
        values = {name: value for name, value in values.items() if not isinstance(value, Failure)}
        counts: dict[int, int] = {}
        for thing, content in self.cells.saved:
            if same_content(thing, content):
                continue
            if type(thing) is not list or any(one is not other for one, other in zip(thing, content, strict=False)):
                refuse(f"changes a `{type(thing).__name__}` in a `try`", "Append to a list, or assign a variable.")
            for number, item in enumerate(thing[len(content) :]):
                values[f"item_{list(self.lists).index(id(thing))}_{number}"] = item
            counts[id(thing)] = len(thing) - len(content)
        if isinstance(returned, Returned):
            return Outcome({"returned": returned.value}, {}, True)
        return Outcome(values, counts)

    def _outcomes(self, code: Callable[[], Any]) -> list[tuple[Draft, Outcome]]:
        """What all ways through a side do."""
        found: list[tuple[Draft, Outcome]] = []

        def once(_: bool) -> Draft:
            found.append(self._once(code))
            return found[-1][0]

        outer = self.tracer.draft
        try:
            Ways(once, lambda: self.tracer.draft, lambda then, *_: then).all()
        finally:
            self.tracer.draft = outer
            self._restore()
        return found

    def _only(self, found: list[tuple[Draft, Outcome]]) -> Outcome:
        outcomes = [outcome for _, outcome in found]
        if any(outcome.shape() != outcomes[0].shape() for outcome in outcomes):
            refuse("does other things on each way within a `try`", "Decide after it.")
        return outcomes[0]

    def _names(self, found: list[tuple[Draft, Outcome]], merges: bool) -> list[str]:
        """The values of a side that are outputs: a constant of the only way stays a constant of the program."""
        parts = found[0][1].parts()
        return [name for name, value in parts.items() if merges or len(found) > 1 or holds_value(value)]

    def _kinds(self, found: list[tuple[Draft, Outcome]]) -> dict[str, Any]:
        from .structure import type_of

        parts = [outcome.parts() for _, outcome in found]
        return {name: joined([type_of(each[name]) for each in parts]) for name in parts[0]}

    def _drawn(self, code: Callable[[], Any], names: list[str], nulls: dict[str, Link], prefix: str = "") -> Draft:
        outer = self.tracer.draft

        def once(_: bool) -> Draft:
            inner, outcome = self._once(code)
            parts = {f"{prefix}{name}": _one(value) for name, value in outcome.parts().items()}
            own = {f"{prefix}{name}": parts[f"{prefix}{name}"] for name in names}
            outputs = {**own, **nulls} or {"done": constant(True)}
            inner.outputs = {name: inner.selection(link) for name, link in outputs.items()}
            return inner

        try:
            return Ways(once, lambda: self.tracer.draft).all()
        finally:
            self.tracer.draft = outer
            self._restore()

    def _nulls(self, side: int, names: list[list[str]], kinds: list[dict[str, Any]]) -> dict[str, Link]:
        """The outputs of the other side, which have no value on this one."""
        optional = {name: Optional[kinds[side][name]] for name in names[side]}
        return {f"{SIDES[side]}_{name}": structured(None, kind) for name, kind in optional.items()}

    def _node(self, outer: Draft, drafts: list[Draft], caught: Any) -> str:
        names = InputNames()
        module, other = (Subgraph(each, each.nodes, each.edges, each.outputs, names) for each in drafts)
        config: dict[str, Any] = {"module": module.strategy(), "else": other.strategy()}
        codes = codes_of(caught, bool(drafts[0].bound))
        if codes is not None:
            config["catch"] = codes
        node = outer.free_name("try")
        bound = []
        for draft, side in zip(drafts, ("module", "else"), strict=True):
            bound += [replace(item, path=f"{node}.{side}.{item.path}", node=node) for item in draft.bound]
            for note in draft.notes:
                outer.note(note)
        outer.nodes[node], outer.places[node] = {"strategy": "try", "config": config}, here()
        if paths := dspy_paths(node, bound):
            outer.nodes[node]["dspy_paths"] = paths
        outer.bound += bound
        for source, name in names.sources.items():
            outer.edges.append(Edge(source, f"{node}.{name}", here()))
        return node

    def _leave(self, outcome: Outcome, value_of: Callable[[str], Value], known: list[str], merges: bool) -> Any:
        """The program after the `try`, with what one side did."""
        made: dict[str, Any] = {}
        for name, value in outcome.values.items():
            if not holds_value(value) and name not in known and not merges:
                made[name] = value
            elif isinstance(value, dspy.Prediction):
                members = [member for member, _ in value.items() if f"{name}__{member}" in known]
                made[name] = dspy.Prediction(**{member: value_of(f"{name}__{member}") for member in members})
            else:
                made[name] = value_of(name)
        for number, thing in enumerate(self.lists.values()):
            items = [made.pop(name) for name in list(made) if name.startswith(f"item_{number}_")]
            thing.extend(items)
        if outcome.returns:
            return Returned(made["returned"])
        self.cells.write(made)
        return None


def _given(node: str, side: str, name: str, kind: Any) -> Value:
    """An output that has a value on the way that is taken."""
    link = Link(f"{node}.{side}_{name}", "", Optional[kind])
    return Value(link.typed(kind) if link.annotation == kind else required(link, None))


def _one(value: Any) -> Link:
    if isinstance(value, Value):
        return link_of(value)
    return collected(value) if holds_value(value) else constant(value)
