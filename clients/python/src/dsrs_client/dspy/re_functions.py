"""`re.search`, `re.match`, `re.fullmatch`, `re.sub` and `re.findall` of texts of the run."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from .computed import quoted
from .decision import VALUE, Test
from .letters import SEPARATORS
from .link import Link
from .pattern import SPACE, Translation, Unsupported
from .refusal import op, refuse
from .template import check_text
from .terms import Terms
from .value import Value, link_of

WAY_OUT = f"{op('render')} Or name a function in `outside=`."


class Matched(Test):
    """What a search returns, of which a graph only knows whether it is `None`."""

    __slots__ = ()


def re_function(function: Any) -> Callable[..., Any] | None:
    """A function of `re`, or a method of a pattern, over a text of the run."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if name not in FUNCTIONS:
        return None
    if isinstance(owner, re.Pattern):
        return lambda *arguments, **named: FUNCTIONS[name](owner.pattern, *arguments, flags=owner.flags, **named)
    return FUNCTIONS[name] if getattr(re, name, None) is function else None


def _tested(name: str) -> Callable[..., Matched]:
    def test(pattern: Any, string: Any, flags: Any = 0) -> Matched:
        link, translation = _text(string, name), _translated(pattern, int(flags), name)
        try:
            made = getattr(translation, name)()
        except Unsupported as problem:
            _refuse(name, pattern, str(problem))
        return Matched(f"{VALUE} is matching({quoted(made)})", [(VALUE, link)])

    return test


def _sub(pattern: Any, repl: Any, string: Any, count: Any = 0, flags: Any = 0) -> Value:
    link, translation = _text(string, "sub"), _translated(pattern, int(flags), "sub")
    if not isinstance(repl, str) or "\\" in repl:
        _refuse("sub", pattern, "a replacement that is no plain text")
    if (literal := translation.literal()) is not None and literal:
        most = "" if not count else f", {count}"
        return Terms(link).result(f"value.replace({quoted(literal)}, {quoted(repl)}{most})", str)
    found = _class(translation, "sub", pattern)
    if count:
        _refuse("sub", pattern, "a count")
    if found == (f"^[{SPACE}]$", True):
        return Terms(link).result(_spaces(repl), str)
    if repl:
        _refuse("sub", pattern, "a replacement of more than spaces by a text")
    return Terms(link).result(f"value|list|reject('matching', {quoted(found[0])})|join('')", str)


def _spaces(repl: str) -> str:
    """Each run of white space as one text."""
    blank = "value" + "".join(f".replace('{sign}', ' ')" for sign in SEPARATORS)
    first, last = (
        f"{quoted(repl)} if {part} is matching('^\\\\s$') else ''" for part in (f"{blank}[:1]", f"{blank}[-1:]")
    )
    return f"({first}) ~ {blank}.split()|join({quoted(repl)}) ~ (({last}) if {blank}.split() else '')"


def _findall(pattern: Any, string: Any, flags: Any = 0) -> Value:
    link, translation = _text(string, "findall"), _translated(pattern, int(flags), "findall")
    found, repeats = _class(translation, "findall", pattern)
    if repeats:
        _refuse("findall", pattern, "a repetition")
    return Terms(link).result(f"value|list|select('matching', {quoted(found)})|list", list[str])


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "search": _tested("search"), "match": _tested("match"), "fullmatch": _tested("fullmatch"), "sub": _sub,
    "findall": _findall,
}  # fmt: skip


def _text(string: Any, name: str) -> Link:
    if not isinstance(string, Value):
        refuse(f"calls `re.{name}` with a pattern or a replacement of the run", WAY_OUT)
    check_text(link_of(string), "searches")
    return link_of(string)


def _translated(pattern: Any, flags: int, name: str) -> Translation:
    if isinstance(pattern, Value):
        refuse(f"calls `re.{name}` with a pattern of the run", WAY_OUT)
    if isinstance(pattern, re.Pattern):
        pattern, flags = pattern.pattern, pattern.flags
    try:
        return Translation(pattern, flags)
    except Unsupported as problem:
        _refuse(name, pattern, str(problem))


def _class(translation: Translation, name: str, pattern: Any) -> tuple[str, bool]:
    try:
        found = translation.one_class()
    except Unsupported as problem:
        _refuse(name, pattern, str(problem))
    if found is None:
        _refuse(name, pattern, "more than one character or a plain text")
    return found


def _refuse(name: str, pattern: Any, why: str) -> NoReturn:
    refuse(f"calls `re.{name}` with `{pattern}`, which has {why}", WAY_OUT)
