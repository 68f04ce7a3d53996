"""The inputs of a program: the parameters of its `forward`."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from . import signature as signatures
from .annotation import Unknown
from .leaf import leaf_of
from .options import Options
from .place import Place
from .refusal import refuse


def inputs_of(program: Any, options: Options) -> dict[str, Any]:
    """The inputs: the fields of a lone module, or the parameters of `forward` without a default."""
    if (leaf := leaf_of(program, options)) is not None:
        return {name: _declared(info) for name, info in signatures.inputs(leaf.signature).items()}
    forward = forward_of(program)
    hints = _hints(forward)
    found = {}
    for parameter in list(inspect.signature(forward).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD or parameter.kind is parameter.VAR_POSITIONAL:
            way_out = "Name them: `inputs={'question': str}`."
            refuse(f"`*{parameter.name}` does not name the inputs", way_out, place_of(program))
        if parameter.default is parameter.empty:
            found[parameter.name] = hints.get(parameter.name, Unknown)
    return found


def place_of(program: Any) -> Place:
    """Where a program is defined."""
    code = forward_of(program).__code__
    return Place(code.co_filename, code.co_firstlineno)


def declared_inputs(program: Any, options: Options) -> dict[str, Any]:
    """The inputs of a lone module that have a description or a default."""
    if (leaf := leaf_of(program, options)) is None:
        return {}
    fields = [signatures.field(name, info) for name, info in signatures.inputs(leaf.signature).items()]
    return {field.pop("name"): field for field in fields if len(field) > 2}


def _declared(info: Any) -> Any:
    return Unknown if signatures.is_untyped(info) else info.annotation


def _hints(function: FunctionType) -> dict[str, Any]:
    from typing import get_type_hints

    try:
        return get_type_hints(function)
    except NameError:
        return {}


def forward_of(module: Any) -> FunctionType:
    """The function that runs a module."""
    forward = getattr(type(module), "forward", None)
    if forward is None:
        name = type(module).__name__
        refuse(f"`{name}` has no `forward`", "A graph runs independent nodes at once without `async`.")
    while not isinstance(forward, FunctionType):
        forward = forward.__func__
    return forward
