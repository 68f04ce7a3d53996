"""Multi-hop retrieval: each query follows from the notes of the hops before it. The searches are nodes of the graph."""

from typing import Any

import dspy
from rag import TOOLS, search

__all__ = ["EXAMPLES", "PROGRAM", "TOOLS", "Hop"]


class Hop(dspy.Module):
    """Two hops."""

    def __init__(self, hops: int = 2) -> None:
        super().__init__()
        self.hops = hops
        self.ask = dspy.ChainOfThought("claim, notes -> query")
        self.read = dspy.ChainOfThought("claim, notes, context -> new_notes: list[str], titles: list[str]")

    def forward(self, claim: str) -> Any:
        """Searches and reads, hop by hop."""
        notes: list[str] = []
        titles: list[str] = []
        for _ in range(self.hops):
            query = self.ask(claim=claim, notes=notes).query
            found = self.read(claim=claim, notes=notes, context=search(query, k=2))
            notes.extend(found.new_notes)
            titles.extend(found.titles)
        return dspy.Prediction(titles=sorted(set(titles)))


PROGRAM = Hop
EXAMPLES = [({"claim": "The castle has five storeys."}, {"titles": ["David Gregory", "Kinnairdy Castle"]})]
