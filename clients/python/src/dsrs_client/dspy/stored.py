"""A stored graph within a program that is pushed: a `Remote` is a node that runs it."""

from __future__ import annotations

from typing import Any

import dspy

from .leaf import KINDS, Leaf
from .options import Options
from .remote import Remote


def stored(module: Any, options: Options) -> Leaf:
    """The node of a `Remote`."""
    fields: dict[str, Any] = {name: (kind, dspy.InputField()) for name, kind in module.inputs.items()}
    fields |= {name: (kind, dspy.OutputField()) for name, kind in module.outputs.items()}
    config = {"graph": module.connection.name}
    return Leaf("graph", dspy.Signature(fields, "Run the graph."), module.outputs, [], config, declares=False)


KINDS[Remote.forward] = stored
