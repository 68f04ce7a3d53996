"""Programs in DSPy with the predictors of the graphs in dspy.rs: `save DIR` writes what DSPy saves of them,
`load DIR` loads what the server gave and writes what DSPy then has."""

import json
import os
import sys

command, folder = sys.argv[1:]
os.environ["DSPY_CACHEDIR"] = os.path.join(folder, "cache")

from typing import Literal

import dspy
from pydantic import BaseModel


class Address(BaseModel):
    street: str
    zip: int


class Person(BaseModel):
    name: str
    address: Address
    tags: list[str]


class Triage(dspy.Signature):
    """Judge how the customer feels."""

    ticket: str = dspy.InputField()
    person: Person = dspy.InputField()
    mood: Literal["calm", "angry"] = dspy.OutputField()
    topics: list[str] = dspy.OutputField()
    severity: float = dspy.OutputField()


class Two(dspy.Module):
    def __init__(self):
        super().__init__()
        self.triage = dspy.Predict(Triage)
        self.reply = dspy.ChainOfThought("ticket, mood -> answer")


class Holder(dspy.Module):
    def __init__(self):
        super().__init__()
        self.ask = dspy.Predict("question -> answer")


def programs():
    return {
        "predict": dspy.Predict("question -> answer"),
        "reason": dspy.ChainOfThought("question -> answer"),
        "two": Two(),
    }


if command == "save":
    made = programs()
    made["predict"].demos = [dspy.Example(question="a", answer="b").with_inputs("question")]
    made["predict"].signature = made["predict"].signature.with_instructions("Answer in a word.")
    made["reason"].predict.demos = [
        dspy.Example(augmented=True, question="a", reasoning="c", answer="b")
    ]
    ann = Person(name="Ann", address=Address(street="a\n", zip=1), tags=["x", "y"])
    made["two"].triage.demos = [
        dspy.Example(ticket="z", person=ann, mood="calm", topics=["parcel"], severity=1.0)
    ]
    made["two"].triage.lm = dspy.LM("openai/none", temperature=0.5, max_tokens=100)
    made["two"].reply.predict.demos = [
        dspy.Example(ticket="z", mood="calm", reasoning="They wait.", answer="Soon.")
    ]
    for name, program in made.items():
        program.save(os.path.join(folder, name + ".json"))
else:
    made = programs()
    for name, program in list(made.items()) + [("holder", Holder())]:
        source = "predict" if name == "holder" else name
        program.load(os.path.join(folder, source + ".ours.json"))
        with open(os.path.join(folder, name + ".dumped.json"), "w") as file:
            json.dump(program.dump_state(), file)
