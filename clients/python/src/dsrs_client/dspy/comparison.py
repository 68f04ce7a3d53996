"""`dspy.MultiChainComparison`: a text for each attempt, and a `predict` node that compares them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .annotation import is_number, is_text
from .leaf import Inner, Leaf
from .link import Link, Operation
from .refusal import op, refuse
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer

FIRST_LINE = "|string|trim|split('\\n')|first|trim"
ATTEMPT = (
    "«I'm trying to {{ rationale" + FIRST_LINE + " }} I'm not sure but my prediction is {{ answer" + FIRST_LINE + " }}»"
)


def compare(tracer: Tracer, module: Any, completions: Any, **arguments: Any) -> Any:
    """The comparison, with its attempts written as DSPy writes them."""
    if len(completions) != module.M:
        refuse(f"compares {len(completions)} attempts with a comparison that is made for {module.M}")
    for number, completion in enumerate(completions, 1):
        rationale = completion.get("rationale", completion.get("reasoning"))
        arguments[f"reasoning_attempt_{number}"] = _attempt(rationale, completion[module.last_key])
    signature = module.predict.signature
    outputs = {name: info.annotation for name, info in signature.output_fields.items()}
    leaf = Leaf("predict", signature, outputs, [Inner("predict", "", module.predict)])
    return tracer.node(module, leaf, (), arguments)


def _attempt(rationale: Any, answer: Any) -> Any:
    feeds = [("rationale", _text(rationale)), ("answer", _text(answer))]
    return Value(Operation("render", {"template": ATTEMPT}, feeds, "text").link(str))


def _text(value: Any) -> Link:
    if not isinstance(value, Value):
        refuse("compares an attempt that is a constant, or that has no reasoning", op("multi_chain_comparison"))
    link = link_of(value)
    if not is_text(link.annotation) and not is_number(link.annotation):
        refuse(f"compares attempts by {link.label}, which is no text", op("multi_chain_comparison"))
    return link
