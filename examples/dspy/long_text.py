"""A question about a text of the size of a book: an RLM reads it by programs, and no prompt contains it."""

from typing import Any

import dspy

LINES = [f"Line {number}: nothing happens." for number in range(20_000)]
LINES[7_777] = "Line 7777: David Gregory inherited the castle."
BOOK = "\n".join(LINES)


class Reader(dspy.Module):
    """Reads a document by programs."""

    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.RLM("document, question -> answer", max_iters=5)

    def forward(self, document: str, question: str) -> Any:
        """The answer alone."""
        return dspy.Prediction(answer=self.read(document=document, question=question).answer)


PROGRAM = Reader
TOOLS: dict[str, Any] = {}
EXAMPLES = [({"document": BOOK, "question": "Who inherited the castle?"}, {"answer": LINES[7_777]})]
