#!/usr/bin/env python3
"""The CPU of one prompt with another library, in a process of its own, with a model that answers at once.

    python3 bench/peers.py dspy http://127.0.0.1:4010/v1 --calls 500      prints milliseconds of CPU for a call, and versions

The task is that of bench/graphs/one.json: a question is put into a prompt, the model is asked, the answer is read from its
text. Nothing is recorded. bench/report.py runs it with the Python of --peers; exit code 3 means that a package is missing.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import time

QUESTION = "Which tea is best in the morning?"
SYSTEM = ("Your input fields are:\n1. `question` (str)\nYour output fields are:\n1. `answer` (str)\n"
          "Answer each field below its header, [[ ## answer ## ]], and end with [[ ## completed ## ]].")
USER = "[[ ## question ## ]]\n%s\n\nRespond with the output fields, starting with [[ ## answer ## ]], then [[ ## completed ## ]]."
WARM_CALLS = 30
MISSING = 3


def answer_in(text):
    return text.split("[[ ## answer ## ]]")[1].split("[[ ##")[0].strip()


def messages(question):
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": USER % question}]


def dspy_call(model):
    import dspy

    lm = dspy.LM("openai/fake", api_base=model, api_key="none", cache=False)
    dspy.configure(lm=lm)
    predict = dspy.Predict("question -> answer")
    return lambda: predict(question=QUESTION).answer, ("dspy", "litellm")


def openai_call(model):
    import openai

    client = openai.OpenAI(base_url=model, api_key="none", max_retries=0)

    def call(question=QUESTION):
        answer = client.chat.completions.create(model="fake", messages=messages(question))
        return answer_in(answer.choices[0].message.content)

    return call, ("openai",)


def langgraph_call(model):
    import typing

    import langgraph.graph

    ask, _ = openai_call(model)
    State = typing.TypedDict("State", {"question": str, "answer": str})
    graph = langgraph.graph.StateGraph(State)
    graph.add_node("ask", lambda state: {"answer": ask(state["question"])})
    graph.add_edge(langgraph.graph.START, "ask")
    graph.add_edge("ask", langgraph.graph.END)
    compiled = graph.compile()
    return lambda: compiled.invoke({"question": QUESTION})["answer"], ("langgraph", "openai")


PEERS = {"dspy": dspy_call, "langgraph": langgraph_call, "openai": openai_call}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("model", help="the base URL of the stand-in LM")
    parser.add_argument("--calls", type=int, default=500)
    given = parser.parse_args()
    os.environ.update(NO_PROXY="127.0.0.1", LITELLM_LOCAL_MODEL_COST_MAP="True")
    try:
        call, packages = PEERS[given.peer](given.model)
    except ImportError as error:
        print(error, file=sys.stderr)
        return MISSING
    for _ in range(WARM_CALLS):
        assert call(), "the answer is empty"
    began = time.process_time()
    for _ in range(given.calls):
        call()
    spent = time.process_time() - began
    versions = ", ".join("%s %s" % (name, importlib.metadata.version(name)) for name in packages)
    print(json.dumps({"cpu_ms": spent * 1000 / given.calls, "versions": versions}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
