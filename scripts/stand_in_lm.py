#!/usr/bin/env python3
"""A stand-in for a language model: an OpenAI-compatible API on 127.0.0.1 that answers every field at once.

    scripts/stand_in_lm.py [--answers FILE]

FILE is a JSON object of answers by the name of a field: a text, or {"words": {WORD: TEXT}, "otherwise": TEXT} for the
text of the first word that the last message contains; with "anywhere": true, that any message after the first does. With
"learned": true it knows the words only if the prompt has demos, so that an optimizer can improve it. It prints its base
URL and serves until it is ended.
If FILE has `tool_calls`, a text `{"tool_calls": [{"name": …, "args": …}]}` or such texts by words, it answers requests that
offer tools with these calls.
A prompt with `wait 5 s before you answer` makes it wait. One with `answer with status 503` makes it fail, and one with
`answer 2 times with status 503` makes it fail so often, counted for each text of the last message.
"""

import argparse
import http.server
import json
import pathlib
import re
import threading
import time

ANSWERS = {}
VALUES = {"int": "1", "float": "0.5", "bool": "true"}
WAIT = re.compile(r"wait (\d+) s before you answer")
FAILURE = re.compile(r"answer (?:(\d+) times )?with status (\d+)")
HEADER = re.compile(r"\[\[ ## (\w+) ## \]\]")


def by_word(answer, messages):
    """The text of the first word of the answer that the last message contains."""
    has_demos = any(message["role"] == "assistant" for message in messages)
    if has_demos or not answer.get("learned"):
        searched = messages[1:] if answer.get("anywhere") else messages[-1:]
        last = "\n".join(str(message.get("content")) for message in searched).lower()
        for word, text in answer["words"].items():
            if word in last:
                return text
    return answer["otherwise"]


FAILED = {}
LOCK = threading.Lock()


def status(text):
    """The status of the answer: 200, unless the prompt asks for another one."""
    failure = FAILURE.search(text)
    if failure is None:
        return 200
    times, code = failure.groups()
    with LOCK:
        FAILED[text] = FAILED.get(text, 0) + 1
        return int(code) if times is None or FAILED[text] <= int(times) else 200


def value(name, text, messages):
    """A value for a field: the given one, else one of the type that the prompt names."""
    answer = ANSWERS.get(name)
    if answer is not None:
        return by_word(answer, messages) if isinstance(answer, dict) else answer
    kind = re.search(r"`%s`\W+\((\w+)" % re.escape(name), text)
    return VALUES.get(kind and kind.group(1), "calm")


def reply(messages):
    """The sections that the last message asks for."""
    text = "\n".join(str(message.get("content")) for message in messages)
    names = dict.fromkeys(HEADER.findall(str(messages[-1].get("content"))))
    names.pop("completed", None)
    sections = ["[[ ## %s ## ]]\n%s\n\n" % (name, value(name, text, messages)) for name in names]
    return "".join(sections) + "[[ ## completed ## ]]"


def tool_calls(request):
    """The calls of `tool_calls` in the answers, if the request offers tools; of a forced one, the last resort."""
    offered = [tool["function"]["name"] for tool in request.get("tools") or []]
    answer = ANSWERS.get("tool_calls")
    if not offered or answer is None:
        return []
    calls = json.loads(by_word(answer, request["messages"]))["tool_calls"]
    if any(call["name"] not in offered for call in calls):
        calls = json.loads(answer["otherwise"])["tool_calls"]
    asked = len(request["messages"])
    return [
        {"id": "call_%d_%d" % (asked, number), "type": "function",
         "function": {"name": call["name"], "arguments": json.dumps(call["args"])}}
        for number, call in enumerate(calls)]


def completion(request):
    calls = tool_calls(request)
    message = {"role": "assistant", "content": reply(request["messages"])}
    if calls:
        message = {"role": "assistant", "content": value("next_thought", "", request["messages"]), "tool_calls": calls}
    return {
        "id": "stand-in", "object": "chat.completion", "created": 0, "model": request.get("model", ""),
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wait = WAIT.search(str(request["messages"][-1].get("content")))
        if wait:
            time.sleep(int(wait.group(1)))
        code = status(str(request["messages"][-1].get("content")))
        failure = {"error": {"message": "as the prompt asks"}}
        answer = json.dumps(completion(request) if code == 200 else failure).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=pathlib.Path)
    answers = parser.parse_args().answers
    if answers:
        ANSWERS.update(json.loads(answers.read_text(encoding="utf-8")))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print("http://127.0.0.1:%d/v1" % server.server_port, flush=True)
    server.serve_forever()
