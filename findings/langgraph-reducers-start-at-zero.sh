#!/usr/bin/env bash
# The lowest price that parallel branches of a LangGraph report is always 0, and "all checks passed" is always false: a reducer
# starts with the zero of the type, not with the first value, nor with the default of the state.
#
# Seen with langgraph 1.2.24. Guess: a reducer combines the values that nodes wrote, and a default of the state is where it
# starts. Behaviour: it starts with `float()` or `bool()`, so that `min` of positive numbers, `max` of negative ones, a product
# and a conjunction are constant. The default of a Pydantic model or a dataclass is ignored for a field with a reducer. The same
# type with `| None` has no zero: there, the first value is the start, and the result is right. The graph compiles, nothing is
# logged, and a node of a later step reads the zero, too. `| None` is the way out; an input is not, for the reducer combines it
# with the zero as well.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langgraph==1.2.24 pydantic==2.14.4

cat >offers.py <<'PY'
from dataclasses import dataclass
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph
from pydantic import BaseModel


def lowest(a, b):
    return min(a, b)


def highest(a, b):
    return max(a, b)


def both(a, b):
    return a and b


class Typed(TypedDict):
    supplier: str
    price: Annotated[float, lowest]
    change: Annotated[float, highest]
    checked: Annotated[bool, both]


class Model(BaseModel):
    supplier: str = "any"
    price: Annotated[float, lowest] = 1_000_000.0
    change: Annotated[float, highest] = -100.0
    checked: Annotated[bool, both] = True


@dataclass
class Data:
    supplier: str = "any"
    price: Annotated[float, lowest] = 1_000_000.0
    change: Annotated[float, highest] = -100.0
    checked: Annotated[bool, both] = True


class Optional(TypedDict):
    supplier: str
    price: Annotated[float | None, lowest]
    change: Annotated[float | None, highest]
    checked: Annotated[bool | None, both]


def of(state, name):
    return state[name] if isinstance(state, dict) else getattr(state, name)


def first(state):
    return {"price": 12.5, "change": -3.0, "checked": True}


def second(state):
    return {"price": 9.5, "change": -1.5, "checked": True}


def report(state):
    print("  read by the next node:", {name: of(state, name) for name in ["price", "change", "checked"]})
    return {}


for schema in [Typed, Model, Data, Optional]:
    print(schema.__name__)
    graph = StateGraph(schema)
    for node in [first, second, report]:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "first")
    graph.add_edge(START, "second")
    graph.add_edge(["first", "second"], "report")
    print("  result:", graph.compile().invoke({} if schema in (Model, Data) else {"supplier": "any"}))
PY
packages/bin/python offers.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
Typed
  read by the next node: {'price': 0.0, 'change': 0.0, 'checked': False}
  result: {'supplier': 'any', 'price': 0.0, 'change': 0.0, 'checked': False}
Model
  read by the next node: {'price': 0.0, 'change': 0.0, 'checked': False}
  result: {'price': 0.0, 'change': 0.0, 'checked': False}
Data
  read by the next node: {'price': 0.0, 'change': 0.0, 'checked': False}
  result: {'price': 0.0, 'change': 0.0, 'checked': False}
Optional
  read by the next node: {'price': 9.5, 'change': -1.5, 'checked': True}
  result: {'supplier': 'any', 'price': 9.5, 'change': -1.5, 'checked': True}
END
