#!/usr/bin/env bash
# After an interrupt, a LangGraph continues with other values than it had: an excluded field of a Pydantic model has its default
# again, a tuple is a list, and a `Counter` is a dict.
#
# Seen with langgraph 1.2.24 (langgraph-checkpoint 4.3.2). Guess: a checkpoint is the state, so a run that waits for a person goes
# on as one that does not wait. Behaviour: within a run, nodes pass objects; a resumed run reads them back from msgpack. A
# model is written as `model_dump` gives it, without its fields with `exclude=True`, which have the defaults of the class then.
# Tuples and subclasses of dict and list lose their types: a pair is not found in a list of pairs, and `|` of two
# counters takes the greater count, of a dict the last one. A test without the interrupt shows nothing, nor does one with an
# `InMemorySaver` that is not resumed.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langgraph==1.2.24 langgraph-checkpoint==4.3.2 pydantic==2.14.4

cat >order.py <<'PY'
import logging
from collections import Counter
from typing import Any, TypedDict

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel, Field

logging.disable(logging.CRITICAL)


class Order(BaseModel):
    item: str
    discount: float = Field(default=0.0, exclude=True)


class State(TypedDict):
    order: Order
    seen: list
    words: Any


def prepare(state):
    return {"order": Order(item="desk", discount=0.2), "seen": [("desk", 1)], "words": Counter({"desk": 3})}


def approve(state):
    return {}


def wait(state):
    interrupt("May it be sent?")
    return {}


def send(state):
    print("  discount:", state["order"].discount)
    print("  sent before:", ("desk", 1) in state["seen"])
    print("  words:", dict(state["words"] | Counter({"desk": 1})))
    return {}


for name, approval in [("approved at once", approve), ("approved by a person", wait)]:
    print(name)
    graph = StateGraph(State)
    graph.add_sequence([("prepare", prepare), ("approval", approval), ("send", send)])
    graph.add_edge(START, "prepare")
    compiled = graph.compile(checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    found = compiled.invoke({}, thread)
    if "__interrupt__" in found:
        compiled.invoke(Command(resume=True), thread)
PY
packages/bin/python order.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
approved at once
  discount: 0.2
  sent before: True
  words: {'desk': 3}
approved by a person
  discount: 0.0
  sent before: False
  words: {'desk': 1}
END
