#!/usr/bin/env bash
# After a 503, a caller that repeats the turn of a conversation asks the model the same question twice in one prompt, with LangGraph's
# checkpoints, the sessions of the Agents SDK, the memory of LlamaIndex and Strands.
#
# Seen with langgraph 1.2.24 (langchain 1.5.2), openai-agents 0.24.0, llama-index-core 0.14.25 and strands-agents 1.62.0, beside
# pydantic-ai-slim 2.68.0. Guess: a turn that failed with an exception leaves the conversation as it was, so that a retry
# around the call (tenacity, a queue, the user who presses the button again) is a retry. Behaviour: each of the four stores the
# question before it calls the model, and does not take it back. The model then reads "Book one seat." twice, and may book
# two; each further retry adds one, and the copies stay in the history and are paid in every later turn. With
# Pydantic AI, the history is a value that the caller passes on, so nothing stays. In LangGraph, repeat with `invoke(None, …)`;
# in the others, retry within the client of the model, or remove the last message (`pop_item` of a session).
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
for name in langgraph llama_index strands; do
  python3 -m venv --without-pip "$name"
done
install() { python3 -m pip --python "$1/bin/python" install --quiet --no-compile "${@:2}"; }
install langgraph langchain==1.5.2 langchain-openai==1.7.4 langgraph==1.2.24 openai-agents==0.24.0 'pydantic-ai-slim[openai]==2.68.0'
install llama_index llama-index-core==0.14.25 llama-index-llms-openai-like==0.8.1
install strands 'strands-agents[openai]==1.62.0'

cat >model.py <<'PY'
"""A model that refuses the first request with 503 and answers the next."""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUESTION = "Book one seat."
requests = []


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        requests.append(asked)
        if len(requests) == 1:
            return self.send(503, "application/json", json.dumps({"error": {"message": "overloaded"}}))
        base = {"id": "answer", "created": 1, "model": "model", "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        message = {"role": "assistant", "content": "Done."}
        if asked.get("stream"):
            chunks = [{**base, "usage": None, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
                      {**base, "usage": None, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}, {**base, "choices": []}]
            lines = [json.dumps({**chunk, "object": "chat.completion.chunk"}) for chunk in chunks] + ["[DONE]"]
            return self.send(200, "text/event-stream", "".join(f"data: {line}\n\n" for line in lines))
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.send(200, "application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice]}))

    def send(self, status, media_type, text):
        self.send_response(status)
        # The client of OpenAI would retry by itself.
        self.send_header("x-should-retry", "false")
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/v1"


def ask_with_retry(name, ask):
    requests.clear()
    try:
        ask()
        print(f"{name}: no failure")
    except Exception:
        ask()
    asked = json.dumps(requests[-1]["messages"]).count(QUESTION)
    print(f"{name}: the prompt of the retry has the question {['never', 'once', 'twice'][asked]}")
PY

cat >by_langgraph.py <<'PY'
from agents import Agent as OpenAIAgent, OpenAIChatCompletionsModel, Runner, SQLiteSession, set_tracing_disabled
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from model import QUESTION, URL, ask_with_retry
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

set_tracing_disabled(True)
thread = {"configurable": {"thread_id": "1"}}
graph = create_agent(ChatOpenAI(model="model", base_url=URL, api_key="none"), tools=[], checkpointer=InMemorySaver())
ask_with_retry("langgraph", lambda: graph.invoke({"messages": [("user", QUESTION)]}, thread))

session = SQLiteSession("1")
model = OpenAIChatCompletionsModel("model", AsyncOpenAI(base_url=URL, api_key="none"))
ask_with_retry("openai-agents", lambda: Runner.run_sync(OpenAIAgent(name="agent", model=model), QUESTION, session=session))

history = []
agent = PydanticAgent(OpenAIChatModel("model", provider=OpenAIProvider(base_url=URL, api_key="none")))
ask_with_retry("pydantic-ai", lambda: history.extend(agent.run_sync(QUESTION, message_history=history).new_messages()))
PY
cat >by_llama_index.py <<'PY'
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.llms.openai_like import OpenAILike
from model import QUESTION, URL, ask_with_retry

engine = SimpleChatEngine.from_defaults(llm=OpenAILike(model="model", api_base=URL, api_key="none", is_chat_model=True, max_retries=0))
ask_with_retry("llama-index", lambda: engine.chat(QUESTION))
PY
cat >by_strands.py <<'PY'
from model import QUESTION, URL, ask_with_retry
from strands import Agent
from strands.models.openai import OpenAIModel

agent = Agent(model=OpenAIModel(client_args={"base_url": URL, "api_key": "none"}, model_id="model"), callback_handler=None)
ask_with_retry("strands", lambda: agent(QUESTION))
PY
for name in langgraph llama_index strands; do
  "$name/bin/python" "by_$name.py" 2>log >>seen || { tail -5 log >&2; exit 1; }
done
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
langgraph: the prompt of the retry has the question twice
openai-agents: the prompt of the retry has the question twice
pydantic-ai: the prompt of the retry has the question once
llama-index: the prompt of the retry has the question twice
strands: the prompt of the retry has the question twice
END
