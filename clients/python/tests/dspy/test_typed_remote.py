"""A `Remote` with a signature: its outputs are values of Python types, in evaluations, demos, pickles and pushes."""
# mypy: disallow-subclassing-any=False

from __future__ import annotations

import datetime
import pickle
from enum import Enum
from typing import Any, Literal

import cloudpickle  # type: ignore[import-untyped]
import dspy
import pytest
from conftest import Run
from modules import Booking, Mood, Person, ReadLetter
from pydantic import BaseModel, Field

from dsrs_client import Client
from dsrs_client.dspy import InvalidOutputs, Remote, push

BOOKING = Booking(traveller=Person(name="Ada"), cities=["Lima", "Cusco"], mood=Mood.CALM)


@pytest.fixture
def desk(client: Client, name: str, lm: dspy.LM) -> str:
    """A stored graph that reads a letter into a class."""
    push(dspy.ChainOfThought(ReadLetter), name, client=client)
    return name


class Unit(Enum):
    """Members whose names are not their values."""

    KILOMETRE = "km"
    MILE = "mi"


class Leg(BaseModel):
    """A part of a trip."""

    until: datetime.date
    unit: Unit
    kinds: set[Literal["train", "bus"]]


class Trip(BaseModel):
    """A list of classes, by names of their own."""

    legs: list[Leg] = Field(alias="parts")
    start: datetime.datetime | None = None


OUTPUTS: dict[str, Any] = {
    "legs": [{"until": "2026-03-01", "unit": "km", "kinds": ["bus"]}],
    "trip": {"parts": [{"until": "2026-03-01", "unit": "mi", "kinds": []}], "start": "2026-02-28T08:00:00Z"},
    "day": "2026-03-01",
    "ready": None,
    "data": "aGk=",
}


class Constants(dspy.Module):
    """Outputs without a model."""

    def __init__(self, values: dict[str, Any]) -> None:
        super().__init__()
        self.values = values

    def forward(self, question: str) -> Any:
        """The same outputs for each question."""
        return dspy.Prediction(**self.values)


def constants(client: Client, name: str, outputs: dict[str, Any]) -> None:
    """A graph without a model whose outputs are JSON constants."""
    push(Constants(outputs), name, client=client)


class Everything(dspy.Signature):
    """All kinds of types."""

    question: str = dspy.InputField()
    legs: list[Leg] = dspy.OutputField()
    trip: Trip = dspy.OutputField()
    day: datetime.date = dspy.OutputField()
    ready: bool | None = dspy.OutputField()
    data: bytes = dspy.OutputField()


def test_outputs_are_models_enums_sets_dates_and_bytes(client: Client, name: str) -> None:
    constants(client, name, OUTPUTS)
    found = Remote(name, client=client, signature=Everything)(question="Where?")
    assert found.legs == [Leg(until=datetime.date(2026, 3, 1), unit=Unit.KILOMETRE, kinds={"bus"})]
    assert found.trip.legs[0].unit is Unit.MILE
    assert found.trip.start == datetime.datetime(2026, 2, 28, 8, tzinfo=datetime.timezone.utc)
    assert (found.day, found.ready, found.data) == (datetime.date(2026, 3, 1), None, b"hi")
    assert Remote(name, client=client)(question="Where?").day == "2026-03-01"


def test_every_place_that_does_not_fit_is_named(client: Client, name: str) -> None:
    wrong = {**OUTPUTS, "day": "soon", "legs": [{**OUTPUTS["legs"][0], "unit": "leagues"}]}
    constants(client, name, wrong)
    with pytest.raises(InvalidOutputs) as failure:
        Remote(name, client=client, signature=Everything)(question="Where?")
    [unit, day] = failure.value.problems
    assert unit == "`legs[0].unit`: Input should be 'km' or 'mi', not 'leagues'"
    assert day.startswith("`day`: Input should be a valid date") and day.endswith("not 'soon'")
    assert f"the run {failure.value.run_id} of `{name}` has outputs" in str(failure.value)


def test_an_output_that_a_newer_version_of_the_graph_lacks_is_named(client: Client, name: str) -> None:
    constants(client, name, OUTPUTS)
    remote = Remote(name, client=client, signature=Everything)
    constants(client, name, {key: value for key, value in OUTPUTS.items() if key != "day"})
    with pytest.raises(InvalidOutputs, match="`day` is missing"):
        remote(question="Where?")


