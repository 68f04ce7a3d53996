"""The prompt of each predictor is compared with the program."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import datetime
from typing import Any, Literal

import dspy
import pytest
from test_chain import optimized

from dsrs_client import Client
from dsrs_client.dspy import PromptsDiffer, push


class Application(dspy.Signature):
    """Decide on an application."""

    age: int = dspy.InputField(ge=18, desc="in years")
    when: datetime.date = dspy.InputField()
    pair: tuple[int, str] = dspy.InputField()
    maybe: list[dict[str, int]] | None = dspy.InputField()
    note: str = dspy.InputField(default="none")
    verdict: Literal["yes", "no"] = dspy.OutputField()


def test_the_prompt_has_the_demos_in_the_order_of_dspy(client: Client, name: str, lm: dspy.LM) -> None:
    program = optimized()
    pushed = push(program, name, client=client)
    assert pushed.rendered == 2
    body = {"node": "advice", "inputs": {"city": "Lima", "style": "brief"}}
    shown = client.request("POST", f"/v1/graphs/{name}/render", body)["predictors"]["advice.predict"]["messages"]
    program(country="Peru")
    of_dspy = lm.history[-1]["messages"]
    assert [message["role"] for message in shown] == [message["role"] for message in of_dspy]
    for ours, theirs in zip(shown[2:-1:2], of_dspy[2:-1:2], strict=True):
        said = theirs["content"].split("[[ ## sentence ## ]]\n")[1].split("\n")[0]
        assert said in ours["content"]


def test_a_prompt_without_the_demos_is_an_exception(client: Client, name: str) -> None:
    class LosesDemos:
        def request(self, method: str, path: str, json: Any = None) -> Any:
            if method == "PUT" and path.endswith("/state"):
                json["predictors"]["capital"]["demos"] = []
                json["predictors"]["capital"]["instruction"] = "Guess."
            return client.request(method, path, json)

    with pytest.raises(PromptsDiffer) as difference:
        push(optimized(), name, client=LosesDemos())
    assert difference.value.differences == {
        "capital": [
            "has the instruction 'Guess.' instead of 'Name the capital.\\nNothing else.'",
            "has 0 demos that differ from the 2 of the program",
            "lacks the instruction 'Name the capital.\\nNothing else.'",
            "shows 0 demos instead of 2",
        ]
    }


def test_a_field_with_a_constraint_and_types_of_all_kinds_are_compared_by_schema(client: Client, name: str) -> None:
    pushed = push(dspy.ChainOfThought(Application), name, client=client)
    assert pushed.rendered == 0
    fields = {field["name"]: field for field in pushed.graph["nodes"]["chain_of_thought"]["signature"]["inputs"]}
    assert fields["age"]["constraints"][0]["assert"] == "this >= 18"
    assert [fields[name]["type"] for name in ("when", "pair", "maybe")] == [
        "str",
        "tuple[int, str]",
        "list[dict[str, int]]?",
    ]
    assert fields["note"]["default"] == "none" == pushed.graph["inputs"]["note"]["default"]
    assert pushed.graph["inputs"]["age"]["description"] == "in years"
