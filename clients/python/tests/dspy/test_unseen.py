"""What a trace must not overlook: handlers of failures, texts of placeholders, models, clocks, and what grows."""
# mypy: disallow-subclassing-any=False, disallow-untyped-decorators=False, disable-error-code="no-any-return"

from __future__ import annotations

import contextlib
import datetime
import inspect
import json
import logging
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import dspy
import pytest
from dspy.utils.dummies import DummyLM
from small_python import Small

from dsrs_client.dspy import CannotPush, graph_of


@contextlib.contextmanager
def silently() -> Iterator[None]:
    """Suppresses every failure."""
    try:
        yield
    except Exception:
        logging.info("it failed")


@contextlib.contextmanager
def timed() -> Iterator[None]:
    """Suppresses none."""
    started = time.perf_counter()
    try:
        yield
    finally:
        logging.info("took %s", time.perf_counter() - started)


class Forgives:
    """A context that suppresses failures."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *failure: object) -> bool:
        return True


@dataclass
class Notes:
    """An object of the program."""

    lines: list[Any] = field(default_factory=list)


class Letter:
    """Another one, with a text of its own."""

    def __init__(self, line: Any) -> None:
        self.line = line

    def __str__(self) -> str:
        return f"Dear {self.line!r}"

    @property
    def is_empty(self) -> bool:
        """Whether it has no line."""
        return self.line is None


def the_first_or_none(value: Any) -> Iterator[Any]:
    """A generator that decides."""
    if value is None:  # here
        yield "none"
    yield value


is_missing: Callable[[Any], bool] = lambda value: value is None  # noqa: E731  # here


def suppressed(p: Any, q: Any) -> Any:
    asked, made = p.ask(question=q), "none"
    with contextlib.suppress(KeyError):
        made = f"{asked.prices['tea']}"  # here
    return made


def suppressed_by_a_context_of_its_own(p: Any, q: Any) -> Any:
    with silently():
        return p.ask(question=q).answer  # here


def suppressed_by_a_class_of_its_own(p: Any, q: Any) -> Any:
    with Forgives():
        return p.ask(question=q).answer  # here


def suppressed_by_a_stack(p: Any, q: Any) -> Any:
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(Exception))  # here
        return p.ask(question=q).answer


def a_prediction_in_a_text(p: Any, q: Any) -> Any:
    return f"{p.ask(question=q)}"  # here


def str_of_a_prediction(p: Any, q: Any) -> Any:
    return str(p.ask(question=q))  # here


def a_prediction_after_a_percent(p: Any, q: Any) -> Any:
    return "%s" % p.ask(question=q)  # here  # noqa: UP031


def predictions_in_a_list(p: Any, q: Any) -> Any:
    return f"{[p.ask(question=q)]}"  # here


def json_of_a_prediction(p: Any, q: Any) -> Any:
    return json.dumps(p.ask(question=q), default=str)  # here


def json_of_its_members(p: Any, q: Any) -> Any:
    return json.dumps(p.ask(question=q).toDict(), default=str)  # here


def an_example_in_a_text(p: Any, q: Any) -> Any:
    return p.again(question=f"{dspy.Example(question=q)}").answer  # here


def an_object_in_a_text(p: Any, q: Any) -> Any:
    notes = Notes()
    notes.lines.append(p.ask(question=q).answer)
    return p.again(question=f"So far: {notes}").answer  # here


def a_text_of_its_own(p: Any, q: Any) -> Any:
    return str(Letter(p.ask(question=q).answer))  # here


def a_prediction_as_an_input(p: Any, q: Any) -> Any:
    return p.again(question=p.ask(question=q)).answer  # here


def printed_into_a_file(p: Any, q: Any) -> Any:
    import io

    file = io.StringIO()
    print(p.ask(question=q).answer, file=file)  # here
    return file.getvalue()


def the_name_of_a_class(p: Any, q: Any) -> Any:
    return p.ask(question=q).answer.__class__.__name__  # here


def none_in_a_property(p: Any, q: Any) -> Any:
    letter = Letter(p.ask(question=q).maybe)
    return "x" if letter.is_empty else "y"


def matched(p: Any, q: Any) -> Any:
    match (p.ask(question=q).maybe, 1):  # here
        case (str(), _):
            return "x"
        case _:
            return "y"


def asks_the_model_itself(p: Any, q: Any) -> Any:
    return p.again(question=dspy.settings.lm("Name a topic.")[0]).answer  # here


def in_a_pool(p: Any, q: Any) -> Any:
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda topic: p.again(question=topic).answer, ["a", "b"]))  # here


def in_a_thread(p: Any, q: Any) -> Any:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(p.again(question="a")))  # here
    thread.start()
    thread.join()
    return made[0].answer


def changes_the_settings(p: Any, q: Any) -> Any:
    dspy.configure(lm=None)  # here
    return p.again(question=q).answer


def with_the_date(p: Any, q: Any) -> Any:
    return p.again(question=f"{datetime.date.today()}: {q}").answer  # here


def with_the_time(p: Any, q: Any) -> Any:
    now = time.time()
    return p.again(question=f"{now:.0f}: {q}").answer  # here


def with_a_random_choice(p: Any, q: Any) -> Any:
    return p.again(question=random.choice(["a", "b"])).answer  # here


def with_an_identifier(p: Any, q: Any) -> Any:
    return p.again(question=f"{uuid.uuid4()}: {q}").answer  # here


def with_a_count_that_grows(p: Any, q: Any) -> Any:
    p.count += 1
    return p.again(question=f"Question {p.count}: {q}").answer  # here


def with_a_history_that_grows(p: Any, q: Any) -> Any:
    p.log.append(q)
    return p.again(question=f"Question {len(p.log)}: {q}").answer  # here


def decides_by_its_history(p: Any, q: Any) -> Any:
    p.log.append(p.again(question=q).answer)
    return "many" if len(p.log) > 1 and p.log[0] else q  # here


def changes_its_demos(p: Any, q: Any) -> Any:
    p.again.demos = [dspy.Example(question="Why?", answer="So.")]
    return p.again(question=q).answer  # here


def changes_its_instruction(p: Any, q: Any) -> Any:
    p.again.signature = p.again.signature.with_instructions("Answer in a word.")
    return p.again(question=q).answer  # here


def sorts_values(p: Any, q: Any) -> Any:
    made = [p.again(question=q).answer, p.again(question="Why?").answer]
    made.sort(key=is_missing)  # here
    return made[0]


UNWRAP = "Nearest: `unwrap_or` (docs/strategies.md#unwrap_or)."
TRY = "Nearest: `try` (docs/strategies.md#try)."
RENDER = "Nearest: `render` (docs/strategies.md#render)."
BRANCH = "Nearest: `branch` (docs/strategies.md#branch)."
PARALLEL = "Nearest: `parallel` (docs/strategies.md#parallel)."
OUTSIDE = (
    "Nearest: `call` (docs/strategies.md#call), by `tools=` of `push`, or `await` (docs/strategies.md#await), by "
    "`outside=`."
)
AGAIN = "draws another graph when it is called again"
INPUT = "Make it an input of `forward`."
REFUSED: dict[Any, str] = {
    suppressed: f"catches the failure of `['tea']`. {TRY}",
    suppressed_by_a_context_of_its_own: f"catches the failure of a predictor. {TRY}",
    suppressed_by_a_class_of_its_own: f"catches the failure of a predictor. {TRY}",
    suppressed_by_a_stack: f"catches failures by an `ExitStack`. {UNWRAP}",
    a_prediction_in_a_text: f"writes a `Prediction` of values of the run into a text. {RENDER}",
    str_of_a_prediction: f"writes a `Prediction` of values of the run into a text. {RENDER}",
    a_prediction_after_a_percent: f"writes a `Prediction` of values of the run into a text. {RENDER}",
    predictions_in_a_list: f"writes a `list` of values of the run into a text. {RENDER}",
    json_of_a_prediction: f"calls `json.dumps` with `default=` over a value of the run. {RENDER}",
    json_of_its_members: f"calls `json.dumps` with `default=` over a value of the run. {RENDER}",
    an_example_in_a_text: f"writes a `Example` of values of the run into a text. {RENDER}",
    an_object_in_a_text: f"writes a `Notes` of values of the run into a text. {RENDER}",
    a_text_of_its_own: f"writes a `Letter` of values of the run into a text. {RENDER}",
    a_prediction_as_an_input: (
        "puts values of the run into a Prediction. Nearest: `collect` (docs/strategies.md#collect)."
    ),
    printed_into_a_file: f"prints a value of the run into a file. {OUTSIDE}",
    the_name_of_a_class: f"branches on the type of `ask.answer`. {BRANCH}",
    matched: f"branches on values of the run. {BRANCH}",
    asks_the_model_itself: (
        "calls the model `dummy` without a predictor. Nearest: `predict` (docs/strategies.md#predict)."
    ),
    in_a_pool: f"runs code in another thread by `map`; a graph runs independent nodes at once. {PARALLEL}",
    in_a_thread: f"runs code in another thread by `Thread`; a graph runs independent nodes at once. {PARALLEL}",
    changes_the_settings: "calls `dspy.configure`, which changes settings for all programs; call it before `push`.",
    with_the_date: f"{AGAIN}: the clock (`today`) changes from call to call. {INPUT}",
    with_the_time: f"{AGAIN}: the clock (`time`) changes from call to call. {INPUT}",
    with_a_random_choice: (
        "draws random values by `choice`: a graph would have the result of this one call in all runs. "
        "Make it an input of `forward`, or name the function in `outside=`."
    ),
    with_an_identifier: f"{AGAIN}. {INPUT}",
    changes_its_demos: ("changes the signature or the demos of `again` in `forward`. Make it a predictor of its own."),
    changes_its_instruction: (
        "changes the signature or the demos of `again` in `forward`. Make it a predictor of its own."
    ),
    sorts_values: f"calls `.sort` of a list of values. {RENDER}",
    with_a_count_that_grows: f"{AGAIN}: `self.count` changes from call to call. {INPUT}",
    with_a_history_that_grows: f"{AGAIN}: `self.log` changes from call to call. {INPUT}",
    decides_by_its_history: (
        f"uses `again.answer` of an earlier call when it is called again: `self.log` changes from call to call. {INPUT}"
    ),
}


@pytest.fixture
def dummy() -> Iterator[DummyLM]:
    """A model that must not be called."""
    model = DummyLM([{"answer": "frozen"}] * 10)
    with dspy.context(lm=model):
        yield model
    assert model.history == []


@pytest.mark.parametrize("steps", REFUSED, ids=lambda steps: steps.__name__)
def test_what_a_graph_would_have_wrong_is_refused_at_its_line(steps: Any, dummy: DummyLM) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Small(steps), "refused")
    [reason] = refusal.value.reasons
    assert reason.place is not None
    assert str(refusal.value) == f"{__file__}:{reason.place.line}: {REFUSED[steps]}"
    assert "# here" in inspect.getsource(inspect.getmodule(steps)).splitlines()[reason.place.line - 1]  # type: ignore[arg-type]


def in_a_timed_context(p: Any, q: Any) -> Any:
    with timed():
        answer = p.again(question=q).answer
    logging.getLogger("program").info("answered %s at %s", answer, datetime.datetime.now())
    return answer


def in_an_object(p: Any, q: Any) -> Any:
    notes = Notes()
    notes.lines.append(p.again(question=q).answer)
    return Letter(line=notes.lines[0]).line


def in_the_branch_of_a_try_that_cannot_fail(p: Any, q: Any) -> Any:
    try:
        topic = {"a": "Peru"}["b"]
    except KeyError:
        topic = "Chile"
    return p.again(question=f"{topic}: {q}").answer


def in_a_batch(p: Any, q: Any) -> Any:
    examples = [dspy.Example(question=topic).with_inputs("question") for topic in (q, "Chile")]
    return [made.answer for made in p.again.batch(examples)]


def counted(p: Any, q: Any) -> Any:
    p.count += 1
    p.log.append({"question": q, "answers": [p.again(question=q).answer]})
    return p.log[-1]["answers"][0]


FOLLOWED = {
    in_a_timed_context: {"again": "predict"},
    in_an_object: {"again": "predict"},
    in_the_branch_of_a_try_that_cannot_fail: {"again": "predict", "render": "render"},
    in_a_batch: {"again": "predict", "again_2": "predict", "collect": "collect"},
    counted: {"again": "predict"},
}


@pytest.mark.parametrize("steps", FOLLOWED, ids=lambda steps: steps.__name__)
def test_what_changes_no_value_is_followed(steps: Any, dummy: DummyLM) -> None:
    program = Small(steps)
    nodes = graph_of(program, "followed")["nodes"]
    assert {name: node["strategy"] for name, node in nodes.items()} == FOLLOWED[steps]
    assert program.log == [] and program.count == 0


def test_a_placeholder_has_no_text_outside_of_a_trace_either() -> None:
    stored: list[Any] = []

    def stores(p: Any, q: Any) -> Any:
        stored.append(p.again(question=q).answer)
        return stored[-1]

    graph_of(Small(stores), "stored")
    with pytest.raises(BaseException) as refusal:
        f"{stored}"
    assert "Python's notation of `again.answer`" in str(refusal.value)