def test_outputs_that_do_not_fit_are_the_programs_failure_in_an_evaluation(client: Client, name: str) -> None:
    constants(client, name, {**OUTPUTS, "day": "soon"})
    examples = [dspy.Example(question="Where?").with_inputs("question")]
    evaluate = dspy.Evaluate(devset=examples, metric=lambda *_: 1.0, display_progress=False, max_errors=5)
    assert evaluate(Remote(name, client=client, signature=Everything)).score == 0.0


def test_a_signature_that_does_not_fit_the_graph_is_refused_with_all_names(client: Client, desk: str) -> None:
    with pytest.raises(LookupError) as failure:
        Remote(desk, client=client, signature="mail, letter -> booking, total: int")
    assert str(failure.value) == (
        f"the signature does not fit the graph `{desk}`: it has the input `mail`, the graph has `letter`; "
        "it has the output `total`, the graph has `reasoning`, `booking`"
    )


def test_outputs_that_the_signature_does_not_name_stay_json(client: Client, desk: str) -> None:
    assert Remote(desk, client=client, signature="letter -> reasoning")(letter="Dear").booking["mood"] == "calm"


def same(example: Any, prediction: Any, trace: Any = None) -> bool:
    """Whether both are the same object of Python."""
    return bool(example.booking == prediction.booking)


def letters() -> list[Any]:
    """One letter, with a typed label."""
    return [dspy.Example(letter="Dear sirs", booking=BOOKING).with_inputs("letter")]


def test_typed_outputs_are_compared_in_evaluations_and_their_demos_round_trip(client: Client, desk: str) -> None:
    remote = Remote(desk, client=client, signature=ReadLetter)
    assert remote(letter="Dear").booking == BOOKING
    assert dspy.Evaluate(devset=letters(), metric=same, display_progress=False)(remote).score == 100.0
    optimizer = dspy.BootstrapFewShot(metric=same, max_bootstrapped_demos=1, max_labeled_demos=0)
    optimized = optimizer.compile(remote, trainset=letters())
    [path] = optimized.nodes
    assert optimized.nodes[path].demos[0].booking == BOOKING
    optimized.publish()
    optimized.close()
    stored = client.request("GET", f"/v1/graphs/{desk}/state")["predictors"][path]["demos"]
    assert stored[0]["output"]["booking"]["traveller"] == {"name": "Ada", "age": None}
    again = Remote(desk, client=client, signature=ReadLetter)
    assert again.nodes[path].demos[0].booking == BOOKING
    assert again.nodes[path].signature.output_fields["booking"].annotation is Booking


def test_a_labeled_demo_with_a_model_reaches_the_prompt(client: Client, desk: str) -> None:
    remote = dspy.LabeledFewShot(k=1).compile(Remote(desk, client=client, signature=ReadLetter), trainset=letters())
    assert remote(letter="Dear").booking == BOOKING
    assert remote._state() is not None
    remote.close()


def test_a_typed_remote_is_pickled_copied_and_saved(client: Client, desk: str, tmp_path: Any) -> None:
    remote = Remote(desk, client=client, signature=ReadLetter)
    loaded = pickle.loads(cloudpickle.dumps(remote))
    assert loaded(letter="Dear").booking == BOOKING
    assert remote.deepcopy()(letter="Dear").booking == BOOKING
    remote.save(str(tmp_path / "state.json"))
    remote.load(str(tmp_path / "state.json"))
    assert remote(letter="Dear").booking == BOOKING


def test_a_typed_remote_in_a_pushed_program_has_the_members_of_its_models(
    client: Client, run: Run, desk: str, name: str
) -> None:
    class Mail(dspy.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read = Remote(desk, client=client, signature=ReadLetter)

        def forward(self, letter: str) -> Any:
            return dspy.Prediction(name=self.read(letter=letter).booking.traveller.name)

    push(Mail(), f"{name}-mail", client=client)
    assert run(f"{name}-mail", {"letter": "Dear"}) == {"name": "Ada"} == Mail()(letter="Dear").toDict()


def test_an_input_that_is_no_json_is_an_error_of_the_call(client: Client, desk: str) -> None:
    with pytest.raises(TypeError, match="is not a JSON value"):
        Remote(desk, client=client)(letter=object())
