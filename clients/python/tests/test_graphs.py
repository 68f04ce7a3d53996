"""Graphs: called, streamed, in the background, in batches; problems; states; evaluations."""

from __future__ import annotations

import asyncio
from enum import Enum
from pathlib import Path

import pytest

from dsrs_client import AsyncClient, Client, Graph, InvalidInput, NotFound, Problem, Result, RunFailed
from dsrs_client.jobs import follow
from dsrs_client.picture import picture


def test_a_graph_is_called_like_a_function_and_its_result_is_typed(ask: Graph) -> None:
    result = ask(question="Where is it?")
    assert isinstance(result.answer, str) and result["answer"] == result.answer
    assert result.usage.lm_calls == 1 and result.run_id == result.run["id"]
    assert "waterfall" not in repr(result) and "<table" in result._repr_html_()
    assert list(ask.types.inputs.model_fields) == ["question"]


def test_types_of_the_graph_are_models_and_enums(client: Client, name: str) -> None:
    graph = client.push(
        {
            "name": name,
            "types": {
                "Mood": {"enum": {"calm": None, "angry": None}},
                "Stop": {"class": {"city": "str", "nights": "int | null", "next": "Stop | null"}},
            },
            "inputs": {"stops": "list[Stop]", "kind": '"a" | "b"'},
            "nodes": {
                "mood": {
                    "strategy": "predict",
                    "signature": {
                        "inputs": [{"name": "stops", "type": "list[Stop]"}, {"name": "kind", "type": '"a" | "b"'}],
                        "outputs": [{"name": "mood", "type": "Mood"}],
                    },
                }
            },
        }
    )
    types = graph.types
    inputs = types.inputs.model_validate({"stops": [{"city": "Rome", "nights": None, "next": None}], "kind": "a"})
    assert inputs.stops[0].city == "Rome"  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="kind"):
        types.inputs.model_validate({"stops": [], "kind": "c"})
    mood = types.outputs.model_fields["mood"].annotation
    assert isinstance(mood, type) and issubclass(mood, Enum) and [one.value for one in mood] == ["calm", "angry"]
    result = graph(stops=[inputs.stops[0]], kind="b")  # type: ignore[attr-defined]
    assert result.mood == mood.calm  # type: ignore[attr-defined]


def test_a_wrong_input_is_named_by_its_pointer(ask: Graph) -> None:
    with pytest.raises(InvalidInput) as refused:
        ask(qestion="Where is it?")
    assert {item.pointer for item in refused.value.errors} == {"/inputs/qestion", "/inputs/question"}
    assert "/inputs/question" in str(refused.value)


def test_a_graph_that_does_not_exist_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound):
        client.graph("no-such-graph")(question="?")


def test_a_run_that_fails_has_the_node_and_the_words_of_the_model(client: Client, name: str) -> None:
    node = {"strategy": "predict", "signature": 'question -> answer: "x" | "y"'}
    graph = client.push({"name": name, "nodes": {"choose": node}})
    with pytest.raises(RunFailed) as failed:
        graph(question="Which?")
    assert failed.value.node == "choose" and failed.value.raw and failed.value.run_id
    assert failed.value.code == "parse_error"


def test_text_is_streamed_as_it_is_written(ask: Graph) -> None:
    events = list(ask.stream(question="Where is it?"))
    assert events[0].kind == "run.started" and events[-1].kind == "run.completed"
    assert "".join(event.text for event in events) == events[-1].data["outputs"]["answer"]


def test_a_run_in_the_background_is_awaited(ask: Graph) -> None:
    run = ask.start(question="Where is it?")
    assert run.wait().run_id == run.id
    assert run.status() == "succeeded"


def test_a_waiting_run_gets_its_value(client: Client, name: str) -> None:
    node = {"strategy": "await", "signature": "letter -> approved: bool"}
    graph = client.push({"name": name, "nodes": {"approve": node}})
    run = graph.start(letter="Dear all")
    with pytest.raises(RunFailed, match="waiting"):
        run.wait()
    run.signal("approve", approved=True)
    assert run.wait().approved is True


def test_a_batch_returns_a_result_or_a_problem_for_each_row(ask: Graph) -> None:
    found = ask.batch([{"question": f"q{number}"} for number in range(5)], show=False)
    assert len(found) == 5 and all(isinstance(one, Result) for one in found)


def test_a_state_is_changed_compared_and_rolled_back(ask: Graph) -> None:
    ask.state.patch("ask", instruction="Answer in one word.")
    assert "Answer in one word." in ask.render("ask", question="?")["ask"][0]["content"]
    difference = ask.state.diff(2)
    assert "Answer in one word." in str(difference) and "<div" in difference._repr_html_()
    ask.state.activate(1)
    assert ask.state.get()["version"] == 1 and len(ask.state.history()) == 2


def test_a_graph_is_evaluated_and_optimized(client: Client, ask: Graph, name: str) -> None:
    answer = ask(question="q").answer
    client.upload(name, [{"inputs": {"question": f"q{n}"}, "expected": {"answer": answer}} for n in range(8)])
    evaluation = ask.evaluate(name, "exact", show=False)
    assert evaluation["mean_score"] == 1.0 and evaluation["counts"]["done"] == 8
    assert ask.optimize("labeled_few_shot", name, "exact", show=False)["status"] == "succeeded"


OUTAGE = "answer with status 401"


