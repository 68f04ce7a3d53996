"""Programs of DSPy's tutorials, as their pages write them."""
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False

from __future__ import annotations

from typing import Any, Literal

import dspy

CORPUS = {"David Gregory": "David Gregory inherited Kinnairdy Castle in 1664.", "Kinnairdy": "It has five storeys."}


class Emotion(dspy.Signature):
    """Classify emotion."""

    sentence: str = dspy.InputField()
    sentiment: Literal["sadness", "joy", "love", "anger", "fear", "surprise"] = dspy.OutputField()
    confidence: float = dspy.OutputField(desc="between 0 and 1")


class ExtractInfo(dspy.Signature):
    """Extract structured information from text."""

    text: str = dspy.InputField()
    title: str = dspy.OutputField()
    headings: list[str] = dspy.OutputField()
    entities: list[dict[str, str]] = dspy.OutputField(desc="a list of entities and their metadata")


def search(query: str, k: int = 3) -> list[str]:
    """The passages that name a word of the query."""
    return [text for text in CORPUS.values() if any(word in text for word in query.split())][:k] or list(
        CORPUS.values()
    )[:k]


class RAG(dspy.Module):
    """Retrieval-augmented generation."""

    def __init__(self) -> None:
        self.respond = dspy.ChainOfThought("context, question -> response")

    def forward(self, question: str) -> Any:
        """Searches, then answers."""
        context = search(question)
        return self.respond(context=context, question=question)


class Hop(dspy.Module):
    """Multi-hop search: each query follows from the notes of the hops before it."""

    def __init__(self, num_docs: int = 2, num_hops: int = 2) -> None:
        self.num_docs, self.num_hops = num_docs, num_hops
        self.generate_query = dspy.ChainOfThought("claim, notes -> query")
        self.append_notes = dspy.ChainOfThought("claim, notes, context -> new_notes: list[str], titles: list[str]")

    def forward(self, claim: str) -> Any:
        """The hops."""
        notes: list[str] = []
        titles: list[str] = []
        for _ in range(self.num_hops):
            query = self.generate_query(claim=claim, notes=notes).query
            context = search(query, k=self.num_docs)
            prediction = self.append_notes(claim=claim, notes=notes, context=context)
            notes.extend(prediction.new_notes)
            titles.extend(prediction.titles)
        return dspy.Prediction(notes=notes, titles=sorted(set(titles)))


def evaluate_math(expression: str) -> float:
    """Evaluates an arithmetic expression."""
    return float(expression)


def search_wikipedia(query: str) -> list[str]:
    """Abstracts of pages that fit the query."""
    return search(query)


def agent() -> Any:
    """The agent of the front page."""
    return dspy.ReAct("question -> answer", tools=[evaluate_math, search_wikipedia], max_iters=4)


class Outline(dspy.Signature):
    """Outline a thorough overview of a topic."""

    topic: str = dspy.InputField()
    title: str = dspy.OutputField()
    section_subheadings: dict[str, list[str]] = dspy.OutputField(desc="mapping from headings to subheadings")


class DraftArticle(dspy.Module):
    """Writes the outline, and a section for each heading in it."""

    def __init__(self) -> None:
        self.build_outline = dspy.ChainOfThought(Outline)
        self.draft_section = dspy.ChainOfThought("topic, heading -> content")

    def forward(self, topic: str) -> Any:
        """The stages."""
        outline = self.build_outline(topic=topic)
        sections = []
        for heading, _ in outline.section_subheadings.items():
            sections.append(self.draft_section(topic=outline.title, heading=heading))
        return dspy.Prediction(title=outline.title, sections=sections)
