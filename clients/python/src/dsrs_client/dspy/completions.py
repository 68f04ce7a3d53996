"""Several completions of one call as `parallel`, and `dspy.majority` over them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dspy

from .annotation import is_text, list_of, plural
from .attempts import within
from .computed import computed, computed_of, rendered_of
from .leaf import COMPLETED, Leaf
from .link import Link
from .refusal import op, refuse
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer

NOTE = "of several completions, the first has the temperature of the module, others have 1; DSPy asks for all with 0.7"
ACCENTS = "`dspy.majority` compares letters with accents by their code points: a letter and its parts are two answers"
#: an answer as `dspy.evaluate.normalize_text` writes it: small letters without ASCII's signs and articles
NORMALIZED = (
    "(value|lower|list|reject('matching', '^[!-/:-@\\\\[-`{-~]$')|join('')).split()"
    "|reject('in', ['a', 'an', 'the'])|join(' ')"
)
#: the places of the answers that no other answer outnumbers
WINNERS = (
    "{% for place, vote in range(votes|length)|zip(votes) %}{% if COUNTS(vote) %}"
    "{% for other in votes if COUNTS(other) and votes.count(other) > votes.count(vote) %}{% else %}{{ place }},"
    "{% endfor %}{% endif %}{% endfor %}"
)


def count_of(leaf: Leaf, arguments: dict[str, Any]) -> int:
    """How many completions a call asks for. Takes the number out of the arguments."""
    if leaf.strategy not in COMPLETED:
        return 1
    config = dict(arguments.get("config") or {})
    count = config.pop("n", None) or leaf.inner[0].predictor.config.get("n") or 1
    if "config" in arguments:
        arguments["config"] = config
    return int(count)


def several(leaf: Leaf, count: int) -> Leaf:
    """The node of several completions: lists of the outputs."""
    outputs = {name: list_of(kind) for name, kind in leaf.outputs.items()}
    inner = [within(part) for part in leaf.inner]
    config = {"module": {"strategy": leaf.strategy}, "n": count}
    return replace(leaf, strategy="parallel", outputs=outputs, inner=inner, config=config)


def predicted(made: Any, leaf: Leaf, count: int) -> Any:
    """The prediction with its completions, the first of which it shows."""
    lists = {
        name: [Value(link_of(value).element(number, leaf.outputs[name])) for number in range(count)]
        for name, value in made.items()
    }
    return dspy.Prediction.from_completions(lists, signature=leaf.signature)


def majority_of(function: Any, tracer: Tracer) -> Callable[..., Any] | None:
    """`dspy.majority` of values of the run."""
    if function is not dspy.majority:
        return None
    return lambda given, **options: _majority(tracer, given, **options)


def _majority(tracer: Tracer, given: Any, normalize: Any = "default", field: str | None = None) -> Any:
    completions = given.completions if isinstance(given, dspy.Prediction) else given
    signature = getattr(completions, "signature", None)
    made = [completions[number] for number in range(len(completions))]
    name = field or (list(signature.output_fields) if signature else list(made[0].keys()))[-1]
    votes = [_vote(each[name], normalize, tracer) for each in made]
    names = [f"vote_{number}" for number in range(1, len(votes) + 1)]
    text = rendered_of(_winners(names, normalize is not None), list(zip(names, votes, strict=True)))
    place = computed("value.split(',')[0]|int", text, int)
    chosen = {key: [_chosen(place, [each[key] for each in made])] for key, _ in made[0].items()}
    return dspy.Prediction.from_completions(chosen, signature=signature)


def _winners(names: list[str], is_normalized: bool) -> str:
    """The template of the winners. An answer without words has no vote, unless all have none."""
    votes = f"[{', '.join(names)}]"
    template = WINNERS
    for vote in ("vote", "other"):
        counts = f"({vote} or not votes|select|list)" if is_normalized else "true"
        template = template.replace(f"COUNTS({vote})", counts)
    return re.sub(r"\bvotes\b", votes, template)


def _vote(value: Any, normalize: Any, tracer: Tracer) -> Link:
    if not isinstance(value, Value) or not is_text(link_of(value).annotation):
        kind = plural(link_of(value).annotation if isinstance(value, Value) else type(value))
        refuse(f"counts answers that are {kind}, no texts", op("majority"))
    if normalize is None:
        return link_of(value)
    if normalize not in ("default", dspy.predict.aggregation.default_normalize):
        refuse("calls `dspy.majority` with a `normalize` of its own", f"Pass `normalize=None`. {op('majority')}")
    tracer.draft.note(ACCENTS, "Pass `normalize=None`.")
    return computed(NORMALIZED, link_of(value), str)


def _chosen(place: Link, values: list[Any]) -> Any:
    """The value at a place that the run decides."""
    links = [link_of(value) for value in values]
    names = [f"value_{number}" for number in range(1, len(links) + 1)]
    inputs = [("place", place), *zip(names, links, strict=True)]
    return Value(computed_of(f"[{', '.join(names)}][place]", inputs, links[0].annotation))
