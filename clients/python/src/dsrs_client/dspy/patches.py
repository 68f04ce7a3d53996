"""While a program is traced, calls of its modules are recorded, and no model is called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import dspy

from .calls import RECORDS
from .parallel import parallel
from .refusal import STOPS, op, refuse

if TYPE_CHECKING:
    from .trace import Tracer

Patch = tuple[Any, str, Callable[..., Any]]


@contextmanager
def calls_go_to(tracer: Tracer) -> Iterator[None]:
    """Records calls in this thread. Threads that the program starts may call nothing; others are as they were."""
    own, started = get_ident(), {get_ident()}
    patches = [
        (dspy.Module, "__call__", tracer.forwarded),
        (dspy.Predict, "__call__", tracer.forwarded),
        (dspy.Module, "acall", _refuse_acall),
        (dspy.Predict, "acall", _refuse_acall),
        (dspy.Parallel, "forward", lambda module, *pairs, **more: parallel(tracer, module, *pairs, **more)),
        *((owner, name, _refuse_model) for owner, name in _models()),
    ]
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in patches]
    start = threading.Thread.start
    try:
        for (owner, name, stand_in), (_, _, original) in zip(patches, originals, strict=True):
            setattr(owner, name, _patched(original, stand_in, own, started))
        threading.Thread.start = _start(start, started, tracer)  # type: ignore[method-assign]
        yield
    finally:
        threading.Thread.start = start  # type: ignore[method-assign]
        for owner, name, original in originals:
            setattr(owner, name, original)


def _patched(original: Any, stand_in: Callable[..., Any], own: int, started: set[int]) -> Any:
    def call(module: Any, /, *positional: Any, **arguments: Any) -> Any:
        thread = get_ident()
        if thread == own:
            return stand_in(module, *positional, **arguments)
        if thread in started:
            refuse(
                "calls a module or a model in another thread; a graph runs independent nodes at once", op("parallel")
            )
        return original(module, *positional, **arguments)

    setattr(call, RECORDS, True)
    return call


def _start(original: Callable[[threading.Thread], None], started: set[int], tracer: Tracer) -> Any:
    """Marks the threads that the program starts, and those that they start."""

    def start(thread: threading.Thread) -> None:
        if get_ident() in started:
            run = thread.run

            def marked() -> None:
                started.add(get_ident())
                STOPS.set(tracer.stops)
                try:
                    run()
                finally:
                    started.discard(get_ident())

            thread.run = marked  # type: ignore[method-assign]
        original(thread)

    return start


def _models() -> list[tuple[Any, str]]:
    """The methods that ask a model: of each kind of LM, and of embedders."""
    kinds = [dspy.BaseLM, dspy.Embedder]
    for kind in kinds:
        kinds += [each for each in kind.__subclasses__() if each not in kinds]
    return [
        (kind, name) for kind in kinds for name in ("__call__", "acall", "forward", "aforward") if name in vars(kind)
    ]


def _refuse_acall(*_: Any, **__: Any) -> Any:
    refuse("calls a module with `acall`; a graph runs what does not depend on each other at once anyway")


def _refuse_model(lm: Any, *_: Any, **__: Any) -> Any:
    name = getattr(lm, "model", type(lm).__name__)
    refuse(f"calls the model `{name}` without a predictor", op("predict"))
