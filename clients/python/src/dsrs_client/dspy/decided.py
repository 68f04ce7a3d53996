"""What a predictor of DSPy returns for a decision: an object whose parts are outputs of the node."""

from __future__ import annotations

from typing import Any, NoReturn

from .contents import Symbolic
from .decision import truth
from .evidence import Choice, Noul, Score, name_of, value_type
from .link import Link
from .refusal import refuse
from .value import Value


class Decided(Symbolic):
    """A `Noul`, `Choice` or `Score` of the run."""

    def __init__(self, node: str, name: str, kind: Any) -> None:
        self._node, self._name, self._kind = node, name, kind

    @property
    def value(self) -> Value:
        """The decision; of a score, the mean level."""
        is_score = issubclass(self._kind, Score)
        return self._part("_mean", float) if is_score else self._part("", value_type(self._name, self._kind))

    @property
    def level(self) -> Any:
        """The level of a score."""
        return self._part("", int) if issubclass(self._kind, Score) else self._missing("level")

    @property
    def probability(self) -> Any:
        """The probability that it is true."""
        return self._part("_probability", float) if issubclass(self._kind, Noul) else self._missing("probability")

    @property
    def probabilities(self) -> Any:
        """The probability of each option or level, by its text."""
        if issubclass(self._kind, Noul):
            return self._missing("probabilities")
        return Value(Link(f"{self._node}.{name_of(self._name, self._kind)}", "", dict[str, float]))

    @property
    def confidence(self) -> NoReturn:
        """What DSPy asks a model for, or measures from the threshold."""
        refuse(f"reads `.confidence` of `{self._name}`, which a graph does not have", "Use its probabilities.")

    def _part(self, suffix: str, kind: Any) -> Value:
        return Value(Link(f"{self._node}.{self._name}{suffix}", "", kind))

    def _missing(self, part: str) -> Any:
        refuse(f"reads `.{part}` of `{self._name}`, a `{kind_name(self._kind)}`, which has none")

    def __bool__(self) -> bool:
        """A `Noul` is its value; the others are objects, which are true."""
        return truth(self.value) if issubclass(self._kind, Noul) else True

    def whole(self, *_: object) -> NoReturn:
        """Refuses any other use."""
        refuse(f"uses `{self._name}`, a `{kind_name(self._kind)}`, as a whole", "Read its `.value`.")

    __getattr__ = __getitem__ = __iter__ = __len__ = __str__ = __repr__ = __format__ = __call__ = whole
    __add__ = __radd__ = __eq__ = __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __hash__ = __contains__ = whole


def kind_name(kind: Any) -> str:
    """DSPy's name of the kind, without its options."""
    return next(str(each.__name__) for each in (Noul, Choice, Score) if issubclass(kind, each))
