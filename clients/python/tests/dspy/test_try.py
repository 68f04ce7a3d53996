"""`try` around what may fail in a run is the strategy `try`: the handler runs where the program's would."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

import json
import logging
from typing import Any

import dspy
import pytest
from alike import assert_alike
from dspy.utils.exceptions import AdapterParseError, LMError

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push

logger = logging.getLogger("program")


class Tries(dspy.Module):
    """A program of one function. `count` cannot be read: the scripted answer is no number."""

    def __init__(self, steps: Any) -> None:
        super().__init__()
        self.steps = steps
        self.ask = dspy.Predict("question -> answer, words: list[str], about, number, prices: dict[str, float]")
        self.count = dspy.Predict("question -> sentence: int")
        self.again = dspy.Predict("question -> answer")

    def forward(self, question: str) -> Any:
        """The steps, as one answer."""
        return dspy.Prediction(made=self.steps(self, question))


def a_fallback(p: Any, q: Any) -> Any:
    try:
        count = p.count(question=q).sentence
    except Exception:
        count = -1
    return count


def another_predictor(p: Any, q: Any) -> Any:
    try:
        made = p.count(question=q).sentence
        text = f"{made}"
    except Exception as error:
        logger.warning(f"it failed: {error}")
        text = p.again(question=q).answer
    return text


def it_works(p: Any, q: Any) -> Any:
    try:
        text = p.again(question=q).answer
    except Exception:
        text = "none"
    return text


def returns(p: Any, q: Any) -> Any:
    try:
        return p.count(question=q).sentence
    except Exception:
        return 0


def passes(p: Any, q: Any) -> Any:
    try:
        return f"{p.count(question=q).sentence}"
    except Exception:
        pass
    return p.again(question=q).answer


def ends_in_the_handler(p: Any, q: Any) -> Any:
    try:
        made = p.again(question=q)
    except Exception:
        return "none"
    return made.answer + p.again(question=made.answer).answer


def with_else_and_finally(p: Any, q: Any) -> Any:
    done = "no"
    try:
        made = p.again(question=q)
    except Exception:
        text = "none"
    else:
        text = made.answer
    finally:
        done = "yes"
    return text + done


def a_number(p: Any, q: Any) -> Any:
    text = p.ask(question=q).about
    try:
        number = int(text)
    except ValueError:
        number = 0
    return number


def an_element(p: Any, q: Any) -> Any:
    words = p.ask(question=q).words
    try:
        return words[7]
    except (IndexError, KeyError):
        return words[0]


def a_json(p: Any, q: Any) -> Any:
    text = p.ask(question=q).about
    try:
        made = json.loads(text)
    except json.JSONDecodeError:
        made = {"text": text}
    return made


def of_dspy(p: Any, q: Any) -> Any:
    try:
        count = p.count(question=q).sentence
    except AdapterParseError:
        count = None
    return count


def predictions(p: Any, q: Any) -> Any:
    try:
        made = p.again(question=q)
    except Exception:
        made = dspy.Prediction(answer="none")
    return made.answer


def in_a_loop(p: Any, q: Any) -> Any:
    found = []
    for word in p.ask(question=q).words:
        try:
            found.append(f"{p.count(question=word).sentence}")
        except Exception:
            found.append(p.again(question=word).answer)
    return found


def continues(p: Any, q: Any) -> Any:
    found = []
    for word in p.ask(question=q).words:
        try:
            count = p.count(question=word).sentence
        except Exception:
            continue
        found.append(count)
    return found


ALIKE = [
    a_fallback, another_predictor, it_works, returns, passes, ends_in_the_handler, with_else_and_finally, a_number,
    an_element, a_json, of_dspy, predictions, in_a_loop, continues,
]  # fmt: skip


@pytest.mark.parametrize("steps", ALIKE, ids=lambda steps: steps.__name__)
def test_a_handler_runs_where_it_runs_in_python(steps: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = Tries(steps)
    pushed = push(program, name, client=client)
    assert "try" in json.dumps(pushed.graph["nodes"])
    assert_alike(client, program, pushed, {"question": "Where?"})


CODES: dict[Any, Any] = {
    a_fallback: None,
    a_number: ["op_failed", "parse_error"],
    of_dspy: ["parse_error", "constraint_failed", "answer_incomplete"],
}


@pytest.mark.parametrize("steps", CODES, ids=lambda steps: steps.__name__)
def test_exceptions_of_python_are_codes_of_failures(steps: Any) -> None:
    node = graph_of(Tries(steps), "codes")["nodes"]["try"]
    assert node["config"].get("catch") == CODES[steps]


def of_another_kind(p: Any, q: Any) -> Any:
    try:
        return p.again(question=q).answer  # here
    except ValueError:
        return "none"


def uses_the_exception(p: Any, q: Any) -> Any:
    try:
        text = p.again(question=q).answer
    except LMError as error:
        text = f"{error}"  # here
    return text


def two_handlers(p: Any, q: Any) -> Any:
    try:
        text = p.again(question=q).answer  # here
    except LMError:
        text = "a"
    except Exception:
        text = "b"
    return text


REFUSED = {
    of_another_kind: (
        "catches `ValueError` of what may fail in a run. Catch `Exception`, an error of `dspy.utils.exceptions`, or "
        "what Python's functions raise where no model is called."
    ),
    uses_the_exception: "writes a `Failure` of values of the run into a text. Nearest: `render`",
    two_handlers: "catches the failure of a predictor. Nearest: `try` (docs/strategies.md#try).",
}


@pytest.mark.parametrize("steps", REFUSED, ids=lambda steps: steps.__name__)
def test_what_a_handler_of_a_graph_cannot_do_is_refused(steps: Any) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Tries(steps), "refused")
    assert f": {REFUSED[steps]}" in str(refusal.value) and str(refusal.value).startswith(f"{__file__}:")
