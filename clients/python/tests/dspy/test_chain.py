"""A chain of Predict and ChainOfThought becomes a graph and answers as the program does."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import dspy
from alike import assert_alike
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import graph_of, push


class Tour(dspy.Module):
    """Names a capital and writes advice about it."""

    def __init__(self) -> None:
        super().__init__()
        self.capital = dspy.Predict("country -> city")
        self.advice = dspy.ChainOfThought("city, style: str -> sentence")

    def forward(self, country: str) -> dspy.Prediction:
        """The chain."""
        capital = self.capital(country=country)
        return dspy.Prediction(city=capital.city, sentence=self.advice(city=capital.city, style="brief").sentence)


def optimized() -> Tour:
    """A tour with instructions and demos, of which one lacks a field."""
    tour = Tour()
    tour.capital.signature = tour.capital.signature.with_instructions("Name the capital.\nNothing else.")
    tour.capital.demos = [
        dspy.Example(country="France", city="Paris", augmented=True).with_inputs("country"),
        dspy.Example(country="Spain", city="Madrid").with_inputs("country"),
        dspy.Example(country="Nowhere"),
    ]
    tour.advice.predict.demos = [
        dspy.Example(city="Paris", style="brief", reasoning="It rains.", sentence="Take an umbrella."),
        dspy.Example(city="Madrid", sentence="Take a hat."),
    ]
    return tour


def test_a_chain_has_a_node_for_each_predictor_and_an_edge_for_each_field() -> None:
    graph = graph_of(Tour(), "tour")
    assert graph["inputs"] == {"country": "str"}
    assert {name: node["strategy"] for name, node in graph["nodes"].items()} == {
        "capital": "predict",
        "advice": "chain_of_thought",
    }
    assert graph["edges"] == [
        {"from": "input.country", "to": "capital.country"},
        {"from": "capital.city", "to": "advice.city"},
    ]
    assert graph["outputs"] == {"city": "capital.city", "sentence": "advice.sentence"}


def test_a_chain_answers_as_the_program_does(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    program = Tour()
    pushed = push(program, name, client=client)
    assert pushed.paths == {"capital": ["capital"], "advice.predict": ["advice.predict"]}
    assert_alike(client, program, pushed, {"country": "Peru"})
