"""HTML for notebooks: a graph as its picture, a run as a waterfall, a difference in colour. Every text is escaped."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import Any

from .picture import picture

_STYLE = "font:13px/1.5 ui-monospace,monospace;border-collapse:collapse"
_COLOURS = {"succeeded": "#2f6fed", "failed": "#c62828", "skipped": "#bbb"}


def table(rows: list[list[str]], head: list[str]) -> str:
    """A table of texts."""

    def cells(row: list[str], tag: str) -> str:
        return "".join(f"<{tag} style='text-align:left;padding:2px 10px'>{escape(cell)}</{tag}>" for cell in row)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table style='{_STYLE}'><tr>{cells(head, 'th')}</tr>{body}</table>"


def graph(definition: dict[str, Any]) -> str:
    """A graph: its picture, its nodes, and where their inputs come from."""
    sources: dict[str, list[str]] = {}
    for edge in definition.get("edges") or []:
        node, _, field = edge["to"].partition(".")
        sources.setdefault(node, []).append(f"{field} ← {edge['from']}")
    rows = [
        [name, node["strategy"], _signature(node.get("signature")), ", ".join(sources.get(name, []))]
        for name, node in definition["nodes"].items()
    ]
    title = f"<b>{escape(definition['name'])}</b> version {definition.get('version', '?')}"
    return f"<div>{title}</div>{picture(definition)}" + table(rows, ["node", "strategy", "signature", "inputs"])


def _signature(signature: Any) -> str:
    if not isinstance(signature, dict):
        return str(signature or "")

    def names(member: str) -> str:
        return ", ".join(f"{field['name']}: {field.get('type', 'str')}" for field in signature.get(member) or [])

    return f"{names('inputs')} -> {names('outputs')}"


def waterfall(run: dict[str, Any]) -> str:
    """A run: each node as a bar over the time of the run."""
    start = _time(run.get("started_at") or run["created_at"])
    length = max(1, run.get("duration_ms") or 1)
    rows = []
    for name, node in (run.get("nodes") or {}).items():
        offset = 1000 * (_time(node["started_at"]) - start) if node.get("started_at") else 0
        left = min(100, max(0, 100 * offset / length))
        width = min(100 - left, max(0.5, 100 * (node.get("duration_ms") or 0) / length))
        colour = _COLOURS.get(node["status"], "#999")
        bar = f"<div style='margin-left:{left:.1f}%;width:{width:.1f}%;height:10px;background:{colour}'></div>"
        rows.append(
            f"<tr><td style='padding:2px 10px'>{escape(name)}</td><td>{escape(node['status'])}</td>"
            f"<td style='width:320px'>{bar}</td><td>{node.get('duration_ms') or 0} ms</td></tr>"
        )
    head = f"<b>run {escape(run['id'])}</b> {escape(run['status'])}, {run.get('duration_ms') or 0} ms"
    return f"{head}<table style='{_STYLE}'>{''.join(rows)}</table>"


def difference(text: str) -> str:
    """Lines that begin with `+`, `-` or `~`, in colour."""
    colours = {"+": "#1b7f3b", "-": "#c62828", "~": "#8a6d00"}
    lines = [
        f"<div style='color:{colours.get(line[:1], 'inherit')}'>{escape(line)}</div>" for line in text.splitlines()
    ]
    return f"<div style='{_STYLE};white-space:pre-wrap'>{''.join(lines)}</div>"


def _time(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
