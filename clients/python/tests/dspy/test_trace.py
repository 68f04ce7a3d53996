"""What a trace follows, and what it must not overlook."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dspy
import pytest
from alike import assert_alike
from conftest import Run

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, graph_of, push


class Program(dspy.Module):
    """A program whose `forward` is one function of `self` and a question."""

    def __init__(self, steps: Callable[[Any, Any], Any]) -> None:
        super().__init__()
        self.steps = steps
        self.ask = dspy.Predict("question -> answer, headings: list[str], confidence: float")
        self.log: list[Any] = []

    def forward(self, question: str) -> Any:
        """The steps, as one answer."""
        return dspy.Prediction(made=self.steps(self, question))


def greeting(name: Any) -> str:
    """A helper of the program."""
    return f"Dear {name},"


def with_a_helper(program: Any, question: Any) -> Any:
    return greeting(program.ask(question=question).answer)


def with_format(program: Any, question: Any) -> Any:
    return "{} {{}} {name}".format("To", name=program.ask(question=question).answer)


def with_braces(program: Any, question: Any) -> Any:
    return "{" + program.ask(question=question).answer + "}"


def with_a_join(program: Any, question: Any) -> Any:
    return "; ".join(program.ask(question=question).headings)


def with_a_join_of_a_generator(program: Any, question: Any) -> Any:
    asked = [program.ask(question=question), program.ask(question=question)]
    return ", ".join(one.answer.lower() for one in asked)


def with_numbers(program: Any, question: Any) -> Any:
    asked = program.ask(question=question)
    return (asked.confidence * 2 + max(asked.confidence, asked.confidence)) / len(asked.headings)


def with_spliced_lists(program: Any, question: Any) -> Any:
    asked = program.ask(question=question)
    parts = [asked.answer]
    parts.extend(asked.headings)
    parts.append("end")
    parts += asked.headings
    return parts[-3:]


def decides_by_a_spliced_list(program: Any, question: Any) -> Any:
    parts: list[Any] = []
    parts.extend(program.ask(question=question).headings)
    return parts[0] if parts else question


def compares_a_spliced_list(program: Any, question: Any) -> Any:
    parts: list[Any] = []
    parts.extend(program.ask(question=question).headings)
    return question if parts == [] else "some"


def loops_over_a_spliced_list(program: Any, question: Any) -> Any:
    parts: list[Any] = []
    parts.extend(program.ask(question=question).headings)
    return [program.ask(question=part).answer for part in parts if part]


def with_slices(program: Any, question: Any) -> Any:
    asked = program.ask(question=question)
    return f"{asked.headings[-1]}: {asked.answer[:2]} {asked.confidence:.1f}"


def with_forward(program: Any, question: Any) -> Any:
    return program.ask.forward(question=question).answer.strip("L")


FOLLOWED = [
    with_a_helper,
    with_format,
    with_braces,
    with_a_join,
    with_a_join_of_a_generator,
    with_numbers,
    with_spliced_lists,
    decides_by_a_spliced_list,
    compares_a_spliced_list,
    loops_over_a_spliced_list,
    with_slices,
]


@pytest.mark.parametrize("steps", FOLLOWED, ids=lambda steps: steps.__name__)
def test_work_between_predictors_that_ops_can_say_gives_the_same_value(
    steps: Any, client: Client, name: str, lm: dspy.LM
) -> None:
    program = Program(steps)
    pushed = push(program, name, client=client)
    assert_alike(client, program, pushed, {"question": "Where?"})


def test_forward_of_a_module_is_the_module(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    program = Program(with_forward)
    push(program, name, client=client)
    assert run(name, {"question": "Where?"})["made"] == program(question="Where?").made == "ima"


def takes_from_a_spliced_list(program: Any, question: Any) -> Any:
    parts: list[Any] = []
    parts.extend(program.ask(question=question).headings)
    return parts.pop()


SPLICED = "a list that a list of the run is a part of."
REFUSED = {
    takes_from_a_spliced_list: f"calls `.pop` of {SPLICED} Nearest: `render` (docs/strategies.md#render).",
}


@pytest.mark.parametrize("steps", REFUSED, ids=lambda steps: steps.__name__)
def test_one_element_of_a_list_of_unknown_length_is_refused(steps: Any) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Program(steps), "spliced")
    assert str(refusal.value).endswith(REFUSED[steps])


def stores_a_value(program: Any, question: Any) -> Any:
    program.last = program.ask(question=question).answer
    program.log.append(program.last)
    return program.last


def test_a_trace_leaves_nothing_in_the_program() -> None:
    program = Program(stores_a_value)
    graph_of(program, "stored")
    assert not hasattr(program, "last") and program.log == []


def test_an_op_that_nothing_uses_is_no_node() -> None:
    def prints(program: Any, question: Any) -> Any:
        print(f"Asked: {question}")
        return program.ask(question=question).answer

    assert list(graph_of(Program(prints), "printed")["nodes"]) == ["ask"]


def test_a_program_without_source_is_refused() -> None:
    namespace: dict[str, Any] = {"dspy": dspy}
    exec("class Typed(dspy.Module):\n    def forward(self, question):\n        return question", namespace)
    with pytest.raises(CannotPush) as refusal:
        graph_of(namespace["Typed"](), "typed")
    assert str(refusal.value) == ("<string>:2: the source of `forward` is not available; put the program into a file.")


def test_a_program_without_forward_is_refused() -> None:
    class Asynchronous(dspy.Module):
        async def aforward(self, question: str) -> Any:
            return question

    with pytest.raises(CannotPush) as refusal:
        graph_of(Asynchronous(), "asynchronous")
    assert str(refusal.value).endswith(
        "`Asynchronous` has no `forward`. A graph runs independent nodes at once without `async`."
    )


def test_inputs_that_forward_does_not_name_are_named_by_the_caller() -> None:
    class Anything(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question, words: list[str] -> answer")

        def forward(self, **inputs: Any) -> Any:
            return self.ask(**inputs)

    graph = graph_of(Anything(), "anything", inputs={"question": str, "words": list[str]})
    assert graph["inputs"] == {"question": "str", "words": {"type": "array", "items": {"type": "string"}}}
    assert [edge["to"] for edge in graph["edges"]] == ["ask.question", "ask.words"]
