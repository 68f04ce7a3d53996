"""Texts, dicts and JSON: a graph has the value that Python has for every text, also with unusual letters and spaces."""
# mypy: disallow-subclassing-any=False, disable-error-code="no-any-return"

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

import dspy
import pytest
from alike import assert_alike
from conftest import Run
from pydantic import BaseModel
from small_python import Small

from dsrs_client import Client
from dsrs_client.dspy import CannotPush, RunFailed, answer, graph_of, push

# ruff: noqa: UP031

LETTERS = "aAbB ,,--\n\t\r\x1c\x1f\x85\u2028\u3000ßſΣσςİıǆﬁაé\u0301中ªʰ²٣½_'\"\\{}%\x00\x07😀"
CHOICE = random.Random(37)
TEXTS = [
    "",
    " a,b ",
    "a-b--c",
    "{{ a }}",
    "YES, it is 12",
    *("".join(CHOICE.choices(LETTERS, k=CHOICE.randint(1, 16))) for _ in range(25)),
]


class Tag(BaseModel):
    """A word with a number."""

    word: str
    parts: list[str]
    weight: int = 3


METHODS: dict[str, Callable[[str], Any]] = {
    "strip": lambda text: text.strip(),
    "lstrip": lambda text: text.lstrip(" a"),
    "rstrip": lambda text: text.rstrip(),
    "lower": lambda text: text.lower(),
    "upper": lambda text: text.upper(),
    "capitalize": lambda text: text.capitalize(),
    "replace": lambda text: text.replace("a", "'\\{{ b }}\n"),
    "replace_by_itself": lambda text: text.replace(text[:1], f"<{text}>", 2),
    "split": lambda text: text.split(),
    "first_word": lambda text: text.split(None, 1),
    "split_at": lambda text: text.split("-", 1),
    "rsplit": lambda text: text.rsplit(",", maxsplit=1),
    "partition": lambda text: list(text.partition("-")),
    "rpartition": lambda text: list(text.rpartition(" ")),
    "removeprefix": lambda text: text.removeprefix("a"),
    "removesuffix": lambda text: text.removesuffix(" "),
    "startswith": lambda text: text.startswith(("a", " ", "ß")),
    "endswith": lambda text: text.endswith("a"),
    "count": lambda text: text.count("a"),
    "find": lambda text: text.find("B"),
    "isdigit": lambda text: text.isdigit(),
    "isalpha": lambda text: text.isalpha(),
    "isalnum": lambda text: text.isalnum(),
    "isspace": lambda text: text.isspace(),
    "percent": lambda text: "%s|%-9s|%9s|%r|%%|%d" % (text, text, text, text, 3),
    "json": lambda text: json.dumps({"a": [text, 1.5, None, True], "b": {}, "c": [[]]}, ensure_ascii=False),
    "json_lines": lambda text: json.dumps({"b": [text, 1e-7], "a": {"c": text}}, ensure_ascii=False, indent=2),
    "json_sorted": lambda text: json.dumps([text, {"b": 1, "a": text}], ensure_ascii=False, sort_keys=True),
    "spaces": lambda text: re.sub(r"\s+", " ", text),
    "only_letters": lambda text: re.sub(r"[^\w\s]+", "", text),
    "a_plain_pattern": lambda text: re.sub("--", "<->", text),
    "letters": lambda text: re.findall(r"[\w']", text),
    "a_word": lambda text: re.search(r"\b(yes|no)\b", text, re.I) is not None,
    "a_beginning": lambda text: re.match(r"[a-z]+\s?$", text) is None,
    "all_of_it": lambda text: re.fullmatch(r"(\w|\s)*?.{0,3}", text) is not None,
    "lines": lambda text: re.compile(r"^s.\d?|^k", re.I | re.S | re.M).search(text) is not None,
    "a_dict": lambda text: {"a": text, "b": [text, 1], "c": {"d": None}},
    "an_element": lambda text: {"a": text}["a"],
    "a_list": lambda text: [text, "constant", text.strip()],
}


