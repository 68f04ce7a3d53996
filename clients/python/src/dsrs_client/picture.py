"""A graph as an SVG: nodes in columns, from the inputs to the outputs. Every text is escaped."""

from __future__ import annotations

from html import escape
from typing import Any

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _EDGE = 168, 46, 70, 18, 12
_FONT = "font-family='ui-monospace,monospace'"
_ENDS = {"input": "inputs", "output": "outputs"}


def picture(definition: dict[str, Any]) -> str:
    """The picture of a definition."""
    nodes = ["input", *definition["nodes"], "output"]
    edges = _edges(definition)
    places = _places(nodes, edges)
    width = max(x for x, _ in places.values()) + _WIDTH + _EDGE
    height = max(y for _, y in places.values()) + _HEIGHT + _GAP_Y + _EDGE
    lines = "".join(_line(places[start], places[end]) for start, end in edges)
    boxes = "".join(_box(name, definition, place) for name, place in places.items())
    label = escape(f"The graph {definition['name']}")
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' role='img' aria-label='{label}' viewBox='0 0 {width} {height}' "
        f"width='{width}' style='max-width:100%;height:auto'>{lines}{boxes}</svg>"
    )


def _edges(definition: dict[str, Any]) -> list[tuple[str, str]]:
    """Pairs of connected nodes, each once."""
    ends = [(edge["from"], edge["to"]) for edge in definition.get("edges") or []]
    ends += [(source, "output") for source in (definition.get("outputs") or {}).values()]
    pairs = dict.fromkeys((_node(start), _node(end)) for start, end in ends)
    known = {"input", "output", *definition["nodes"]}
    return [pair for pair in pairs if known.issuperset(pair)]


def _node(end: str) -> str:
    return end.partition(".")[0].partition("[")[0]


def _places(nodes: list[str], edges: list[tuple[str, str]]) -> dict[str, tuple[int, int]]:
    """The upper left corner of each node: its column is the length of the longest path to it."""
    columns = {name: 0 if name == "input" else 1 for name in nodes}
    # A path has at most as many edges as there are nodes.
    for _ in nodes:
        for start, end in edges:
            columns[end] = min(len(nodes), max(columns[end], columns[start] + 1))
    columns["output"] = 1 + max(column for name, column in columns.items() if name != "output")
    used = sorted(set(columns.values()))
    rows: dict[int, int] = {}
    places = {}
    for name in nodes:
        column = used.index(columns[name])
        row = rows.get(column, 0)
        rows[column] = row + 1
        places[name] = (_EDGE + column * (_WIDTH + _GAP_X), _EDGE + row * (_HEIGHT + _GAP_Y))
    return places


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    x2, y2 = end[0], end[1] + _HEIGHT // 2
    bend = max(24, (x2 - x1) // 2)
    # A connection that passes other columns goes around their nodes.
    down = _HEIGHT + _GAP_Y if x2 - x1 > _GAP_X else 0
    curve = f"M{x1},{y1} C{x1 + bend},{y1 + down} {x2 - bend},{y2 + down} {x2},{y2}"
    return f"<path d='{curve}' fill='none' stroke='#7a869a' stroke-width='1.5'/>"


def _box(name: str, definition: dict[str, Any], place: tuple[int, int]) -> str:
    x, y = place
    is_end = name in _ENDS
    kind = ", ".join(definition.get(_ENDS[name]) or {}) if is_end else definition["nodes"][name]["strategy"]
    fill = "#f4f5f7" if is_end else "#e9f0ff"
    texts = [(18, 13, "#172b4d", name), (35, 11, "#5e6c84", kind)]
    shown = "".join(
        f"<text x='{x + 10}' y='{y + dy}' font-size='{size}' fill='{colour}' {_FONT}>{escape(_short(text))}</text>"
        for dy, size, colour, text in texts
    )
    return f"<rect x='{x}' y='{y}' width='{_WIDTH}' height='{_HEIGHT}' rx='7' fill='{fill}' stroke='#b3bac5'/>{shown}"


def _short(text: str) -> str:
    return text if len(text) <= 22 else text[:21] + "…"
