"""Fields of `dspy.Code` and `dspy.Reasoning` are texts of a graph: with a language, or filled by native reasoning."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from typing import Any

import dspy
from alike import assert_alike

from dsrs_client import Client
from dsrs_client.dspy import graph_of, pull, push

PORT = dspy.Signature(
    {
        "old": (dspy.Code["python"], dspy.InputField()),
        "why": (dspy.Reasoning, dspy.OutputField()),
        "java": (dspy.Code["java"], dspy.OutputField(desc="as short as possible")),
    },
    "Port the program.",
)


class Porter(dspy.Module):
    """Ports a program and describes the result."""

    def __init__(self) -> None:
        super().__init__()
        self.port = dspy.Predict(PORT)
        self.explain = dspy.Predict("program: str, why: str -> sentence")

    def forward(self, old: str) -> Any:
        """Two steps."""
        ported = self.port(old=old)
        return self.explain(program=ported.java.code, why=ported.why.content)


def test_code_and_reasoning_are_texts_with_attributes() -> None:
    graph = graph_of(Porter(), "porter")
    signature = graph["nodes"]["port"]["signature"]
    assert signature["inputs"] == [{"name": "old", "type": "str", "language": "python"}]
    assert signature["outputs"] == [
        {"name": "why", "type": "str", "reasoning": True},
        {"name": "java", "type": "str", "language": "java", "description": "as short as possible"},
    ]
    assert graph["inputs"] == {"old": "str"}
    assert {"from": "port.java", "to": "explain.program"} in graph["edges"]


def test_they_run_as_in_dspy_with_their_demos(client: Client, name: str, lm: dspy.LM) -> None:
    program = Porter()
    demo = dspy.Example(old=dspy.Code(code="x = 1"), why=dspy.Reasoning(content="Short."), java="int x = 1;")
    program.port.demos = [demo]
    pushed = push(program, name, client=client)
    assert pushed.notes == []
    outputs = assert_alike(client, program, pushed, {"old": "y = 2"})
    assert outputs == {"sentence": "Take a coat."}
    [shown] = client.request("GET", f"/v1/graphs/{name}/predictors/port")["demos"]
    assert shown == {"input": {"old": "x = 1"}, "output": {"why": "Short.", "java": "int x = 1;"}}
    pulled = pull(Porter(), name, client=client)
    assert pulled.port.demos[0].why.content == "Short." and pulled.port.demos[0].java.code == "int x = 1;"
