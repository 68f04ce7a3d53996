#!/usr/bin/env python3
"""A stand-in for a language model: an OpenAI-compatible API on 127.0.0.1 that answers every field at once.

    scripts/stand_in_lm.py [--answers FILE]

FILE is a JSON object of texts by the name of a field. It prints its base URL and serves until it is ended.
"""

import argparse
import http.server
import json
import pathlib
import re

ANSWERS = {}
VALUES = {"int": "1", "float": "0.5", "bool": "true"}
HEADER = re.compile(r"\[\[ ## (\w+) ## \]\]")


def value(name, text):
    """A value for a field: the given one, else one of the type that the prompt names."""
    if name in ANSWERS:
        return ANSWERS[name]
    kind = re.search(r"`%s`\W+\((\w+)" % re.escape(name), text)
    return VALUES.get(kind and kind.group(1), "calm")


def reply(messages):
    """The sections that the last message asks for."""
    text = "\n".join(str(message.get("content")) for message in messages)
    names = dict.fromkeys(HEADER.findall(str(messages[-1].get("content"))))
    names.pop("completed", None)
    sections = ["[[ ## %s ## ]]\n%s\n\n" % (name, value(name, text)) for name in names]
    return "".join(sections) + "[[ ## completed ## ]]"


def completion(request):
    message = {"role": "assistant", "content": reply(request["messages"])}
    return {
        "id": "stand-in", "object": "chat.completion", "created": 0, "model": request.get("model", ""),
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(completion(request)).encode()
        self.send_response(200)
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
