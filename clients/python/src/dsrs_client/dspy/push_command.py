"""Pushes the program of a file once, and prints what became of it as `dsrs-server graphs push` does."""

from __future__ import annotations

import contextlib
import json
import sys
from argparse import Namespace
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import httpx

from .. import Client
from ..problem import Problem
from .imported_files import imported_from
from .options import Options
from .program_file import OPTIONS, CannotLoad, Target, directory_of, load, target_of, text_of
from .prompts import PromptsDiffer
from .push import Pushed, push
from .refusal import CannotPush

#: the exit codes of docs/cli.md
DONE, NO, UNUSABLE, UNAVAILABLE = range(4)
COLUMNS = ("file", "kind", "graph", "result", "version")
KNOWN = {"description", *(field.name for field in fields(Options))}


def push_file(arguments: Namespace) -> int:
    """Pushes, prints and returns the exit code."""
    target = target_of(arguments.target)
    name = arguments.name or target.graph
    try:
        with contextlib.redirect_stdout(sys.stderr), Client(arguments.server) as client:
            program, options = load(target)
            pushed = push(program, name, client=client, **_options(arguments, options, target))
    except CannotLoad as refusal:
        return _failed(UNUSABLE, [str(refusal)])
    except CannotPush as refusal:
        _print([_row(target, "graph", name, "refused", None)], arguments.json)
        return _failed(NO, [str(reason) for reason in refusal.reasons])
    except PromptsDiffer as difference:
        return _failed(NO, ["the graph is stored, but prompts differ from the program", *str(difference).splitlines()])
    except Problem as problem:
        return _failed(UNAVAILABLE if problem.status == 429 or problem.status >= 500 else NO, str(problem).splitlines())
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        return _failed(UNUSABLE, [f"the URL of the server cannot be used: {error}"])
    except httpx.TransportError as error:
        return _failed(UNAVAILABLE, [f"the server cannot be reached: {error}"])
    except Exception as error:
        return _failed(NO, [text_of(error)])
    finally:
        _report(arguments.report, target)
    say(f"note: {note}" for note in pushed.notes)
    _print(_rows(target, pushed), arguments.json)
    return DONE


def _options(arguments: Namespace, options: dict[str, Any], target: Target) -> dict[str, Any]:
    """The arguments of `push`: those of the file, then those of the command line."""
    if unknown := sorted(set(options) - KNOWN):
        listed = ", ".join(sorted(KNOWN))
        raise CannotLoad(f"{target.file}: `{OPTIONS}` has `{unknown[0]}`; known are {listed}")
    given = {"strict": arguments.strict or None, "description": arguments.description}
    return {**options, **{name: value for name, value in given.items() if value is not None}}


def _rows(target: Target, pushed: Pushed) -> list[dict[str, Any]]:
    versions = {"graph": pushed.graph["version"], "state": pushed.state_version}
    return [_row(target, kind, pushed.name, pushed.results[kind], version) for kind, version in versions.items()]


def _row(target: Target, kind: str, graph: str, result: str, version: int | None) -> dict[str, Any]:
    return dict(zip(COLUMNS, (str(target.file), kind, graph, result, version), strict=True))


def _print(rows: list[dict[str, Any]], is_json: bool) -> None:
    if is_json:
        print(json.dumps(rows, indent=2), flush=True)
        return
    cells = [[name.upper() for name in COLUMNS]]
    cells += [["" if row[name] is None else str(row[name]) for name in COLUMNS] for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    for line in cells:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip(), flush=True)


def _failed(code: int, lines: list[str]) -> int:
    say(lines)
    return code


def say(lines: Iterable[str]) -> None:
    """Lines about the result."""
    for line in lines:
        print(f"dsrs_client.dspy: {line}", file=sys.stderr, flush=True)


def _report(path: str | None, target: Target) -> None:
    """Writes which files the program came from, for the process that watches them."""
    if path is not None:
        with open(path, "w") as file:
            json.dump(imported_from(directory_of(target.file)), file)
