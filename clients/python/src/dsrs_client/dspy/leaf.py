"""What a DSPy module becomes: a strategy, its config and signature, and the paths of its predictors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import dspy

from . import evidence
from . import signature as signatures
from .options import Options
from .refusal import op, refuse


@dataclass(frozen=True)
class Inner:
    """A predictor within a module: its attribute path there, and its path under the node."""

    attribute: str
    path: str
    predictor: Any
    #: the instruction that DSPy generated, for predictors whose instruction the graph writes itself
    generated: str | None = None


@dataclass(frozen=True)
class Leaf:
    """A module as a node."""

    strategy: str
    signature: Any
    outputs: dict[str, Any]
    inner: list[Inner]
    config: dict[str, Any] = field(default_factory=dict)
    #: whether the node declares the signature; a stored graph has its own
    declares: bool = True
    #: the outputs that DSPy returns as objects with their probabilities, and the types of these
    objects: dict[str, Any] = field(default_factory=dict)
    #: arguments of a call that the module takes beside its inputs, and a node does not have
    without: tuple[str, ...] = ()


def of_program(predictor: Any) -> Any:
    """The predictor of the program, where the graph has other fields than it."""
    return getattr(predictor, "of", predictor)


def predict(module: Any, options: Options) -> Leaf:
    """`dspy.Predict`."""
    if evidence.decided(module):
        return decide(module)
    signature = module.signature
    outputs = {name: info.annotation for name, info in signature.output_fields.items()}
    return Leaf("predict", signature, outputs, [Inner("", "", module)])


def decide(module: Any) -> Leaf:
    """A `dspy.Predict` with decision outputs."""
    refuse_nested(module)
    signature = evidence.signature_of(module)
    outputs = {name: info.annotation for name, info in signature.output_fields.items()}
    given = module.signature.output_fields
    objects = {name: kind for name, kind in evidence.decided(module).items() if given[name].annotation is kind}
    inner = [Inner("", "", module)]
    return Leaf("decide", signature, outputs, inner, evidence.config_of(module), objects=objects)


def chain_of_thought(module: Any, options: Options) -> Leaf:
    """`dspy.ChainOfThought`; one with a reasoning field of its own is a `predict` node with that field."""
    extended = module.predict.signature
    if evidence.decided(module.predict):
        return replace(decide(module.predict), inner=[Inner("predict", "", module.predict)])
    reasoning = extended.output_fields.get("reasoning")
    if not _is_standard_reasoning(reasoning):
        leaf = predict(module.predict, options)
        return Leaf(leaf.strategy, leaf.signature, leaf.outputs, [Inner("predict", "", module.predict)])
    base = extended.delete("reasoning")
    outputs = {name: info.annotation for name, info in extended.output_fields.items()}
    return Leaf("chain_of_thought", base, outputs, [Inner("predict", "predict", module.predict)])


def program_of_thought(module: Any, options: Options) -> Leaf:
    """`dspy.ProgramOfThought`: the programs run in the sandbox of the server."""
    outputs = {name: info.annotation for name, info in module.signature.output_fields.items()}
    fresh = type(module)(module.signature, max_iters=module.max_iters)
    names = ("code_generate", "code_regenerate", "generate_output")
    inner = [
        Inner(f"{name}.predict", f"{name}.predict", getattr(module, name).predict, _instruction_in(fresh, name))
        for name in names
    ]
    return Leaf("program_of_thought", module.signature, outputs, inner, {"max_iters": module.max_iters})


def _instruction_in(module: Any, name: str) -> str:
    return str(getattr(module, name).predict.signature.instructions)


def _is_standard_reasoning(info: Any) -> bool:
    return info is not None and info.annotation is str and signatures.description("reasoning", info) is None


def refuse_nested(module: Any) -> None:
    """DSPy decides whole outputs only; a decision within another type it asks for as it is."""
    known = evidence.decided(module)
    for name, info in module.signature.output_fields.items():
        if name not in known:
            signatures.field(name, info)


#: the strategies of which one call may ask for several completions
COMPLETED = ("predict", "chain_of_thought")


def refuse_completions(config: dict[str, Any]) -> None:
    """Several completions of one call are several attempts."""
    if (config.get("n") or 1) > 1:
        refuse(f"asks for {config['n']} completions of one call", op("parallel"))


KINDS: dict[Any, Callable[[Any, Options], Leaf]] = {
    dspy.Predict.forward: predict,
    dspy.ChainOfThought.forward: chain_of_thought,
    dspy.ProgramOfThought.forward: program_of_thought,
}


def leaf_of(module: Any, options: Options) -> Leaf | None:
    """The node of a module, unless the module is code of the program."""
    if "forward" in vars(module):
        return None
    builder = KINDS.get(getattr(type(module), "forward", None))
    return builder(module, options) if builder is not None else None
