"""`json.dumps` and `json.loads` of values of the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .annotation import is_json, plural
from .computed import computed_of, parsed, rendered, rendered_of
from .container import collected
from .link import Link
from .refusal import op, refuse
from .structure import is_plain_dict, structured
from .template import check_text
from .value import Value, link_of

if TYPE_CHECKING:
    from .draft import Draft

NOTE = "`json.dumps` writes letters beyond ASCII as they are, as with `ensure_ascii=False`"
KEY = "{% if key is not none %}{{ key|tojson }}: {% endif %}"
LEAF = "{% if part is float %}{{ '%s'|format(part) }}{% else %}{{ part|tojson }}{% endif %}"


def json_function(function: Any, draft: Callable[[], Draft]) -> Callable[..., Value] | None:
    """What `json.dumps` or `json.loads` does with a value of the run."""
    if function is json.dumps:
        return lambda value, **options: _dumps(value, draft(), options)
    return _loads if function is json.loads else None


def _dumps(value: Any, draft: Draft, options: dict[str, Any]) -> Value:
    known = {"indent", "ensure_ascii", "sort_keys"}
    if unknown := sorted(set(options) - known):
        refuse(f"calls `json.dumps` with `{unknown[0]}=` over a value of the run", op("render"))
    link = _written(value)
    if options.get("ensure_ascii", True):
        draft.note(NOTE, "Pass `ensure_ascii=False`.")
    return Value(rendered(_template(options.get("indent"), bool(options.get("sort_keys"))), link))


def _written(value: Any) -> Link:
    """What is written: values that Python holds as it reads JSON."""
    link = (
        link_of(value) if isinstance(value, Value) else structured(value) if is_plain_dict(value) else collected(value)
    )
    if not is_json(link.annotation):
        refuse(
            f"writes {link.label}, {plural(link.annotation)}, as JSON: Python refuses it or writes more", op("render")
        )
    return link


def _template(indent: Any, is_sorted: bool) -> str:
    """Python's JSON: with spaces behind commas and colons, or each part on a line; numbers in Python's notation."""
    if indent is not None and not isinstance(indent, int):
        refuse(f"calls `json.dumps` with the indent {indent!r}", op("render"))
    comma = ", " if indent is None else ","
    line = "" if indent is None else f"{{{{ '\\n' ~ ' ' * ({indent} * loop.depth0) }}}}"
    last = "" if indent is None else f"{{{{ '\\n' ~ ' ' * ({indent} * loop.depth0) }}}}"
    members = "part|dictsort(case_sensitive=true)" if is_sorted else "part|items"
    separated = f"{{% if not loop.first %}}{comma}{{% endif %}}{{% if loop.depth0 %}}{line}{{% endif %}}"
    return (
        f"{{% for key, part in [[none, value]] recursive %}}{separated}{KEY}"
        f"{{% if part is mapping %}}{{% if part %}}{{{{ '{{' }}}}{{{{ loop({members}) }}}}{last}{{{{ '}}' }}}}"
        "{% else %}{{ '{}' }}{% endif %}"
        "{% elif part is sequence and part is not string %}{% if part %}["
        f"{{{{ loop(([none] * part|length)|zip(part)) }}}}{last}]{{% else %}}[]{{% endif %}}"
        f"{{% else %}}{LEAF}{{% endif %}}{{% endfor %}}"
    )


def _loads(text: Any, **options: Any) -> Value:
    """The value of a text of JSON: one value in brackets, since the parser takes what is no JSON for a text."""
    if options:
        refuse(f"calls `json.loads` with `{next(iter(options))}=` over a value of the run", op("parse_structured"))
    link = link_of(text)
    check_text(link, "reads JSON of")
    values = parsed(rendered_of("[{{ value }}]", [("value", link)]), list[Any], "`json.loads`")
    one = "value[0] if value|length == 1 else ('no value'|int)"
    return Value(computed_of(one, [("value", values)], Any))
