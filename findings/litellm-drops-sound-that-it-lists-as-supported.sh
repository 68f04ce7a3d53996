#!/usr/bin/env bash
# LiteLLM sends a request without its sound or picture to models that its own list says accept them, and the model answers about
# something that it never got.
#
# Seen with litellm 1.110.2. Guess: a part that cannot be translated is an error, and what `supports_audio_input` and
# `supports_vision` promise is sent. Behaviour: for Voxtral of Mistral the list of parts becomes one text, so the sound is gone,
# unless any picture or file is in the conversation: then the sound is sent, too. For models with vision at SambaNova the
# picture is gone, and for Claude the sound, whose absence the list admits. Nothing warns, `drop_params` is off, and the call is
# paid. Through the protocol of OpenAI (`openai/…` with the endpoint's `api_base`), the same messages arrive whole.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet litellm==1.110.2

cat >client.py <<'PY'
import http.server
import json
import threading

import litellm

MESSAGE = {"role": "assistant", "content": "fine"}
OPENAI = {"id": "c", "object": "chat.completion", "created": 0, "model": "m",
          "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}}
ANTHROPIC = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "fine"}],
             "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
bodies = []


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        bodies.append(self.rfile.read(int(self.headers["content-length"])).decode())
        body = json.dumps(ANTHROPIC if self.path.endswith("/messages") else OPENAI).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


SOUND, PICTURE = "UklGRnNvdW5kV0FWRQ==", "iVBORw0KGgpwaWN0dXJl"
PARTS = {"sound": {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
         "picture": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}}
MARKS = {"sound": SOUND, "picture": PICTURE}
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"

for model, names in [("mistral/voxtral-small-latest", ["sound"]), ("mistral/voxtral-small-latest", ["sound", "picture"]),
                     ("openai/voxtral-small-latest", ["sound"]),
                     ("sambanova/Llama-4-Maverick-17B-128E-Instruct", ["picture"]),
                     ("openai/Llama-4-Maverick-17B-128E-Instruct", ["picture"]),
                     ("anthropic/claude-sonnet-4-5", ["sound"])]:
    content = [{"type": "text", "text": "What is this?"}, *(PARTS[name] for name in names)]
    base = url if model.startswith("anthropic") else f"{url}/v1"
    answer = litellm.completion(model, messages=[{"role": "user", "content": content}], api_base=base, api_key="key")
    sent = ", ".join(f"{name} {'sent' if MARKS[name] in bodies[-1] else 'not sent'}" for name in names)
    listed = []
    if not model.startswith("openai"):
        listed = [kind for kind, takes in [("sound", litellm.supports_audio_input), ("picture", litellm.supports_vision)]
                  if takes(model)]
    print(f"{model}: listed for {listed}; {sent}; answer {answer.choices[0].message.content!r}")
PY
LITELLM_LOCAL_MODEL_COST_MAP=True python/bin/python client.py >seen
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
mistral/voxtral-small-latest: listed for ['sound']; sound not sent; answer 'fine'
mistral/voxtral-small-latest: listed for ['sound']; sound sent, picture sent; answer 'fine'
openai/voxtral-small-latest: listed for []; sound sent; answer 'fine'
sambanova/Llama-4-Maverick-17B-128E-Instruct: listed for ['picture']; picture not sent; answer 'fine'
openai/Llama-4-Maverick-17B-128E-Instruct: listed for []; picture sent; answer 'fine'
anthropic/claude-sonnet-4-5: listed for ['picture']; sound not sent; answer 'fine'
END
