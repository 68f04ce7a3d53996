"""All ways through the decisions of a program as one graph.

Each decision is a `branch` node, whose arms are what the program does afterwards on that way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from .annotation import Unknown
from .decision import DECIDE, VALUE, Test
from .draft import Decision, Draft, Edge
from .link import FACTS, PENDING, Link, required
from .place import Place, here
from .record import dspy_paths
from .refusal import Fork, op, refuse
from .structure import joined as joined_kinds
from .subgraph import InputNames, Subgraph

#: decisions one after another: a server nests subgraphs so deep
DEPTH = 8
#: ways in all
MOST = 32
#: tests that are decided on this way
ANSWERS: ContextVar[dict[Any, bool] | None] = ContextVar("ANSWERS", default=None)


Join = Callable[[Draft, Draft, int], Draft]


class Ways:
    """Takes every way through a program."""

    def __init__(self, trace: Callable[[bool], Draft], current: Callable[[], Draft], join: Join | None = None) -> None:
        #: traces the program once; whether it was traced before
        self.trace = trace
        #: the draft into which the trace writes now
        self.current = current
        #: makes one graph of both ways of a decision
        self.join = join or _joined
        self.taken = 0
        self.place: Place | None = None

    def all(self) -> Draft:
        """The graph of all ways."""
        return self._after([])

    def _after(self, known: list[bool]) -> Draft:
        found = self._one(known)
        if found is not None:
            self.taken += 1
        if self.taken > MOST or (found is None and len(known) == DEPTH):
            ways = f"{DEPTH} times in a row by values of a run, or has more than {MOST} ways"
            refuse(f"decides more than {ways}", op("loop"), self.place)
        if found is not None:
            return found
        then, otherwise = self._after([*known, True]), self._after([*known, False])
        return self.join(then, otherwise, len(known))

    def _one(self, known: list[bool]) -> Draft | None:
        """One trace with these decisions; none if there is one more."""
        forks: list[Fork] = []
        answers = dict(ANSWERS.get() or {})

        def way(test: Test) -> bool:
            expression, is_negated = _plain(test.expression)
            asked = (expression, tuple((name, link.identity) for name, link in test.inputs))
            if asked not in answers:
                draft = self.current()
                draft.write_pending()
                if len(draft.decisions) == len(known):
                    self.place = here()
                    forks.append(Fork())
                    raise forks[-1]
                inputs = [(name, draft.selection(link)) for name, link in test.inputs]
                draft.decisions.append(Decision(expression, inputs, len(draft.nodes), len(draft.edges)))
                answers[asked] = known[len(draft.decisions) - 1]
                _learn(expression, test.inputs, answers[asked])
            return answers[asked] is not is_negated

        tokens: list[tuple[Any, Any]] = [
            (DECIDE, DECIDE.set(way)),
            (ANSWERS, ANSWERS.set(answers)),
            (FACTS, FACTS.set(dict(FACTS.get() or {}))),
            (PENDING, PENDING.set([])),
        ]
        try:
            draft = self.trace(bool(known))
        except Fork:
            return None
        finally:
            for variable, token in tokens:
                variable.reset(token)
        return None if forks else draft


def _plain(expression: str) -> tuple[str, bool]:
    """A test without `not` around it, and whether there was one."""
    negated = re.fullmatch(r"not \((.*)\)", expression, re.DOTALL)
    if negated is not None:
        inner, is_negated = _plain(negated.group(1))
        return inner, not is_negated
    is_not = re.fullmatch(r"(.*) is not none", expression, re.DOTALL)
    return (f"{is_not.group(1)} is none", True) if is_not is not None else (expression, False)


def _learn(expression: str, inputs: list[tuple[str, Link]], answer: bool) -> None:
    """Notes that a value is not `None` on this way."""
    facts = FACTS.get()
    is_something = (expression == f"{VALUE} is none" and not answer) or (expression == VALUE and answer)
    if facts is not None and is_something:
        link = inputs[0][1]
        if link.is_optional:
            facts[link.identity] = required(link, None)


def _joined(then: Draft, otherwise: Draft, position: int) -> Draft:
    """The graph of both ways of a decision."""
    decision = then.decisions[position]
    if list(then.nodes.items())[: decision.nodes] != list(otherwise.nodes.items())[: decision.nodes]:
        refuse("does other things before a decision when it is called again", "Make it an input of `forward`.")
    prefix = dict(list(then.nodes.items())[: decision.nodes])
    inputs = {name: _settled(kind, otherwise.inputs.get(name)) for name, kind in then.inputs.items()}
    then.inputs.update(inputs)
    otherwise.inputs.update(inputs)
    joined = replace(
        then,
        nodes=prefix,
        edges=then.edges[: decision.edges],
        decisions=then.decisions[:position],
        bound=[item for item in then.bound if item.node in prefix],
        kinds={**otherwise.kinds, **then.kinds},
    )
    for note in otherwise.notes:
        joined.note(note)
    names = [name for name in then.outputs if name in otherwise.outputs]
    if not names:
        refuse("returns other members on each way of a decision", op("branch"), decision.place)
    for name in sorted({*then.outputs, *otherwise.outputs} - {*names}):
        text = f"`{name}` is returned on one way of a decision only, and is no output"
        joined.note(text, "Return it on every way.")
    # The branch within a way may have the name that this one gets.
    before = frozenset(prefix)
    node = joined.free_name("branch")
    shared = InputNames(name for name, _ in decision.inputs)
    arms = [_arm(way, decision, names, shared) for way in (then, otherwise)]
    config = {"if": decision.expression, "then": arms[0].strategy(), "else": arms[1].strategy()}
    joined.nodes[node] = {"strategy": "branch", "config": config}
    joined.places[node] = decision.place
    feeds = [*decision.inputs, *((name, source) for source, name in shared.sources.items())]
    joined.edges += [Edge(source, f"{node}.{name}", decision.place) for name, source in feeds]
    for side, way in (("then", then), ("else", otherwise)):
        inner = [item for item in way.bound if item.node not in before]
        joined.bound += [replace(item, path=f"{node}.{side}.{item.path}", node=node) for item in inner]
    if paths := dspy_paths(node, [item for item in joined.bound if item.node == node]):
        joined.nodes[node]["dspy_paths"] = paths
    joined.outputs = {name: f"{node}.{name}" for name in names}
    for name in names:
        kinds = [arm.kind(arm.outputs[name]) for arm in arms]
        joined.kinds[f"{node}.{name}"] = joined_kinds(kinds)
    return joined


def _settled(one: Any, other: Any) -> Any:
    return other if one is Unknown and other is not None else one


def _arm(way: Draft, decision: Decision, outputs: list[str], names: InputNames) -> Subgraph:
    """What a program does on one way after a decision."""
    nodes = dict(list(way.nodes.items())[decision.nodes :])
    chosen = {name: way.outputs[name] for name in outputs}
    return Subgraph(way, nodes, way.edges[decision.edges :], chosen, names)