def test_methods_and_functions_mean_what_they_mean_in_python(client: Client, run: Run, name: str, lm: dspy.LM) -> None:
    class All(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.ask = dspy.Predict("question -> answer")

        def forward(self, question: str) -> Any:
            found = {key: method(question) for key, method in METHODS.items()}
            return dspy.Prediction(answer=self.ask(question="Where?").answer, **found)

    push(All(), name, client=client)
    for text in TEXTS:
        wanted = {key: method(text) for key, method in METHODS.items()}
        assert run(name, {"question": text}) == {"answer": "Lima", **wanted}, ascii(text)


ALIKE: dict[str, Any] = {
    "a value of a dict": lambda p, q: p.ask(question=q).prices.get("tea", 1.0),
    "a missing value of a dict": lambda p, q: f"{p.ask(question=q).prices.get('milk')}",
    "a missing value with a default": lambda p, q: p.ask(question=q).prices.get("milk", 0.5) + 1,
    "the keys of a dict": lambda p, q: ", ".join(p.ask(question=q).prices.keys()),
    "the values of a dict": lambda p, q: sum(p.ask(question=q).prices.values()),
    "a percent sign": lambda p, q: "%s costs %.1f%%" % (p.ask(question=q).answer, p.ask(question=q).decimal),
    "names behind percent signs": lambda p, q: "%(a)s and %(b)5.2f" % {"a": p.ask(question=q).words, "b": 2.5},
    "JSON of a list": lambda p, q: json.dumps(p.ask(question=q).words),
    "JSON of a dict": lambda p, q: json.dumps(p.ask(question=q).prices, indent=4),
    "JSON of the members": lambda p, q: json.dumps({"answer": p.ask(question=q).answer, "sure": True}),
    "an input from JSON": lambda p, q: p.again(question=json.loads('["a"]' if q else q)[0]).answer,
    "a member of JSON": lambda p, q: json.loads(q.replace("Where?", '{"a": ["x"]}'))["a"][0],
    "a constant": lambda p, q: [3, None, {"a": [1.5]}, p.again(question=q).answer][0:3],
    "a number": lambda p, q: [p.again(question=q).answer, 7][1],
    "none": lambda p, q: [p.again(question=q).answer, None][1],
    "a model": lambda p, q: Tag(word=p.ask(question=q).answer, parts=["a", q]),
    "a part of a model": lambda p, q: Tag(word=p.ask(question=q).answer, parts=["a", q]).parts[1],
    "a model in a list": lambda p, q: [Tag(word=p.again(question=q).answer, parts=[])],
    "a beginning as a decision": lambda p, q: (
        p.again(question=q).answer if p.ask(question=q).answer.startswith("Li") else "other"
    ),
    "a pattern as a decision": lambda p, q: "yes" if re.search(r"\d+", p.ask(question=q).about) else "no",
    "a constant list in a text": lambda p, q: f"{[p.ask(question=q).answer, 'x', 1]}",
    "what is logged": lambda p, q: [print(f"{p}", p.again), p.again(question=q).answer][1],
}


@pytest.mark.parametrize("steps", ALIKE.values(), ids=ALIKE.keys())
def test_a_graph_has_the_value_that_python_has(steps: Any, client: Client, name: str, lm: dspy.LM) -> None:
    program = Small(steps)
    assert_alike(client, program, push(program, name, client=client), {"question": "Where?"})


def test_letters_that_json_would_escape_are_noted(client: Client, name: str) -> None:
    pushed = push(Small(lambda p, q: json.dumps([p.again(question=q).answer])), name, client=client)
    assert pushed.notes == ["`json.dumps` writes letters beyond ASCII as they are, as with `ensure_ascii=False`"]


NO_JSON = ["", "abc", "1, 2", "[1", "{'a': 1}", "[1,]", "// 1", "```json\n[1]\n```"]


@pytest.mark.parametrize("text", NO_JSON)
def test_a_run_fails_where_json_raises_an_exception(text: str, client: Client, name: str, lm: dspy.LM) -> None:
    program = Small(lambda p, q: [p.again(question="Where?").answer, json.loads(q)][1])
    push(program, name, client=client, inputs={"question": str})
    with pytest.raises(RunFailed):
        answer(name, {"question": text}, {}, client=client)
    with pytest.raises(ValueError):
        program(question=text)


REFUSED: dict[str, tuple[Any, str]] = {
    "titles": (lambda p, q: p.ask(question=q).answer.title(), "`.title` of `ask.answer`, a `str`, is not a part"),
    "several words": (
        lambda p, q: p.ask(question=q).answer.split(None, 2),
        "calls `.split` of `ask.answer` at white space, 2 times. Nearest: `render`",
    ),
    "no text": (
        lambda p, q: p.ask(question=q).answer.replace("a", p.ask(question=q).decimal),
        "`.replace` takes a text, and `ask_2.decimal` is a `float`",
    ),
    "an unknown letter of a format": (
        lambda p, q: "%x" % p.ask(question=q).decimal,
        "writes `ask.decimal`, a `float`, with `%x`. Nearest: `format`",
    ),
    "a class as JSON": (
        lambda p, q: json.dumps(p.ask(question=q).person),
        "writes `ask.person`, an `Optional[Person]`, as JSON: Python refuses it or writes more.",
    ),
    "JSON with an own encoder": (
        lambda p, q: json.dumps(p.ask(question=q).words, default=str),
        "calls `json.dumps` with `default=` over a value of the run",
    ),
    "a reference in a pattern": (
        lambda p, q: "x" if re.search(r"(a)\1", p.ask(question=q).answer) else "y",
        "calls `re.search` with `(a)\\1`, which has look-around, references or other parts that need backtracking.",
    ),
    "the groups of a pattern": (
        lambda p, q: re.search(r"(a)", p.ask(question=q).answer).group(1),  # type: ignore[union-attr]
        "`.group` of the result of `parse_structured`, a `bool`, is not a part",
    ),
    "a replacement of some letters": (
        lambda p, q: re.sub(r"[ab]", "x", p.ask(question=q).answer),
        "calls `re.sub` with `[ab]`, which has a replacement of more than spaces by a text.",
    ),
    "a model that pydantic converts": (
        lambda p, q: Tag(word="a", parts=[], weight=p.ask(question=q).number),
        "makes a `Tag` whose `weight` is `int` of a `str`, which pydantic may convert.",
    ),
}


@pytest.mark.parametrize(("steps", "what"), REFUSED.values(), ids=REFUSED.keys())
def test_what_a_graph_would_compute_in_another_way_is_refused(steps: Any, what: str) -> None:
    with pytest.raises(CannotPush) as refusal:
        graph_of(Small(steps), "refused")
    assert f": {what}" in str(refusal.value) and str(refusal.value).startswith(__file__)
