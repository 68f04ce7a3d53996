"""`dspy.BestOfN` and `dspy.Refine`: attempts of a module, with a reward that the server computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import dspy

from .leaf import KINDS, Inner, Leaf, leaf_of
from .options import Options
from .refusal import refuse
from .reward import expression_of


def _attempts(strategy: str, module: Any, options: Options) -> Leaf:
    leaf = leaf_of(module.module, options)
    if leaf is None:
        kind = type(module.module).__name__
        refuse(
            f"makes attempts of `{kind}`, a program of several steps, and nothing else",
            "Make it an attribute of a program that calls it.",
        )
    if leaf.objects:
        name = next(iter(leaf.objects))
        refuse(
            f"makes attempts of a predictor whose output `{name}` is an object", "Annotate it: `Annotated[bool, Noul]`."
        )
    inner = {"strategy": leaf.strategy, **({"config": leaf.config} if leaf.config else {})}
    reward = named_reward(module, options) or expressed(reward_function(module), kinds_of(leaf))
    config = settings_of(module, inner, reward)
    return Leaf(strategy, leaf.signature, leaf.outputs, [within(part) for part in leaf.inner], config, leaf.declares)


def kinds_of(leaf: Leaf) -> dict[str, dict[str, Any]]:
    """The types of the inputs and outputs of a node."""
    inputs = {name: info.annotation for name, info in leaf.signature.input_fields.items()}
    return {"inputs": inputs, "outputs": leaf.outputs}


def settings_of(module: Any, inner: dict[str, Any], reward: dict[str, Any]) -> dict[str, Any]:
    """The config of attempts of an inner strategy."""
    config = {"module": inner, "n": module.N, "reward": reward}
    if module.threshold is not None:
        config["threshold"] = module.threshold
    if module.fail_count != module.N:
        config["fail_count"] = module.fail_count
    return config


def within(inner: Inner) -> Inner:
    """A predictor of the module of a node."""
    names = [f"module.{name}".rstrip(".") for name in (inner.attribute, inner.path)]
    return replace(inner, attribute=names[0], path=names[1])


def reward_function(module: Any) -> Any:
    """The function of the program that DSPy calls for the reward."""
    return module.reward_fn.__closure__[0].cell_contents


def named_reward(module: Any, options: Options) -> Any:
    """The reward that the caller names for the function, if there is one."""
    function = reward_function(module)
    return options.rewards.get(getattr(function, "__name__", type(function).__name__))


def expressed(function: Any, kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The function as an expression."""
    return {"expression": expression_of(function, kinds)}


def best_of_n(module: Any, options: Options) -> Leaf:
    """The node of `dspy.BestOfN`."""
    return _attempts("best_of_n", module, options)


def refine(module: Any, options: Options) -> Leaf:
    """The node of `dspy.Refine`."""
    return _attempts("refine", module, options)


KINDS[dspy.BestOfN.forward] = best_of_n
KINDS[dspy.Refine.forward] = refine
