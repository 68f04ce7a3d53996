"""A reward function that asks predictors, or does more than an expression can say: a `judge` that is a `subgraph`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Union, cast

import dspy

from .annotation import schema_of
from .attempts import expressed, named_reward, reward_function
from .code import in_contexts, users_function
from .draft import Bound
from .inputs import refuse_library
from .note import Note
from .part import Part, traced_part
from .refusal import STOPS, Stop, refuse
from .reward import constants_of

if TYPE_CHECKING:
    from .trace import Tracer

REWARD = "reward"

Reward = Union[FunctionType, MethodType]


@dataclass(frozen=True)
class Judge:
    """The config of a reward, with the predictors that it asks, by their paths within the node."""

    config: dict[str, Any]
    bound: list[Bound]
    notes: list[Note]


def reward_of(tracer: Tracer, module: Any, inputs: dict[str, Any], outputs: dict[str, Any]) -> Judge:
    """The reward: the one that the caller names, an expression, or a traced function."""
    if (named := named_reward(module, tracer.options)) is not None:
        return Judge(named, [], [])
    function = reward_function(module)
    first = len(tracer.stops)
    try:
        return Judge(expressed(function, {"inputs": inputs, "outputs": outputs}), [], [])
    except Stop as stop:
        refusal = stop
    if not isinstance(function, (FunctionType, MethodType)):
        raise refusal
    del tracer.stops[first:]
    try:
        return _judge(tracer, function, inputs, outputs)
    except Stop:
        if next(_modules(function), None) is not None:
            raise
        # What an expression cannot say is the nearer reason.
        tracer.stops[first:] = [refusal]
        raise refusal from None


def is_expressible(module: Any, options: Any, kinds: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the reward of a module is named, or an expression."""
    if named_reward(module, options) is not None:
        return True
    with _without_record():
        try:
            expressed(reward_function(module), kinds)
        except Stop:
            return False
    return True


def _judge(tracer: Tracer, function: Reward, inputs: dict[str, Any], outputs: dict[str, Any]) -> Judge:
    if both := sorted(inputs.keys() & outputs.keys()):
        refuse(f"has a reward over the input and the output `{both[0]}`, which have one name", "Rename one of them.")
    for name, module in _modules(function):
        tracer.adopt(name, module)
    kinds = {**inputs, **outputs}
    inner = traced_part(tracer, kinds, lambda values: _scored(tracer, function, values, inputs))
    part = Part(inner, kinds)
    kind = part.kind(REWARD)
    config = {
        "judge": {
            "signature": {
                "instructions": f"Computes the reward `{function.__name__}`.",
                "inputs": [{"name": name, "type": schema_of(kinds[name])} for name in part.inputs],
                "outputs": [{"name": REWARD, "type": schema_of(kind)}],
            },
            "score": REWARD,
            **part.strategy,
        }
    }
    bound = [replace(item, path=f"judge.{item.path}") for item in inner.bound]
    return Judge(config, bound, inner.notes)


def _scored(tracer: Tracer, function: Reward, values: dict[str, Any], inputs: dict[str, Any]) -> Any:
    """The reward of one attempt."""
    plain, owner = _plain(function)
    given = {name: values[name] for name in inputs}
    found = dspy.Prediction(**{name: value for name, value in values.items() if name not in inputs})
    followed = users_function(plain, tracer.draft.note)
    if followed is None:
        refuse_library(function, plain)
    returned = in_contexts(tracer.hooks.run(followed), plain, tracer.draft)(*owner, given, found)
    if returned is None:
        refuse(f"has the reward `{function.__name__}`, which returns nothing on one way")
    return dspy.Prediction(**{REWARD: returned})


def _plain(function: Reward) -> tuple[FunctionType, list[Any]]:
    """The function of a method, and the object that it is given."""
    if isinstance(function, MethodType):
        return cast(FunctionType, function.__func__), [function.__self__]
    return function, []


def _modules(reward: Reward) -> Iterator[tuple[str, Any]]:
    """The modules that a function names: of its module, of the function around it, or its own object."""
    function, owner = _plain(reward)
    yield from (("self", module) for module in owner if isinstance(module, dspy.Module))
    names = {*function.__code__.co_names, *function.__code__.co_freevars}
    for name, value in constants_of(function, []).items():
        if name in names and isinstance(value, dspy.Module):
            yield name, value


@contextmanager
def _without_record() -> Iterator[None]:
    token = STOPS.set(None)
    try:
        yield
    finally:
        STOPS.reset(token)
