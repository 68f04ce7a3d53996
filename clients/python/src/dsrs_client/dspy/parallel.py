"""`dspy.Parallel`: its pairs become nodes without an edge between them, which a graph runs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dspy

from .mapping import Pairs, mapped
from .refusal import op, refuse
from .value import Value, link_of

if TYPE_CHECKING:
    from .trace import Tracer


def parallel(tracer: Tracer, module: Any, pairs: Any, num_threads: int | None = None) -> Any:
    """The results of all pairs, in their order."""
    if isinstance(pairs, Value):
        refuse(f"runs over {link_of(pairs).label}, whose length the run decides", op("map"))
    unpacked = module.access_examples
    if isinstance(pairs, Pairs):
        results = mapped(tracer, pairs.values, lambda element: _of_pair(tracer, pairs.function(element), unpacked))
    else:
        results = [_of_pair(tracer, pair, unpacked) for pair in pairs]
    return (results, [], []) if module.return_failed_examples else results


def _of_pair(tracer: Tracer, pair: Any, unpacked: bool) -> Any:
    function, example = pair
    call = tracer.hooks.call
    if isinstance(example, dspy.Example):
        return call(function, **example.inputs()) if unpacked else call(function, example)
    if isinstance(example, dict):
        return call(function, **example)
    return call(function, *example) if isinstance(example, tuple) else call(function, example)
