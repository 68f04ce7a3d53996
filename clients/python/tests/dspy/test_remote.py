"""A stored graph is a module of a DSPy program: evaluated, optimized and published."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import asyncio
import gc
import pickle
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import dspy
import pytest
import tutorials
from conftest import Run
from test_chain import Tour

from dsrs_client import Client
from dsrs_client.dspy import Remote, push


@pytest.fixture
def tour(client: Client, name: str, lm: dspy.LM) -> str:
    """The stored tour."""
    push(Tour(), name, client=client)
    return name


def exact(example: Any, prediction: Any, trace: Any = None) -> bool:
    """Whether the city is right."""
    return bool(example.city == prediction.city)


def examples() -> list[Any]:
    """Two right ones and a wrong one."""
    rows = [("Peru", "Lima"), ("Chile", "Santiago"), ("Republic of Peru", "Lima")]
    return [dspy.Example(country=country, city=city).with_inputs("country") for country, city in rows]


def graphs(client: Client) -> list[str]:
    """The names of all graphs."""
    return [item["name"] for item in client.request("GET", "/v1/graphs?limit=200")["items"]]


def test_a_remote_answers_as_the_graph_and_has_its_predictors(client: Client, run: Run, tour: str) -> None:
    remote = Remote(tour, client=client)
    assert [name for name, _ in remote.named_predictors()] == ["nodes['capital']", "nodes['advice.predict']"]
    assert remote(country="Peru").toDict() == run(tour, {"country": "Peru"})
    assert list(remote.nodes["advice.predict"].signature.fields) == ["city", "style", "reasoning", "sentence"]


def test_dspy_evaluates_a_remote(client: Client, tour: str) -> None:
    evaluate = dspy.Evaluate(devset=examples(), metric=exact, num_threads=2, display_progress=False)
    assert evaluate(Remote(tour, client=client)).score == 66.67


def test_a_bootstrapped_remote_runs_as_a_draft_and_publishes_its_demos(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    optimizer = dspy.BootstrapFewShot(metric=exact, max_bootstrapped_demos=2, max_labeled_demos=0)
    optimized = optimizer.compile(remote, trainset=examples())
    demos = [demo.toDict() for demo in optimized.nodes["capital"].demos]
    assert {"country": "Peru", "city": "Lima"}.items() <= demos[0].items()
    before = client.request("GET", f"/v1/graphs/{tour}/state")
    assert optimized(country="Peru").city == "Lima"
    drafts = [name for name in graphs(client) if name.startswith(f"{tour}-draft-")]
    assert len(drafts) == 1
    assert client.request("GET", f"/v1/graphs/{tour}/state") == before
    version = optimized.publish()
    state = client.request("GET", f"/v1/graphs/{tour}/state")
    assert state["version"] == version > before["version"]
    assert state["predictors"]["capital"]["demos"][0] == {"input": {"country": "Peru"}, "output": {"city": "Lima"}}
    optimized.close()
    assert not [name for name in graphs(client) if name.startswith(f"{tour}-draft-")]


def test_a_changed_instruction_of_a_remote_reaches_the_prompt(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    capital = remote.nodes["capital"]
    capital.signature = capital.signature.with_instructions("Name the capital, nothing else.")
    with dspy.context(trace=[]):
        remote(country="Peru")
        paths = [predictor.signature.instructions for predictor, _, _ in dspy.settings.trace]
    assert paths[0] == "Name the capital, nothing else."
    draft = next(name for name in graphs(client) if name.startswith(f"{tour}-draft-"))
    [run] = client.request("GET", f"/v1/runs?graph={draft}")["items"]
    spans = client.request("GET", f"/v1/runs/{run['id']}")["trace"]["spans"]
    asked = next(span for span in spans if span["kind"] == "lm" and span["node"] == "capital")
    assert "Name the capital, nothing else." in asked["messages"][0]["content"]
    remote.close()


OPTIMIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LabeledFewShot": (lambda: dspy.LabeledFewShot(k=2), {}),
    "BootstrapFewShotWithRandomSearch": (
        lambda: dspy.BootstrapFewShotWithRandomSearch(
            metric=exact, max_bootstrapped_demos=1, max_labeled_demos=1, num_candidate_programs=1, num_threads=2
        ),
        {},
    ),
    "COPRO": (
        lambda: dspy.COPRO(metric=exact, breadth=2, depth=1),
        {"eval_kwargs": {"num_threads": 2, "display_progress": False}},
    ),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_optimizers_of_dspy_work_on_a_remote_and_change_no_active_state(
    optimizer: str, client: Client, tour: str
) -> None:
    before = client.request("GET", f"/v1/graphs/{tour}/state")
    make, options = OPTIMIZERS[optimizer]
    remote = Remote(tour, client=client)
    optimized = make().compile(remote, trainset=examples(), **options)
    assert optimized(country="Peru").city == "Lima"
    assert client.request("GET", f"/v1/graphs/{tour}/state") == before
    remote.close()


def test_a_draft_ends_with_its_module(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    remote.nodes["capital"].demos = [dspy.Example(country="Spain", city="Madrid")]
    remote(country="Peru")
    assert [name for name in graphs(client) if name.startswith(f"{tour}-draft-")]
    del remote
    gc.collect()
    assert not [name for name in graphs(client) if name.startswith(f"{tour}-draft-")]


def test_a_remote_is_a_step_of_a_program(client: Client, tour: str) -> None:
    class Trip(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tour = Remote(tour, client=client)
            self.write = dspy.Predict("city -> summary")

        def forward(self, country: str) -> Any:
            return self.write(city=self.tour(country=country).city)

    assert Trip()(country="Peru").summary == "A trip."


def test_a_graph_that_does_not_exist_is_named(client: Client, name: str) -> None:
    with pytest.raises(LookupError) as failure:
        Remote(name, client=client)
    assert str(failure.value) == f"there is no graph `{name}`"


def test_a_remote_of_a_graph_that_waits_calls_its_functions_or_names_them(
    client: Client, name: str, lm: dspy.LM
) -> None:
    push(tutorials.RAG(), name, client=client, outside={"search": list[str]})
    remote = Remote(name, client=client, functions={"search": tutorials.search})
    assert remote(question="castle").response == "Linux has high and low memory."
    with pytest.raises(LookupError) as failure:
        Remote(name, client=client)(question="castle")
    assert "waits for `search`: name its function, `functions={'search': …}`" in str(failure.value)


def test_a_remote_runs_beside_other_tasks(client: Client, tour: str) -> None:
    async def both() -> list[Any]:
        remote = Remote(tour, client=client)
        return [*await asyncio.gather(remote.acall(country="Peru"), remote.acall(country="Chile"))]

    assert [prediction.city for prediction in asyncio.run(both())] == ["Lima", "Lima"]


def test_dspy_counts_the_tokens_of_a_remote(client: Client, tour: str) -> None:
    with dspy.context(track_usage=True):
        usage = Remote(tour, client=client)(country="Peru").get_lm_usage()
    counted = usage[f"dsrs/{tour}"]
    [run] = client.request("GET", f"/v1/runs?graph={tour}")["items"]
    known = client.request("GET", f"/v1/runs/{run['id']}")["usage"]
    assert (counted["prompt_tokens"], counted["completion_tokens"]) == (known["input_tokens"], known["output_tokens"])
    assert counted["total_tokens"] == counted["prompt_tokens"] + counted["completion_tokens"] > 0


def test_a_pickled_remote_has_its_state_and_no_key(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    remote.nodes["capital"].demos = [dspy.Example(country="Spain", city="Madrid")]
    remote(country="Peru")
    pickled = cloudpickle.dumps(remote)
    assert b"key-of-the-tests" not in pickled
    loaded = pickle.loads(pickled)
    assert loaded.nodes["capital"].demos[0].city == "Madrid"
    assert loaded(country="Peru").city == "Lima"
    remote.close()
    loaded.close()


def test_a_hint_of_refine_reaches_the_predictors_of_a_remote(client: Client, tour: str) -> None:
    def never(args: Any, prediction: Any) -> float:
        return 0.0

    remote = Remote(tour, client=client)
    assert dspy.Refine(remote, N=2, reward_fn=never, threshold=1.0)(country="Peru").city == "Lima"
    drafts = [name for name in graphs(client) if name.startswith(f"{tour}-draft-")]
    asked = []
    for draft in drafts:
        for run in client.request("GET", f"/v1/runs?graph={draft}")["items"]:
            spans = client.request("GET", f"/v1/runs/{run['id']}")["trace"]["spans"]
            asked += [span["messages"][0]["content"] for span in spans if span["kind"] == "lm"]
    hint = "A hint from an earlier attempt: Name the city alone."
    assert [hint in text for text in asked].count(True) == 1 and len(asked) == 4
    assert hint not in str(client.request("GET", f"/v1/graphs/{tour}/state"))
    remote.close()
