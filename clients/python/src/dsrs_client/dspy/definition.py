"""Parts of a node's definition."""

from __future__ import annotations

from typing import Any

from .sample import sample


def signature_of(node: dict[str, Any]) -> dict[str, Any] | None:
    """The signature of a node, or of the module that a `map` node runs."""
    own: dict[str, Any] | None = node.get("signature")
    if own is None and node["strategy"] == "map":
        own = node["config"]["module"].get("signature")
    return own


def holds_nodes(node: dict[str, Any]) -> bool:
    """Whether a node runs nodes of its own: those of an arm, or of a subgraph."""
    if node["strategy"] in ("branch", "loop", "try", "subgraph"):
        return True
    module = node.get("config", {}).get("module")
    return isinstance(module, dict) and holds_nodes(module)


def sample_inputs(node: dict[str, Any], types: dict[str, Any]) -> dict[str, Any]:
    """Inputs to render a node with; a `map` runs over one element."""
    signature = signature_of(node) or {"inputs": []}
    values = {field["name"]: sample(field["type"], types) for field in signature["inputs"]}
    if node["strategy"] == "map":
        over = node["config"].get("over") or signature["inputs"][0]["name"]
        values[over] = [values[over]]
    return values
