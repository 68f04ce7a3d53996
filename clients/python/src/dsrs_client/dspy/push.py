"""Brings a DSPy program over: its graph, its state, and the check of its prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .draft import Draft
from .inputs import place_of
from .note import Note, refuse_changes
from .options import Options
from .place import here
from .prompts import check_prompts
from .react import refuse_other_functions
from .refusal import CannotPush, Reason
from .server import Requests, Server, problems_of, status_of
from .state import notes_of, state_of
from .trace import Tracer


@dataclass(frozen=True)
class Pushed:
    """What a push stored."""

    #: the name of the graph
    name: str
    #: the graph as the server resolved it
    graph: dict[str, Any]
    #: the version of the state that is active now
    state_version: int
    #: the path of each predictor of the program; several where `forward` calls it several times
    paths: dict[str, list[str]]
    #: how many prompts were rendered and compared; the others were compared field by field
    rendered: int
    #: what was left out or decided, in sentences; one that changes a meaning has a `way_out`
    notes: list[Note]
    #: whether the `graph` and the `state` were `created`, `changed` or `unchanged`
    results: dict[str, str]


def graph_of(program: Any, name: str, *, description: str | None = None, **options: Any) -> dict[str, Any]:
    """The definition that :func:`push` would store. Sends nothing."""
    return _draft(program, options).definition(name, description)


def push(
    program: Any,
    name: str,
    *,
    client: Requests,
    description: str | None = None,
    **options: Any,
) -> Pushed:
    """Stores a DSPy program as the graph ``name``, with its instructions and demos as the active state.

    Then it compares the prompt of each predictor with the program, and raises :class:`PromptsDiffer`.
    With ``strict=True`` a graph that may answer something else than the program raises :class:`CannotPush` instead.
    """
    server, draft = Server(client), _draft(program, options)
    stored = server.graph(name)
    definition = draft.definition(name, description)
    if stored is not None:
        _keep_instructions(definition, stored)
    try:
        graph = server.store(definition, stored is not None)
    except Exception as error:
        raise _with_places(error, draft) or error from error
    try:
        state = server.put_state(name, state_of(draft.bound))
    except Exception as error:
        raise _of_state(error) or error from error
    rendered = check_prompts(server, name, graph, draft)
    results = {
        "graph": "created" if stored is None else _result(stored["version"], graph["version"]),
        "state": _result(graph["state_version"], state["version"]),
    }
    return Pushed(name, graph, state["version"], paths_of(draft), rendered, draft.notes, results)


def _result(before: int, after: int) -> str:
    return "unchanged" if before == after else "changed"


def push_saved(
    program: Any,
    path: str | Path,
    name: str,
    *,
    client: Requests,
    allow_pickle: bool = False,
    **options: Any,
) -> Pushed:
    """As :func:`push`, with the state of a file that ``program.save`` wrote. ``program`` itself does not change.

    A file ``.pkl`` can run code while it is loaded: ``allow_pickle=True`` says that its author is trusted.
    """
    loaded = program.deepcopy()
    loaded.load(str(path), **({"allow_pickle": True} if allow_pickle else {}))
    return push(loaded, name, client=client, **options)


def paths_of(draft: Draft) -> dict[str, list[str]]:
    """The paths by the name that DSPy gives to a predictor."""
    paths: dict[str, list[str]] = {}
    for item in draft.bound:
        paths.setdefault(item.name, []).append(item.path)
    return paths


def _draft(program: Any, options: Mapping[str, Any]) -> Draft:
    chosen = Options(**options)
    draft = Tracer(program, chosen).run()
    refuse_other_functions(draft)
    draft.notes += notes_of(draft.bound)
    if chosen.strict:
        refuse_changes(draft.notes, place_of(program) or here())
    return draft


def _keep_instructions(definition: dict[str, Any], stored: dict[str, Any]) -> None:
    """Instructions are state: a node whose fields are the same keeps those of the stored definition."""
    for name, node in definition["nodes"].items():
        if (known := stored["nodes"].get(name)) is not None:
            _keep_instruction(node, known)


def _keep_instruction(node: dict[str, Any], known: dict[str, Any]) -> None:
    """The instructions of a node, and of the modules and subgraphs in it."""
    if isinstance(own := node.get("signature"), dict) and isinstance(known.get("signature"), dict):
        own["instructions"] = known["signature"]["instructions"]
    config, stored = node.get("config", {}), known.get("config", {})
    for part in ("module", "then", "else"):
        if isinstance(config.get(part), dict) and isinstance(stored.get(part), dict):
            _keep_instruction(config[part], stored[part])
    judge, judged = (dict(found.get("reward") or {}).get("judge") for found in (config, stored))
    if judge and judged and "strategy" in judge:
        _keep_instruction(judge, judged)
    if node["strategy"] == "subgraph" == known["strategy"]:
        _keep_instructions(config, stored)


def _of_state(error: Exception) -> CannotPush | None:
    """The server's problems of the state: demos whose values do not fit their fields."""
    if status_of(error) != 422 or not problems_of(error):
        return None
    details = [f"{problem['pointer']}: {problem['detail'].rstrip('.')}" for problem in problems_of(error)]
    return CannotPush([Reason(None, f"the server refuses the state: {detail}") for detail in details])


def _with_places(error: Exception, draft: Draft) -> CannotPush | None:
    """The server's problems of the graph, at the lines of the program that they are about."""
    if status_of(error) != 422 or not problems_of(error):
        return None
    reasons = []
    for problem in problems_of(error):
        parts = problem["pointer"].split("/")[1:]
        place = None
        if parts[:1] == ["edges"] and len(parts) > 1:
            place = draft.edges[int(parts[1])].place
        elif parts[:1] == ["nodes"] and len(parts) > 1:
            place = draft.places.get(parts[1])
        reasons.append(Reason(place, f"the server refuses it: {problem['detail'].rstrip('.')} ({problem['code']})"))
    return CannotPush(reasons)
