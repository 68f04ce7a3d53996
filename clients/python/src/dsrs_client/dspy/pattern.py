"""Regular expressions of Python as those of the server, where both say the same of every text.

The server says whether a text has a part that fits. It has no groups, no look-around and other words and white space.
"""

from __future__ import annotations

import re
from typing import Any

try:
    from re import _constants as codes  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as codes
    import sre_parse as parser

#: what Python calls word characters and white space, as parts of a class
WORD, SPACE, DIGIT = "\\p{L}\\p{N}_", "\\s\\x1c-\\x1f", "\\p{Nd}"
CLASSES = {
    codes.CATEGORY_WORD: WORD, codes.CATEGORY_SPACE: SPACE, codes.CATEGORY_DIGIT: DIGIT,
}  # fmt: skip
NEGATED = {
    codes.CATEGORY_NOT_WORD: WORD, codes.CATEGORY_NOT_SPACE: SPACE, codes.CATEGORY_NOT_DIGIT: DIGIT,
}  # fmt: skip
#: further letters that Python takes for one of ASCII if case does not matter
FOLDED = {"i": "\u0130\u0131", "s": "\u017f", "k": "\u212a"}
KNOWN_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE
#: the longest pattern of the server, in bytes
LONGEST = 1000


class Unsupported(Exception):
    """A part of a pattern that the server has not, or understands in another way."""


class Translation:
    """One pattern in the notation of the server."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.tree = parser.parse(pattern, flags)
        self.flags = self.tree.state.flags
        if self.flags & ~KNOWN_FLAGS:
            raise Unsupported("a flag other than `IGNORECASE`, `MULTILINE` and `DOTALL`")

    def search(self) -> str:
        """A pattern that fits a text as `re.search` does."""
        return self._bounded("", "")

    def match(self) -> str:
        """A pattern that fits a text as `re.match` does."""
        return self._bounded("\\A", "")

    def fullmatch(self) -> str:
        """A pattern that fits a text as `re.fullmatch` does."""
        return self._bounded("\\A", "\\z")

    def one_class(self) -> tuple[str, bool] | None:
        """The class of a pattern of one character, and whether it repeats; none of any other pattern."""
        items, repeats = list(self.tree), False
        if len(items) == 1 and items[0][0] is codes.MAX_REPEAT and items[0][1][:2] == (1, codes.MAXREPEAT):
            items, repeats = list(items[0][1][2]), True
        if len(items) != 1 or items[0][0] not in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
            return None
        return f"^{self._item(*items[0])}$", repeats

    def literal(self) -> str | None:
        """The text of a pattern that fits itself alone."""
        plain = all(code is codes.LITERAL for code, _ in self.tree) and not self.flags & re.IGNORECASE
        return "".join(chr(number) for _, number in self.tree) if plain else None

    def _bounded(self, start: str, end: str) -> str:
        items = list(self.tree)
        before, after = start, end
        if items and items[0] == (codes.AT, codes.AT_BOUNDARY) and not start and _is_word(items[1:2], 0):
            before, items = f"(?:\\A|[^{WORD}])", items[1:]
        if items and items[-1] == (codes.AT, codes.AT_BOUNDARY) and not end and _is_word(items[-2:-1], -1):
            after, items = f"(?:\\z|[^{WORD}])", items[:-1]
        elif items and items[-1] == (codes.AT, codes.AT_END) and not self.flags & re.MULTILINE:
            after, items = "\\n?\\z", items[:-1]
        made = f"{before}(?:{''.join(self._item(*item) for item in items)}){after}"
        if len(made.encode()) > LONGEST:
            raise Unsupported(f"more than {LONGEST} bytes")
        return made

    def _item(self, code: Any, value: Any) -> str:
        if code is codes.LITERAL:
            return f"[{self._letter(chr(value))}]"
        if code is codes.NOT_LITERAL:
            return f"[^{self._letter(chr(value))}]"
        if code is codes.ANY:
            return "(?s:.)" if self.flags & re.DOTALL else "[^\\n]"
        if code is codes.IN:
            negated = value[0][0] is codes.NEGATE
            parts = "".join(self._member(*item) for item in value[negated:])
            return f"[{'^' if negated else ''}{parts}]"
        if code is codes.BRANCH:
            return f"(?:{'|'.join(self._all(part) for part in value[1])})"
        if code is codes.SUBPATTERN and not value[1] and not value[2]:
            return f"(?:{self._all(value[3])})"
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, part = value
            count = f"{least}," if most is codes.MAXREPEAT else f"{least},{most}"
            return f"(?:{self._all(part)}){{{count}}}"
        if code is codes.AT:
            return self._place(value)
        raise Unsupported("look-around, references or other parts that need backtracking")

    def _all(self, items: Any) -> str:
        return "".join(self._item(*item) for item in items)

    def _place(self, value: Any) -> str:
        if value is codes.AT_BEGINNING:
            return "(?m:^)" if self.flags & re.MULTILINE else "\\A"
        if value is codes.AT_END and self.flags & re.MULTILINE:
            return "(?m:$)"
        if value in (codes.AT_BEGINNING_STRING, codes.AT_END_STRING):
            return "\\A" if value is codes.AT_BEGINNING_STRING else "\\z"
        raise Unsupported("`\\b` or `$` within it")

    def _member(self, code: Any, value: Any) -> str:
        if code is codes.LITERAL:
            return self._letter(chr(value))
        if code is codes.RANGE:
            return self._range(*value)
        if code is codes.CATEGORY and value in CLASSES:
            return CLASSES[value]
        if code is codes.CATEGORY:
            return f"[^{NEGATED[value]}]"
        raise Unsupported("an unknown part of a class")

    def _range(self, first: int, last: int) -> str:
        if not self.flags & re.IGNORECASE:
            return f"{_escaped(chr(first))}-{_escaped(chr(last))}"
        if last > 127:
            raise Unsupported("letters beyond ASCII without regard to case")
        return "".join(self._letter(chr(number)) for number in range(first, last + 1))

    def _letter(self, letter: str) -> str:
        if not self.flags & re.IGNORECASE:
            return _escaped(letter)
        if not letter.isascii():
            raise Unsupported("letters beyond ASCII without regard to case")
        forms = dict.fromkeys((letter, letter.lower(), letter.upper(), *FOLDED.get(letter.lower(), "")))
        return "".join(_escaped(form) for form in forms)


def _escaped(letter: str) -> str:
    if letter.isalnum() or letter == "_":
        return letter
    return f"\\x{{{ord(letter):x}}}"


def _is_word(items: Any, end: int) -> bool:
    """Whether the first or the last character of a part is one of words, whatever fits it."""
    if not items:
        return False
    code, value = items[end]
    if code is codes.LITERAL:
        return chr(value).isalnum() or value == ord("_")
    if code is codes.IN:
        return all(
            (kind is codes.LITERAL and (chr(part).isalnum() or part == ord("_")))
            or (kind is codes.RANGE and all(chr(number).isalnum() for number in range(part[0], part[1] + 1)))
            or (kind is codes.CATEGORY and part in (codes.CATEGORY_WORD, codes.CATEGORY_DIGIT))
            for kind, part in value
        )
    if code is codes.SUBPATTERN:
        return _is_word(list(value[3]), end)
    if code is codes.BRANCH:
        return all(_is_word(list(part), end) for part in value[1])
    return code in (codes.MAX_REPEAT, codes.MIN_REPEAT) and value[0] > 0 and _is_word(list(value[2]), end)
