"""Letters of which Python says something else than the server, by Python's own tables."""

from __future__ import annotations

import unicodedata
from functools import cache

#: white space to Python; the server has no separators of files and records in it
SPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
SEPARATORS = "\x1c\x1d\x1e\x1f"
#: the first two planes have all letters with cases and all digits
_LAST = 0x1FFFF


@cache
def titles() -> dict[str, str]:
    """Letters whose form at the beginning of a title is not their capital one."""
    letters = map(chr, range(_LAST + 1))
    return {letter: letter.title() for letter in letters if letter.title() != letter.upper()}


@cache
def digits() -> str:
    """Digits that are no decimal ones, such as `²`."""
    letters = map(chr, range(_LAST + 1))
    return "".join(letter for letter in letters if letter.isdigit() and unicodedata.category(letter) != "Nd")
