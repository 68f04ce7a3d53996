"""`dspy.Parallel`: its pairs become nodes without an edge between them, which a graph runs at once."""

from __future__ import annotations

from typing import Any

import dspy

from .refusal import refuse
from .value import Value, link_of


def parallel(module: Any, pairs: Any, num_threads: int | None = None) -> Any:
    """The results of all pairs, in their order."""
    if isinstance(pairs, Value):
        refuse(
            f"runs over {link_of(pairs).label}, whose length the run decides",
            "Nearest: `map` (docs/strategies.md#map).",
        )
    results = [_result(called, example, module.access_examples) for called, example in pairs]
    return (results, [], []) if module.return_failed_examples else results


def _result(called: Any, example: Any, unpacked: bool) -> Any:
    if isinstance(example, dspy.Example):
        return called(**example.inputs()) if unpacked else called(example)
    if isinstance(example, dict):
        return called(**example)
    return called(*example) if isinstance(example, tuple) else called(example)
