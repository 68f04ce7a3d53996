"""A router: the topic of a question decides which expert answers."""

from typing import Any, Literal

import dspy


class Route(dspy.Signature):
    """Decide which desk answers the question."""

    question: str = dspy.InputField()
    desk: Literal["billing", "shipping", "other"] = dspy.OutputField()


class Router(dspy.Module):
    """One of three experts answers."""

    def __init__(self) -> None:
        super().__init__()
        self.route = dspy.Predict(Route)
        self.billing = dspy.Predict("question -> response")
        self.shipping = dspy.ChainOfThought("question -> response")
        self.other = dspy.ChainOfThought("question -> response")

    def forward(self, question: str) -> Any:
        """Routes, then answers."""
        desk = self.route(question=question).desk
        if desk == "billing":
            return dspy.Prediction(desk=desk, response=self.billing(question=question).response)
        if desk == "shipping":
            return dspy.Prediction(desk=desk, response=self.shipping(question=question).response)
        return dspy.Prediction(desk=desk, response=self.other(question=question).response)


PROGRAM = Router
TOOLS: dict[str, Any] = {}
EXAMPLES = [({"question": "Where is my parcel?"}, {"desk": "shipping", "response": "Linux has high and low memory."})]
