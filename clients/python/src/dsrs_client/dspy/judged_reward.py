"""A reward function that asks predictors, or does more than an expression can say: a `judge` that is a `subgraph`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Union, cast

import dspy

from .annotation import schema_of
from .attempts import expressed, named_reward, reward_function
from .builtin import number
from .code import in_contexts, users_function
from .draft import Bound
from .inputs import refuse_library
from .judged_values import Arguments, Judged
from .note import Note
from .part import Part, traced_part
from .refusal import STOPS, Stop, refuse
from .reward import constants_of
from .value import Value

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
    before, adopted = tracer.adopted, _names(function)
    tracer.adopted = adopted
    try:
        return _judge(tracer, function, inputs, outputs)
    except Stop:
        if adopted.is_used:
            raise
        # What an expression cannot say is the nearer reason.
        tracer.stops[first:] = [refusal]
        raise refusal from None
    finally:
        tracer.adopted = before


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
    if REWARD in {*inputs, *outputs}:
        refuse(f"has a reward over a field that is named `{REWARD}`, as the score is", "Rename the field.")
    if both := sorted(inputs.keys() & outputs.keys()):
        refuse(f"has a reward over the input and the output `{both[0]}`, which have one name", "Rename one of them.")
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
    given = Arguments({name: values[name] for name in inputs})
    found = Judged(**{name: value for name, value in values.items() if name not in inputs})
    followed = users_function(plain, tracer.draft.note)
    if followed is None:
        refuse_library(function, plain)
    returned = in_contexts(tracer.hooks.run(followed), plain, tracer.draft)(*owner, given, found)
    if returned is None:
        refuse(f"has the reward `{function.__name__}`, which returns nothing on one way")
    return dspy.Prediction(**{REWARD: _score(returned)})


def _score(returned: Any) -> Any:
    """The reward as a float, on all ways."""
    if isinstance(returned, Value):
        return number(float)(returned)
    return float(returned) if isinstance(returned, (bool, int)) else returned


def _plain(function: Reward) -> tuple[FunctionType, list[Any]]:
    """The function of a method, and the object that it is given."""
    if isinstance(function, MethodType):
        return cast(FunctionType, function.__func__), [function.__self__]
    return function, []


@dataclass
class Adopted:
    """The modules that a reward asks and that are no attributes of the program, with the names that they get."""

    names: dict[int, str]
    #: whether the reward names a module, or calls one
    is_used: bool = False

    def name_of(self, module: Any) -> str:
        """The name of its variable, or of its kind."""
        self.is_used = True
        return self.names.setdefault(id(module), re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(module).__name__).lower())


def _names(reward: Reward) -> Adopted:
    """The names of modules in the scopes of a function."""
    function, _ = _plain(reward)
    names: dict[int, str] = {}
    for name, value in constants_of(function, []).items():
        if isinstance(value, dspy.Module):
            for path, inner in value.named_sub_modules(dspy.Module):
                names.setdefault(id(inner), f"{name}{str(path).removeprefix('self')}")
    used = {*function.__code__.co_names, *function.__code__.co_freevars}
    mentions = any(isinstance(value, dspy.Module) for name, value in constants_of(function, []).items() if name in used)
    return Adopted(names, mentions)


@contextmanager
def _without_record() -> Iterator[None]:
    token = STOPS.set(None)
    try:
        yield
    finally:
        STOPS.reset(token)
