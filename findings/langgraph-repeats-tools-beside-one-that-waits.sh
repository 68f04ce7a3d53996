#!/usr/bin/env bash
# A tool that has completed runs a second time in LangGraph, if another call of the same message waits for a person.
#
# Seen with langgraph 1.2.24 (langgraph-prebuilt 1.1.3). Guess: after an interrupt a run continues with what waits; what is done is
# in the checkpoint. Behaviour: `ToolNode` runs all calls of a message within one node, and results are stored when the node
# ends. If one call interrupts, those beside it have run and are lost; the resumed node runs them again: the card is
# charged twice. So does `create_react_agent(version="v1")`. Its default, `v2`, sends each call to a task of its own and
# charges once, so the same tools are safe or not by how the graph around them was drawn.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langgraph==1.2.24 langgraph-prebuilt==1.1.3 langgraph-checkpoint==4.3.2 langchain-core==1.8.3

cat >charge.py <<'PY'
import logging
import warnings

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, create_react_agent
from langgraph.types import Command, interrupt

logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")
CHARGES = []


@tool
def charge(card: str) -> str:
    """Charge a card."""
    CHARGES.append(card)
    return "charged"


@tool
def approve(what: str) -> str:
    """Ask a person."""
    return interrupt(what)


def message():
    return AIMessage("", tool_calls=[
        {"name": "charge", "args": {"card": "4242"}, "id": "a"},
        {"name": "approve", "args": {"what": "a refund"}, "id": "b"},
    ])


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **settings):
        return self


def drawn():
    graph = StateGraph(MessagesState)
    graph.add_node("ask", lambda state: {"messages": [message()]})
    graph.add_node("tools", ToolNode([charge, approve]))
    graph.add_edge(START, "ask")
    graph.add_edge("ask", "tools")
    return graph.compile(checkpointer=InMemorySaver())


def prebuilt(version):
    model = Model(messages=iter([message(), AIMessage("done")]))
    return create_react_agent(model, [charge, approve], checkpointer=InMemorySaver(), version=version)


for name, app in [("ToolNode", drawn()), ("v1", prebuilt("v1")), ("v2", prebuilt("v2"))]:
    CHARGES.clear()
    thread = {"configurable": {"thread_id": "1"}}
    app.invoke({"messages": [HumanMessage("Refund me.")]}, thread)
    before = len(CHARGES)
    app.invoke(Command(resume="yes"), thread)
    print(f"{name}: {before} charge before the person answers, {len(CHARGES)} after")
PY
packages/bin/python charge.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
ToolNode: 1 charge before the person answers, 2 after
v1: 1 charge before the person answers, 2 after
v2: 1 charge before the person answers, 1 after
END
