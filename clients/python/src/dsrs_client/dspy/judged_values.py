"""What a reward sees of an attempt: the inputs and the prediction, which it may not change."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any, NoReturn

import dspy

from .refusal import refuse


class Arguments(dict[str, Any]):
    """The inputs that a reward sees."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        refuse("changes the inputs or the prediction in a reward", "A reward scores what it sees.")

    __setitem__ = __delitem__ = update = pop = setdefault = clear = popitem = _refuse


class Judged(dspy.Prediction):
    """The outputs that a reward sees."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            Arguments._refuse(Arguments())
        super().__setattr__(name, value)

    def __setitem__(self, name: str, value: Any) -> None:
        Arguments._refuse(Arguments())
