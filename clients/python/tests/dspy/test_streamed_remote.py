"""A `Remote` in `dspy.streamify`, `asyncify`, `acall` and `dspy.Parallel`: texts, messages, usage."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from conftest import Run
from dspy.streaming import StatusMessage, StatusMessageProvider, StreamListener, StreamResponse
from test_chain import Tour

from dsrs_client import Client
from dsrs_client.dspy import Remote, push


@pytest.fixture
def tour(client: Client, name: str, lm: dspy.LM) -> str:
    """The stored tour."""
    push(Tour(), name, client=client)
    return name


def collected(stream: Callable[..., Any], **inputs: Any) -> list[Any]:
    """Everything that a stream yields."""

    async def read() -> list[Any]:
        return [value async for value in stream(**inputs)]

    return asyncio.run(read())


def texts(values: list[Any]) -> dict[str, str]:
    """The texts by field."""
    found: dict[str, str] = {}
    for value in values:
        if isinstance(value, StreamResponse):
            found[value.signature_field_name] = found.get(value.signature_field_name, "") + value.chunk
    return found


@pytest.mark.parametrize("is_async", [False, True])
def test_listeners_get_the_text_of_fields_of_the_graph(client: Client, tour: str, is_async: bool) -> None:
    remote = Remote(tour, client=client)
    listeners = [StreamListener("city", predict=remote.nodes["capital"]), StreamListener("reasoning")]
    values = collected(dspy.streamify(remote, stream_listeners=listeners, is_async_program=is_async), country="Peru")
    assert texts(values) == {"city": "Lima", "reasoning": "Peru has one capital."}
    assert [value.is_last_chunk for value in values if isinstance(value, StreamResponse)].count(True) == 2
    assert listeners[1].predict_name == "nodes['advice.predict']"
    assert values[-1].city == "Lima"


def test_a_listener_of_the_remote_itself_gets_an_output_of_the_graph(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    stream = dspy.streamify(
        remote,
        stream_listeners=[StreamListener("sentence", predict=remote)],
        include_final_prediction_in_output_stream=False,
    )
    values = collected(stream, country="Peru")
    assert texts(values) == {"sentence": "Take a coat."}
    assert all(isinstance(value, StreamResponse) for value in values)


def test_a_remote_streams_as_a_step_of_a_program_and_in_blocking_code(client: Client, tour: str) -> None:
    class Trip(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tour = Remote(tour, client=client)

        def forward(self, country: str) -> Any:
            return self.tour(country=country)

    stream = dspy.streamify(Trip(), stream_listeners=[StreamListener("sentence")], async_streaming=False)
    assert texts(list(stream(country="Peru"))) == {"sentence": "Take a coat."}


def test_a_changed_state_streams_from_its_draft(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    remote.nodes["capital"].demos = [dspy.Example(country="Spain", city="Madrid")]
    stream = dspy.streamify(remote, stream_listeners=[StreamListener("sentence")])
    assert texts(collected(stream, country="Peru")) == {"sentence": "Take a coat."}
    remote.close()


class Steps(StatusMessageProvider):
    """Says what begins and ends."""

    def module_start_status_message(self, instance: Any, inputs: dict[str, Any]) -> str:
        """Before a module."""
        signature = getattr(instance, "signature", None)
        return f"start {type(instance).__name__} {', '.join(signature.output_fields) if signature else ''}".strip()

    def module_end_status_message(self, outputs: Any) -> str:
        """After a module."""
        return f"end {', '.join(outputs.keys())}"


@pytest.mark.parametrize("is_async", [False, True])
def test_a_provider_has_messages_about_the_nodes(client: Client, tour: str, is_async: bool) -> None:
    remote = Remote(tour, client=client)
    stream = dspy.streamify(remote, status_message_provider=Steps(), is_async_program=is_async)
    values = collected(stream, country="Peru")
    assert [value.message for value in values if isinstance(value, StatusMessage)] == [
        "start Remote",
        "start Predict city",
        "end city",
        "start Predict reasoning, sentence",
        "end reasoning, sentence",
        "end city, sentence",
    ]


def test_a_provider_that_fails_ends_no_run(client: Client, tour: str) -> None:
    class Broken(StatusMessageProvider):
        def module_end_status_message(self, outputs: Any) -> str:
            raise ValueError("no message")

    values = collected(dspy.streamify(Remote(tour, client=client), status_message_provider=Broken()), country="Peru")
    assert values[-1].city == "Lima"


def test_a_failed_run_raises_its_problem_while_it_is_streamed(client: Client, name: str, lm: dspy.LM) -> None:
    class Strict(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        def forward(self, question: str) -> Any:
            return dspy.Prediction(number=int(self.ask(question=question).answer))

    push(Strict(), name, client=client)
    stream = dspy.streamify(Remote(name, client=client), stream_listeners=[StreamListener("answer")])
    with pytest.raises(Exception, match="Lima"):
        collected(stream, question="Where?")


def test_a_stream_without_listeners_is_messages_and_the_prediction(client: Client, tour: str) -> None:
    values = collected(dspy.streamify(Remote(tour, client=client)), country="Peru")
    assert [type(value).__name__ for value in values] == ["Prediction"]


def test_texts_of_calls_at_the_same_time_are_not_mixed(client: Client, name: str, lm: dspy.LM) -> None:
    class Each(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.reply = dspy.Predict("ticket -> answer")

        def forward(self, tickets: list[str]) -> Any:
            return dspy.Prediction(answers=[self.reply(ticket=ticket).answer for ticket in tickets])

    push(Each(), name, client=client)
    tickets = ["one", "two", "three"]
    once = dspy.streamify(Remote(name, client=client), stream_listeners=[StreamListener("answer")])
    assert texts(collected(once, tickets=tickets)) == {"answer": "Lima"}
    each = dspy.streamify(Remote(name, client=client), stream_listeners=[StreamListener("answer", allow_reuse=True)])
    values = [value for value in collected(each, tickets=tickets) if isinstance(value, StreamResponse)]
    parts = "".join("|" if value.is_last_chunk else value.chunk for value in values)
    assert parts == "Lima|Lima|Lima|"


def test_one_streamed_remote_serves_many_callers_at_once(client: Client, tour: str) -> None:
    stream = dspy.streamify(Remote(tour, client=client), stream_listeners=[StreamListener("sentence")])

    async def callers() -> list[list[Any]]:
        async def read() -> list[Any]:
            return [value async for value in stream(country="Peru")]

        return [*await asyncio.gather(*(read() for _ in range(4)))]

    for values in [collected(stream, country="Peru"), *asyncio.run(callers())]:
        assert texts(values) == {"sentence": "Take a coat."}


def test_of_two_runs_in_one_stream_the_first_is_sent_unless_the_listener_is_reused(client: Client, tour: str) -> None:
    class Twice(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tour = Remote(tour, client=client)

        def forward(self, country: str) -> Any:
            self.tour(country=country)
            return self.tour(country=country)

    for allow_reuse, text in ((False, "Take a coat."), (True, "Take a coat.Take a coat.")):
        listener = StreamListener("sentence", allow_reuse=allow_reuse)
        values = collected(dspy.streamify(Twice(), stream_listeners=[listener]), country="Peru")
        assert texts(values) == {"sentence": text}


def test_a_typed_remote_streams(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client, signature="country -> city: str, sentence: str")
    stream = dspy.streamify(remote, stream_listeners=[StreamListener("sentence")])
    assert collected(stream, country="Peru")[-1].sentence == "Take a coat."


def test_a_remote_works_in_asyncify_and_parallel(client: Client, run: Run, tour: str) -> None:
    remote = Remote(tour, client=client)
    known = run(tour, {"country": "Peru"})
    assert asyncio.run(dspy.asyncify(remote)(country="Peru")).toDict() == known
    pairs = [(remote, {"country": "Peru"})] * 3
    found = dspy.Parallel(num_threads=3, disable_progress_bar=True)(pairs)
    assert [each.toDict() for each in found] == [known] * 3


def test_a_remote_in_parallel_threads_of_a_stream_answers_without_its_texts(client: Client, tour: str) -> None:
    class Both(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tour = Remote(tour, client=client)

        def forward(self, country: str) -> Any:
            parallel = dspy.Parallel(num_threads=2, disable_progress_bar=True)
            first, _ = parallel([(self.tour, {"country": country}), (self.tour, {"country": "Chile"})])
            return first

    values = collected(dspy.streamify(Both(), stream_listeners=[StreamListener("sentence")]), country="Peru")
    assert values[-1].city == "Lima"


def counted(client: Client, tour: str) -> tuple[int, int]:
    """The tokens of the newest run."""
    run = client.request("GET", f"/v1/runs?graph={tour}")["items"][0]
    usage = client.request("GET", f"/v1/runs/{run['id']}")["usage"]
    return usage["input_tokens"], usage["output_tokens"]


def test_tokens_are_counted_in_acall_and_in_streams(client: Client, tour: str) -> None:
    remote = Remote(tour, client=client)
    with dspy.context(track_usage=True):
        called = asyncio.run(remote.acall(country="Peru"))
        streams = [
            dspy.streamify(remote, stream_listeners=[StreamListener("sentence")], is_async_program=is_async)
            for is_async in (False, True)
        ]
        predictions = [called, *(collected(stream, country="Peru")[-1] for stream in streams)]
    for prediction in predictions:
        usage = prediction.get_lm_usage()[f"dsrs/{tour}"]
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == counted(client, tour)
        assert usage["total_tokens"] > 0
