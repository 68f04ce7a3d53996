#!/usr/bin/env bash
# In LiteLLM, an answer during which the provider failed ends with `stop`, like a complete one. Streamed, the same answer is an
# error at one provider and complete at another.
#
# Seen with litellm 1.110.2 and openai 3.57.0. Guess: `finish_reason` is `stop` only if the model finished. Behaviour: what
# OpenRouter (`error`), vLLM (`abort`), Zhipu (`network_error`), DeepSeek (`insufficient_system_resource`), Cohere (`ERROR`) and
# Gemini (`MALFORMED_FUNCTION_CALL`) report becomes `stop`, even if an error stands beside it; only a stream of vLLM raises.
# OpenAI's client passes the word on. So half an answer is parsed, scored and cached. For some providers,
# `choices[0].provider_specific_fields["native_finish_reason"]` has the word; programs of DSPy do not read it.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet litellm==1.110.2 openai==3.57.0

cat >client.py <<'PY'
import http.server
import json
import threading

import litellm
import openai

litellm.suppress_debug_info = True
TEXT = "The total is 4"
COUNTS = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
word = None


def choice(**members):
    failure = {"error": {"code": 502, "message": "the provider hung up"}} if word == "error" else {}
    return {"index": 0, **members, **(failure if members["finish_reason"] else {})}


def answer(path, streams):
    if "generateContent" in path:
        candidate = {"content": {"role": "model", "parts": [{"text": TEXT}]}, "finishReason": word, "index": 0}
        return json.dumps({"candidates": [candidate], "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 13}})
    if path.endswith("/v2/chat"):
        message = {"role": "assistant", "content": [{"type": "text", "text": TEXT}]}
        tokens = {"input_tokens": 9, "output_tokens": 4}
        return json.dumps({"id": "c", "finish_reason": word, "message": message,
                           "usage": {"billed_units": tokens, "tokens": tokens}})
    one = {"id": "c", "created": 0, "model": "m"}
    if not streams:
        whole = choice(message={"role": "assistant", "content": TEXT}, finish_reason=word)
        return json.dumps({**one, "object": "chat.completion", "choices": [whole], "usage": COUNTS})
    pieces = [choice(delta={"role": "assistant", "content": TEXT}, finish_reason=None), choice(delta={}, finish_reason=word)]
    chunks = [{**one, "object": "chat.completion.chunk", "choices": [piece]} for piece in pieces]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        streams = json.loads(self.rfile.read(int(self.headers["content-length"]))).get("stream", False)
        body = answer(self.path, streams).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
MESSAGES = [{"role": "user", "content": "Sum it up."}]


def ask(model, streams):
    base = url if model.startswith("gemini") else f"{url}/v2/chat" if model.startswith("cohere") else f"{url}/v1"
    try:
        got = litellm.completion(model, messages=MESSAGES, api_base=base, api_key="key", stream=streams, max_retries=0)
        if not streams:
            return got.choices[0].finish_reason
        return [chunk.choices[0].finish_reason for chunk in got][-1]
    except Exception as error:
        return type(error).__name__


for model, word in [("openrouter/m", "error"), ("hosted_vllm/m", "abort"), ("zai/glm-4.6", "network_error"),
                    ("deepseek/deepseek-chat", "insufficient_system_resource"), ("cohere_chat/command-a", "ERROR"),
                    ("gemini/gemini-2.5-pro", "MALFORMED_FUNCTION_CALL")]:
    lines = [f"whole {ask(model, False)}"]
    if not model.startswith(("cohere", "gemini")):
        lines.append(f"streamed {ask(model, True)}")
    print(f"{model} ends with {word}: {', '.join(lines)}")
word = "abort"
client = openai.OpenAI(base_url=f"{url}/v1", api_key="key", max_retries=0)
print("the client of OpenAI, abort:", client.chat.completions.create(model="m", messages=MESSAGES).choices[0].finish_reason)
PY
LITELLM_LOCAL_MODEL_COST_MAP=True python/bin/python client.py 2>errors >seen || { cat errors >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
openrouter/m ends with error: whole stop, streamed stop
hosted_vllm/m ends with abort: whole stop, streamed MidStreamFallbackError
zai/glm-4.6 ends with network_error: whole stop, streamed stop
deepseek/deepseek-chat ends with insufficient_system_resource: whole stop, streamed stop
cohere_chat/command-a ends with ERROR: whole stop
gemini/gemini-2.5-pro ends with MALFORMED_FUNCTION_CALL: whole stop
the client of OpenAI, abort: abort
END
