"""Functions of a program that the server calls: `tools=` makes `call` nodes of them."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any

import dspy
import pytest
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, Remote, graph_of, push


def search(query: str, k: int = 3) -> list[str]:
    """Finds passages."""
    raise AssertionError("a trace calls nothing")


class Rag(dspy.Module):
    """Looks passages up, then answers."""

    def __init__(self) -> None:
        super().__init__()
        self.respond = dspy.Predict("context: list[str], question -> answer")

    def forward(self, question: str) -> Any:
        """Two steps."""
        return self.respond(context=search(question, k=2), question=question)


HTTP = {"http": {"method": "POST", "url": "https://search.example/find"}}


def test_a_function_is_a_call_of_a_request() -> None:
    graph = graph_of(Rag(), "rag", tools={"search": {**HTTP, "select": "hits[*].text"}})
    assert graph["nodes"]["search"] == {
        "strategy": "call",
        "config": {
            "tool": {
                "http": {
                    "name": "search",
                    "description": "Finds passages.",
                    "arguments": {
                        "type": "object",
                        "properties": {"query": {"type": "string"}, "k": {"type": "integer", "default": 3}},
                        "required": ["query"],
                    },
                    **HTTP["http"],
                }
            },
            "output": {"type": "array", "items": {"type": "string"}},
            "select": "hits[*].text",
            "arguments": {"k": 2},
        },
    }
    assert {"from": "search.result", "to": "respond.context"} in graph["edges"]


class Retrieves(dspy.Module):
    """`dspy.Retrieve`, whose retriever is on the server."""

    def __init__(self) -> None:
        super().__init__()
        self.retrieve = dspy.Retrieve(k=3)
        self.respond = dspy.Predict("context: list[str], question -> answer")

    def forward(self, question: str) -> Any:
        """Two steps."""
        return self.respond(context=self.retrieve(question).passages, question=question)


def test_retrieve_is_a_call_with_passages() -> None:
    tools = {"Retrieve": {**HTTP, "select": "hits[*].text", "returns": {"passages": list[str]}}}
    graph = graph_of(Retrieves(), "rag", tools=tools)
    assert graph["nodes"]["Retrieve"]["strategy"] == "call"
    assert {"from": "Retrieve.result", "to": "respond.context"} in graph["edges"]


def test_a_function_is_a_stored_graph(client: Client, name: str, run: Run, lm: dspy.LM) -> None:
    inner = f"{name}s"
    lookup = {"strategy": "predict", "signature": "query -> passages: list[str]"}
    client.push({"name": inner, "nodes": {"find": lookup}})

    def search_pages(query: str) -> list[str]:
        raise AssertionError("a trace calls nothing")

    class Program(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.respond = dspy.Predict("context: list[str], question -> answer")

        def forward(self, question: str) -> Any:
            return self.respond(context=search_pages(question), question=question)

    push(Program(), name, client=client, tools={"search_pages": {"graph": inner}})
    outputs = run(name, {"question": "Linux?"})
    assert isinstance(outputs["answer"], str)
    assert Remote(name, client=client)(question="Linux?").answer == outputs["answer"]


def test_a_function_has_to_say_what_it_returns() -> None:
    def find(query: str):  # type: ignore[no-untyped-def]
        return []

    class Program(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.respond = dspy.Predict("context: list[str], question -> answer")

        def forward(self, question: str) -> Any:
            return self.respond(context=find(question), question=question)

    with pytest.raises(CannotPush) as refusal:
        graph_of(Program(), "rag", tools={"find": HTTP})
    assert refusal.value.reasons[0].what == "the function `find` does not say what it returns"
