"""Methods of texts of the run, with the meaning that they have in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .annotation import plural
from .computed import FAILS, quoted
from .decision import OTHER, VALUE, Test
from .letters import SEPARATORS, SPACE, digits, titles
from .link import Link, Operation
from .refusal import op, refuse
from .terms import Terms, whole
from .value import Value, link_of


def _strip(link: Link, chars: str | None = None) -> Value:
    if isinstance(chars, Value):
        return _stripped("strip", link, chars)
    config = {"characters": SPACE if chars is None else chars}
    return Value(Operation("strip", config, [("text", link)], "text").link(str))


def _stripped(name: str, link: Link, chars: Any = None) -> Value:
    terms = Terms(link)
    return terms.result(f"value.{name}({terms.text(SPACE if chars is None else chars, f'`.{name}`')})", str)


def _cased(name: str) -> Callable[[Link], Value]:
    return lambda link: Value(Operation(name, {}, [("text", link)], "text").link(str))


def _capitalize(link: Link) -> Value:
    """The first letter has the form of titles. What surrounds a capital sigma decides its small form."""
    first = f"{{{', '.join(f'{letter!r}: {title!r}' for letter, title in titles().items())}}}"
    return Terms(link).result(
        f"{first}.get(value[:1], value[:1]|upper) ~ (value|lower)[(value[:1]|lower|length):]", str
    )


def _replace(link: Link, old: Any, new: Any, count: Any = -1) -> Value:
    terms, what = Terms(link), "`.replace`"
    operands = f"{terms.text(old, what)}, {terms.text(new, what)}"
    most = whole(count, what)
    return terms.result(f"value.replace({operands})" if most < 0 else f"value.replace({operands}, {most})", str)


def _split(name: str) -> Callable[..., Value]:
    def split(link: Link, sep: Any = None, maxsplit: Any = -1) -> Value:
        most, what = whole(maxsplit, f"`.{name}`"), f"`.{name}`"
        if sep is None:
            return _words(link, name, most)
        terms = Terms(link)
        separator = _separator(terms, sep, what)
        return terms.result(f"value.{name}({separator}{'' if most < 0 else f', {most}'})", list[str])

    return split


def _separator(terms: Terms, sep: Any, what: str) -> str:
    """A text that is not empty: Python fails where it is."""
    if isinstance(sep, str) and not sep:
        raise ValueError("empty separator")
    written = terms.text(sep, what)
    return written if isinstance(sep, str) else f"({written} if {written} else {FAILS})"


def _words(link: Link, name: str, most: int) -> Value:
    """The words between white space; the rest behind the first word retains its own."""
    if most < 0:
        blank = "value" + "".join(f".replace('{sign}', ' ')" for sign in SEPARATORS)
        return Terms(link).result(f"{blank}.split()", list[str])
    if most == 1 and name == "split":
        terms = Terms(link)
        words = terms.name(link_of(_words(link, name, -1)))
        rest = f"value.partition({words}|first)[2].lstrip({quoted(SPACE)})"
        return terms.result(f"([{words}|first, {rest}] if {rest} else {words}) if {words} else []", list[str])
    refuse(f"calls `.{name}` of {link.label} at white space, {most} times", op("render"))


def _partition(name: str) -> Callable[..., tuple[Value, ...]]:
    return lambda link, sep: _parted(name, Terms(link), sep)


def _parted(name: str, terms: Terms, sep: Any) -> tuple[Value, ...]:
    separator = _separator(terms, sep, f"`.{name}`")
    return tuple(terms.result(f"value.{name}({separator})[{part}]", str) for part in range(3))


def _affix(name: str) -> Callable[..., Test]:
    def test(link: Link, affix: Any) -> Test:
        if isinstance(affix, Value):
            return Test(f"{VALUE}.{name}({OTHER})", [(VALUE, link), (OTHER, link_of(affix))])
        terms = Terms(link)
        several = affix if isinstance(affix, tuple) else (affix,)
        if any(isinstance(each, Value) for each in several):
            refuse(f"calls `.{name}` of {link.label} with several texts of the run", op("branch"))
        return Test(
            f"{VALUE}.{name}([{', '.join(terms.text(each, f'`.{name}`') for each in several)}])", [(VALUE, link)]
        )

    return test


def _described(letters: Callable[[], str]) -> Callable[[Link], Test]:
    return lambda link: Test(f"{VALUE} is matching('^[{letters()}]+$')", [(VALUE, link)])


def _removed(name: str) -> Callable[..., Value]:
    def removed(link: Link, affix: Any) -> Value:
        terms = Terms(link)
        return terms.result(f"value.{name}({terms.text(affix, f'`.{name}`')})", str)

    return removed


def _counted(name: str) -> Callable[..., Value]:
    def counted(link: Link, part: Any) -> Value:
        terms = Terms(link)
        return terms.result(f"value.{name}({terms.text(part, f'`.{name}`')})", int)

    return counted


def _lines(link: Link, keepends: object = False) -> Value:
    if keepends is not False:
        refuse(f"calls `.splitlines` of {link.label} and retains the ends of lines", op("render"))
    return Terms(link).result("value.splitlines()", list[str])


METHODS: dict[str, Callable[..., Any]] = {
    "strip": _strip,
    "lstrip": lambda link, chars=None: _stripped("lstrip", link, chars),
    "rstrip": lambda link, chars=None: _stripped("rstrip", link, chars),
    "lower": _cased("lower"),
    "upper": _cased("upper"),
    "capitalize": _capitalize,
    "replace": _replace,
    "split": _split("split"),
    "rsplit": _split("rsplit"),
    "splitlines": _lines,
    "partition": _partition("partition"),
    "rpartition": _partition("rpartition"),
    "removeprefix": _removed("removeprefix"),
    "removesuffix": _removed("removesuffix"),
    "startswith": _affix("startswith"),
    "endswith": _affix("endswith"),
    "count": _counted("count"),
    "find": _counted("find"),
    "rfind": _counted("rfind"),
    "isdigit": _described(lambda: f"\\\\p{{Nd}}{digits()}"),
    "isdecimal": _described(lambda: "\\\\p{Nd}"),
    "isalpha": _described(lambda: "\\\\p{L}"),
    "isalnum": _described(lambda: "\\\\p{L}\\\\p{N}"),
    "isspace": _described(lambda: "\\\\s\\\\x1c-\\\\x1f"),
}


def method_of(link: Link, name: str) -> Method | None:
    """A method of a text, before it is called."""
    return Method(link, name, METHODS[name]) if name in METHODS else None


class Method:
    """A method of a value of the run, before it is called."""

    def __init__(self, link: Link, name: str, function: Callable[..., Any]) -> None:
        self.link, self.name, self.function = link, name, function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        try:
            return self.function(self.link, *arguments, **named)
        except TypeError as error:
            refuse(f"calls `.{self.name}` of {self.link.label}, {plural(self.link.annotation)}: {error}", op("render"))
