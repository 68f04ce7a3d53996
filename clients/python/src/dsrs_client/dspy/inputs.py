"""The inputs of a program: the parameters of the function that runs it."""

from __future__ import annotations

import inspect
from types import FunctionType, MethodType
from typing import Any, NoReturn, get_type_hints

import dspy

from . import signature as signatures
from .annotation import Unknown
from .code import users_function
from .leaf import leaf_of
from .options import Options
from .place import ENGINES, Place
from .refusal import refuse


def inputs_of(program: Any, options: Options) -> dict[str, Any]:
    """The inputs: the fields of a lone module, or the parameters of `forward` without a default."""
    if (leaf := lone_leaf(program, options)) is not None:
        return {name: _declared(info) for name, info in signatures.inputs(leaf.signature).items()}
    function, is_bound = entry_of(program)
    if users_function(function, lambda _: None) is None:
        refuse_library(program, function)
    hints = _hints(function)
    found = {}
    for parameter in list(inspect.signature(function).parameters.values())[1 if is_bound else 0 :]:
        if parameter.kind is parameter.VAR_KEYWORD or parameter.kind is parameter.VAR_POSITIONAL:
            way_out = "Name them: `inputs={'question': str}`."
            refuse(f"`*{parameter.name}` does not name the inputs", way_out, place_of(program))
        if parameter.default is parameter.empty:
            found[parameter.name] = hints.get(parameter.name, Unknown)
    return found


def lone_leaf(program: Any, options: Options) -> Any:
    """The node of a program that is one module without code of its own."""
    if own_call(program) is not None:
        return None
    inner = program
    # Attempts have the inputs of their module, whatever rewards them.
    while getattr(type(inner), "forward", None) in (dspy.BestOfN.forward, dspy.Refine.forward):
        inner = inner.module
    return (leaf_of(inner, options) if inner is not program else None) or leaf_of(program, options)


def place_of(program: Any) -> Place | None:
    """Where a program is defined."""
    function = users_function(entry_of(program)[0], lambda _: None)
    if function is None:
        return None
    return Place(function.__code__.co_filename, function.__code__.co_firstlineno)


def declared_inputs(program: Any, options: Options) -> dict[str, Any]:
    """The inputs of a lone module that have a description or a default."""
    if (leaf := lone_leaf(program, options)) is None:
        return {}
    fields = [signatures.field(name, info) for name, info in signatures.inputs(leaf.signature).items()]
    return {field.pop("name"): field for field in fields if len(field) > 2}


def entry_of(program: Any) -> tuple[Any, bool]:
    """The function that runs a program, and whether its first parameter is the program."""
    if (call := own_call(program)) is not None:
        return call, True
    function, owner = forward_of(program)
    return function, owner is not None


def own_call(module: Any) -> Any:
    """The `__call__` of a program that replaces DSPy's."""
    for owner in type(module).__mro__:
        if "__call__" in vars(owner):
            return None if owner.__module__.partition(".")[0] in ("dspy", "dsrs_client") else vars(owner)["__call__"]
    return None


def forward_of(module: Any) -> tuple[Any, Any]:
    """The function that runs a module, and what it is bound to: an own `forward` replaces that of the class."""
    replaced = vars(module).get("forward")
    if isinstance(replaced, MethodType):
        return replaced.__func__, replaced.__self__
    if replaced is not None:
        return replaced, None
    forward = getattr(type(module), "forward", None)
    if forward is None:
        name = type(module).__name__
        refuse(f"`{name}` has no `forward`", "A graph runs independent nodes at once without `async`.", _class(module))
    if isinstance(inspect.getattr_static(type(module), "forward"), staticmethod):
        return forward, None
    if inspect.iscoroutinefunction(forward):
        refuse("`forward` is asynchronous", "A graph runs independent nodes at once without `async`.", _class(module))
    return forward, module


def refuse_library(module: Any, function: Any) -> NoReturn:
    """Refuses a module that code of a library runs."""
    name = type(module).__name__
    if "forward" in vars(module):
        by = getattr(function, "__qualname__", type(function).__name__)
        refuse(
            f"`forward` of `{name}` is replaced by `{by}`, code of a library",
            "Push the module without it and optimize the graph, for example with `knn_few_shot` (docs/optimizers.md).",
            _class(module),
        )
    package = type(module).__module__.partition(".")[0]
    if package not in ENGINES:
        kind = "code of a library" if isinstance(function, FunctionType) else f"a `{type(function).__name__}`"
        refuse(f"`forward` of `{name}` is {kind}, no function of the program", "Define it with `def`.", _class(module))
    refuse(f"`{package}.{name}` has no strategy", "The strategies are in docs/strategies.md.")


def _class(module: Any) -> Place | None:
    """The line of a class."""
    try:
        return Place(inspect.getsourcefile(type(module)) or "", inspect.getsourcelines(type(module))[1])
    except (OSError, TypeError):
        return None


def _declared(info: Any) -> Any:
    return Unknown if signatures.is_untyped(info) else info.annotation


def _hints(function: FunctionType) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):
        return {}
