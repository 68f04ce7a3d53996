#!/usr/bin/env bash
# A cached node of a LangGraph answers one market with what it answered another, and one graph with what another graph computed:
# the key is the state and the place of the function in the source.
#
# Seen with langgraph 1.2.24. Guess: `CachePolicy()` repeats a result if the node would compute the same, so what the node is
# given beside the state, its runtime context and its configuration, and the function itself are parts of the key. Behaviour:
# none of them is. The key is the pickled input and the qualified name of the function, so all nodes that one factory makes are
# one function: a second graph with another prompt or model returns the answers of the first, if they share the cache and the
# name of the node. A `key_func` receives the input only, not the context. What varies has to be in the state.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
python3 -m venv packages
packages/bin/pip install --quiet langgraph==1.2.24

cat >cached.py <<'PY'
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.cache.memory import InMemoryCache
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import CachePolicy


class Context(TypedDict):
    market: str


class State(TypedDict):
    question: str
    answer: str


def by_context(state, runtime: Runtime[Context]):
    return {"answer": f"the prices of {runtime.context['market']}"}


def by_configuration(state, config: RunnableConfig):
    return {"answer": f"the prices of {config['configurable']['market']}"}


def node_with(prompt):
    def answer(state):
        return {"answer": f"an answer to {prompt!r}"}

    return answer


def graph_of(node, policy, cache):
    graph = StateGraph(State, context_schema=Context)
    graph.add_node("node", node, cache_policy=policy)
    graph.add_edge(START, "node")
    return graph.compile(cache=cache)


question = {"question": "What does it cost?"}
for policy in [None, CachePolicy()]:
    print("cached" if policy else "not cached")
    graph = graph_of(by_context, policy, InMemoryCache())
    for market in ["north", "south"]:
        print(f"  context of {market}:", graph.invoke(question, context={"market": market})["answer"])
    graph = graph_of(by_configuration, policy, InMemoryCache())
    for market in ["north", "south"]:
        print(f"  configuration of {market}:", graph.invoke(question, {"configurable": {"market": market}})["answer"])
    shared = InMemoryCache()
    for prompt in ["Be brief.", "Be exact."]:
        print(f"  graph with {prompt!r}:", graph_of(node_with(prompt), policy, shared).invoke(question)["answer"])
PY
packages/bin/python cached.py 2>log >seen || { tail -5 log >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
not cached
  context of north: the prices of north
  context of south: the prices of south
  configuration of north: the prices of north
  configuration of south: the prices of south
  graph with 'Be brief.': an answer to 'Be brief.'
  graph with 'Be exact.': an answer to 'Be exact.'
cached
  context of north: the prices of north
  context of south: the prices of north
  configuration of north: the prices of north
  configuration of south: the prices of north
  graph with 'Be brief.': an answer to 'Be brief.'
  graph with 'Be exact.': an answer to 'Be brief.'
END
