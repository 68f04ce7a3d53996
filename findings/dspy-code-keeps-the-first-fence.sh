#!/usr/bin/env bash
# A value of `dspy.Code` is what stands between its first two fences: of a function whose docstring has an example in a fence,
# the example is left, or the lines before it, and of an answer with two files the first.
#
# Seen with dspy 3.4.1. Guess: fences around a code are removed, and a code without them is kept as it is. Behaviour: the first
# fence anywhere in the value is taken, for outputs and for inputs, without a warning, so the LM reviews an example in place of
# the function, and a metric, a demo or an interpreter gets a part of the answer. A plain text for the same input is sent whole.
# Way out: `str` as the type, and removing the outer fence yourself.
set -euo pipefail

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"

python3 -m venv python
python/bin/pip install --quiet dspy==3.4.1

cat >client.py <<'PY'
import http.server
import json
import threading

import dspy

FENCE = "```"
FUNCTION = f'''def area(r):
    """Area of a circle.

    {FENCE}
    area(2)
    {FENCE}
    """
    return 3.14159 * r ** 2'''
ANSWERS = {
    "a function": FUNCTION,
    "a function in a fence": f"{FENCE}python\n{FUNCTION}\n{FENCE}",
    "two files": f"main.py:\n{FENCE}python\nimport tax\n{FENCE}\ntax.py:\n{FENCE}python\nRATE = 0.2\n{FENCE}",
}
asked = []
answer = None


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"][-1]["content"])
        message = {"role": "assistant", "content": f"[[ ## fixed ## ]]\n{answer}\n\n[[ ## completed ## ]]"}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m",
                           "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                           "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Fix(dspy.Signature):
    """Repair the code."""

    code: dspy.Code["python"] = dspy.InputField()
    fixed: dspy.Code["python"] = dspy.OutputField()


class FixText(dspy.Signature):
    """Repair the code."""

    code: str = dspy.InputField()
    fixed: str = dspy.OutputField()


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
dspy.configure(lm=dspy.LM("openai/m", api_base=url, api_key="key", cache=False))

for name, answer in ANSWERS.items():
    code, text = dspy.Predict(Fix)(code=dspy.Code["python"](code="x = 1")), dspy.Predict(FixText)(code="x = 1")
    print(f"answer, {name}: Code {code.fixed.code!r}, {len(text.fixed)} characters as str")
for name, value in [("Code", dspy.Code["python"](code=FUNCTION)), ("str", FUNCTION)]:
    dspy.Predict(Fix)(code=value)
    print(f"input, {name}: the prompt has the body of the function: {'return 3.14159' in asked[-1]}")
PY
LITELLM_LOCAL_MODEL_COST_MAP=True python/bin/python client.py 2>errors >seen || { cat errors >&2; exit 1; }
cat seen
diff seen - <<'END' || { echo "the behaviour has changed" >&2; exit 1; }
answer, a function: Code 'area(2)', 102 characters as str
answer, a function in a fence: Code 'def area(r):\n    """Area of a circle.', 116 characters as str
answer, two files: Code 'import tax', 66 characters as str
input, Code: the prompt has the body of the function: False
input, str: the prompt has the body of the function: True
END