def test_an_outage_is_unmeasured_in_counts_progress_and_comparisons(client: Client, ask: Graph, name: str) -> None:
    answer, asked = ask(question="q").answer, ["q0", "q1", "q2", OUTAGE]
    client.upload(name, [{"inputs": {"question": text}, "expected": {"answer": answer}} for text in asked])
    with pytest.raises(Problem) as failure:
        ask.evaluate(name, show=False)
    assert failure.value.code == "too_many_unmeasured"
    with pytest.raises(RunFailed) as outage:
        ask(question=OUTAGE)
    with pytest.raises(RunFailed) as refusal:
        ask(question="answer with status 400")
    assert (outage.value.is_unmeasured, refusal.value.is_unmeasured) == (True, False)
    allowed = ask.evaluate(name, max_unmeasured=0.5, show=False)
    assert (allowed["mean_score"], allowed["counts"]["unmeasured"], allowed["counts"]["failed"]) == (1.0, 1, 0)
    shown: list[str] = []
    path = f"/v1/evaluations/{allowed['id']}"
    client._transport.run(follow(path, lambda done, total, text: shown.append(text), 0))
    assert shown == ["score 1.000, 1 unmeasured"]
    compared = client.compare(allowed["id"], ask.evaluate(name, max_unmeasured=0.5, show=False)["id"])
    assert (compared["n"], compared["unmeasured"], len(compared["pairs"])) == (3, 1, 3)


def test_an_optimization_has_a_share_of_examples_without_a_score(client: Client, ask: Graph, name: str) -> None:
    asked = ["q0", "q1", "q2", OUTAGE] * 3
    client.upload(name, [{"inputs": {"question": text}, "expected": {"answer": "a"}} for text in asked])
    job = ask.optimize("labeled_few_shot", name, max_unmeasured=1.0, show=False)
    assert (job["status"], job["max_unmeasured"]) == ("succeeded", 1.0)


def test_a_table_is_uploaded_with_its_columns(client: Client, name: str, tmp_path: Path) -> None:
    file = tmp_path / "questions.csv"
    file.write_text("question,answer\nq1,a1\nq2,a2\n")
    assert client.upload(name, file, inputs=["question"], expected=["answer"])["name"] == name


def test_a_push_that_changes_nothing_makes_no_version(client: Client, ask: Graph) -> None:
    definition = ask.definition()
    again = client.push(
        {"name": ask.name, "nodes": {"ask": {"strategy": "predict", "signature": "question -> answer"}}}
    )
    assert again.definition()["version"] == definition["version"] == 1
    html = ask._repr_html_()
    assert "ask" in html and html.count("<svg") == 1


def test_the_asynchronous_client_does_the_same(ask: Graph) -> None:
    async def story() -> None:
        async with AsyncClient() as client:
            graph = client.graph(ask.name)
            results = await asyncio.gather(*(graph(question=f"q{number}") for number in range(4)))
            assert len({result.run_id for result in results}) == 4
            text = "".join([event.text async for event in graph.stream(question="q")])
            assert text == results[0].answer
            assert (await (await graph.start(question="q")).wait()).answer == text
            assert len(await graph.batch([{"question": "a"}, {"question": "b"}], show=False)) == 2

    asyncio.run(story())


def test_the_asynchronous_client_changes_states_and_optimizes(client: Client, ask: Graph, name: str) -> None:
    client.upload(name, [{"inputs": {"question": f"q{n}"}, "expected": {"answer": "a"}} for n in range(4)])

    async def story() -> None:
        async with AsyncClient() as client:
            graph = client.graph(ask.name)
            await graph.state.patch("ask", instruction="Answer in two words.")
            assert (await graph.state.get())["version"] == 2
            assert "two words" in str(await graph.state.diff(2))
            await graph.state.activate(1)
            assert len(await graph.state.history()) == 2
            assert (await graph.optimize("labeled_few_shot", name, show=False))["status"] == "succeeded"
            evaluation = await graph.evaluate(name, max_unmeasured=0.0, show=False)
            compared = await client.compare(evaluation["id"], evaluation["id"])
            assert (compared["n"], compared["unmeasured"], compared["gain"]) == (4, 0, 0.0)
            assert (await graph.definition())["name"] == ask.name

    asyncio.run(story())


def test_a_picture_has_a_box_for_each_node_and_escapes_its_texts() -> None:
    definition = {
        "name": "<trip>",
        "inputs": {"country": "str"},
        "nodes": {"place": {"strategy": "predict"}, "advice": {"strategy": "chain_of_thought"}},
        "edges": [
            {"from": "input.country", "to": "place.country"},
            {"from": "place.capital", "to": "advice.capital"},
        ],
        "outputs": {"sentence": "advice.sentence"},
    }
    svg = picture(definition)
    assert svg.count("<rect") == 4 and svg.count("<path") == 3
    assert "&lt;trip&gt;" in svg and "<trip>" not in svg
    columns = [int(part.split("'")[0]) for part in svg.split("<rect x='")[1:]]
    assert columns == sorted(columns) and len(set(columns)) == 4


def test_a_query_in_the_path_of_a_plain_request_is_sent(client: Client, ask: Graph) -> None:
    ask(question="Where is it?")
    runs = client.request("GET", f"/v1/runs?graph={ask.name}")["items"]
    assert [run["graph"] for run in runs] == [ask.name]
