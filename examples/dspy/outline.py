"""An article from an outline, as STORM writes one: the outline, then a section for each of its headings, all at once."""

from typing import Any

import dspy


class Article(dspy.Module):
    """Outlines, then writes each section."""

    def __init__(self) -> None:
        super().__init__()
        self.outline = dspy.ChainOfThought("topic -> title, headings: list[str]")
        self.section = dspy.ChainOfThought("topic, heading -> sentence")

    def forward(self, topic: str) -> Any:
        """The stages."""
        outline = self.outline(topic=topic)
        sections = [self.section(topic=topic, heading=heading).sentence for heading in outline.headings]
        return dspy.Prediction(title=outline.title, sections=sections)


PROGRAM = Article
TOOLS: dict[str, Any] = {}
EXAMPLES = [
    (
        {"topic": "the iPhone 14"},
        {"title": "Apple announces iPhone 14", "sections": ["Take a coat.", "Take a coat."]},
    )
]
