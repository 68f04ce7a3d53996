"""What a loop carries from round to round: variables and lists, as values and as outputs. Traces nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from .annotation import element_of, list_of
from .container import Splice, collected
from .contents import holds_value
from .draft import Draft
from .link import Link
from .structure import constant, joined, structured, type_of
from .value import Value, link_of

State = dict[str, Any]


@dataclass
class Round:
    """What one way through the body did."""

    draft: Draft
    state: State
    appended: dict[int, list[Any]]
    ends: bool


@dataclass
class Carry:
    """The variables and lists that the body of one loop changes, with their types."""

    scope: str
    #: the type of the elements of the list that the loop goes through
    kind: Any
    names: dict[str, Any] = field(default_factory=dict)
    #: the types of the elements of lists, by their ids
    grown: dict[int, Any] = field(default_factory=dict)
    is_flat: dict[int, bool] = field(default_factory=dict)

    def learn(self, found: list[Round], before: State) -> set[str]:
        """Takes the types of what the body changes; returns the variables that it assigns."""
        assigned: set[str] = set()
        for each in found:
            for name, value in each.state.items():
                if name not in before or value is not before[name]:
                    assigned.add(name)
                if name in before and value is not before[name] and _is_data(before[name]):
                    kinds = [kind for kind in map(_kind, (before[name], value)) if kind is not None]
                    self.names[name] = joined([self.names[name], *kinds] if name in self.names else kinds)
            for identity, items in each.appended.items():
                kinds = [_kind_of_item(item) for item in items]
                known = [self.grown[identity]] if identity in self.grown else []
                self.grown[identity] = joined([*known, *kinds])
        self.names = {name: float if kind == Union[int, float] else kind for name, kind in self.names.items()}
        for identity in self.grown:
            counts = [each.appended.get(identity, []) for each in found]
            self.is_flat[identity] = any(len(items) != 1 or isinstance(items[0], Splice) for items in counts)
        return assigned

    def state(self, before: State) -> State:
        """Variables as values that the round before decides."""
        return {**before, **{name: Value(Link(f"{self.scope}.{name}", "", kind)) for name, kind in self.names.items()}}

    def source_of(self, identity: int) -> str:
        """The source of a list."""
        return f"{self.scope}.{self.name_of(identity)}"

    def name_of(self, identity: int) -> str:
        """The name of a list."""
        return f"list_{list(self.grown).index(identity) + 1}"

    def sources(self) -> set[str]:
        """Everything that a round may take from the one before it."""
        return {f"{self.scope}.{name}" for name in self.names} | {self.source_of(each) for each in self.grown}

    def element(self, is_loop: bool) -> Link:
        """The element of a round."""
        if is_loop:
            return Link(f"{self.scope}.rest", "", list_of(self.kind)).element(0, self.kind)
        return Link(f"{self.scope}.element", "", self.kind)

    def differs(self, each: Round, name: str) -> bool:
        """Whether a round assigned another value to a variable."""
        value = each.state.get(name)
        return not (isinstance(value, Value) and link_of(value).source == f"{self.scope}.{name}")

    def map_outputs(self, made: Round) -> dict[str, Link]:
        """The outputs of an independent round."""
        outputs = {}
        for identity, kind in self.grown.items():
            items = made.appended.get(identity, [])
            outputs[self.name_of(identity)] = _many(items, kind) if self.is_flat[identity] else one(items[0])
        return outputs or {"done": constant(True)}

    def loop_outputs(self, made: Round, ends: bool) -> dict[str, Link]:
        """The outputs of a round that the next one needs."""
        rest = Link(f"{self.scope}.rest", "", list_of(self.kind))
        outputs: dict[str, Any] = {"next_rest": Value(rest)[1:]}
        outputs |= {f"next_{name}": made.state[name] for name in self.names}
        for identity, kind in self.grown.items():
            state = Splice(Link(self.source_of(identity), "", list_of(kind)))
            outputs[f"next_{self.name_of(identity)}"] = Value(collected([state, *made.appended.get(identity, [])]))
        if ends:
            outputs["ends"] = made.ends
        kinds = {f"next_{name}": kind for name, kind in self.names.items()}
        return {name: one(value, kinds.get(name)) for name, value in outputs.items()}

    def initial(
        self, before: State, contents: Mapping[int, Any], note: Callable[[str, str], None]
    ) -> dict[str, tuple[Link, Any]]:
        """What the first round begins with, with the type that all rounds have."""
        initial = {name: (one(before[name], kind), kind) for name, kind in self.names.items()}
        for name, kind in self.names.items():
            if kind is float and type(before[name]) is int:
                begins = float(before[name])
                text = f"`{name}` is {begins} instead of {before[name]} where a loop makes no round"
                note(text, f"Begin with `{begins}`.")
        for identity, kind in self.grown.items():
            content = contents[identity]
            link = collected(list(content)) if content else structured([], list_of(kind))
            initial[self.name_of(identity)] = (link, list_of(kind))
        return initial


def one(value: Any, kind: Any = None) -> Link:
    """A value of a round as an output."""
    if isinstance(value, Value):
        return link_of(value)
    if holds_value(value):
        return collected(value)
    return constant(value) if kind in (None, str) else structured(value, kind)


def _many(items: list[Any], kind: Any) -> Link:
    """The values that a round appends."""
    return collected(list(items)) if items else structured([], list_of(kind))


def _kind_of_item(item: Any) -> Any:
    return element_of(item.link.annotation) if isinstance(item, Splice) else type_of(item)


def _is_data(value: Any) -> bool:
    """Whether a variable is a value that a round can take from the one before it."""
    return isinstance(value, (Value, str, int, float, list, dict, tuple, type(None)))


def _kind(value: Any) -> Any:
    """The type of a variable; an empty container says none."""
    return None if isinstance(value, (list, dict)) and not value else type_of(value)
