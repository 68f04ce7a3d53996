"""Keeps a program as it was: what its modules keep in attributes during a trace is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def restored(modules: list[Any]) -> Iterator[None]:
    """Restores the attributes of modules, and the lists and dicts in them."""
    saved = [(module, dict(vars(module)), _contents(module)) for module in modules]
    try:
        yield
    finally:
        for module, attributes, contents in saved:
            vars(module).clear()
            vars(module).update(attributes)
            for container, content in contents:
                container.clear()
                container.update(content) if isinstance(container, dict) else container.extend(content)


def _contents(module: Any) -> list[tuple[Any, Any]]:
    return [(value, value.copy()) for value in vars(module).values() if type(value) in (list, dict)]
