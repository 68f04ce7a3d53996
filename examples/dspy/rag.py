"""Retrieval before an answer, from an index of the server. In Python, `search` asks the same index over HTTP."""

import os
from typing import Any

import dspy

from dsrs_client import Client

PASSAGES = {
    "memory": "Linux divides memory into high memory and low memory on 32-bit machines.",
    "castle": "Turku has a castle on the river Aura.",
    "cancel": "You can cancel a run at any time.",
}
TOOLS = {"search": {"builtin": "search", "index": "handbook", "select": "[*].text"}}


def search(query: str, k: int = 2) -> list[str]:
    """Passages of the handbook."""
    with Client(os.environ["DSRS_URL"]) as client:
        found = client.request("POST", "/v1/indexes/handbook/search", {"query": query, "k": k})
    return [passage["text"] for passage in found["passages"]]


class RAG(dspy.Module):
    """Searches, then answers."""

    def __init__(self) -> None:
        super().__init__()
        self.respond = dspy.ChainOfThought("context, question -> response")

    def forward(self, question: str) -> Any:
        """One search, one answer."""
        return self.respond(context=search(question, k=2), question=question)


PROGRAM = RAG
EXAMPLES = [
    ({"question": "What is high memory in Linux?"}, {"response": "Linux has high and low memory."}),
    ({"question": "Where is the castle?"}, {"response": "Linux has high and low memory."}),
]
