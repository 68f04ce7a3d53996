#!/usr/bin/env bash
# The library genai drops why a provider did not answer: the block reason of Gemini's prompt, and the reason of an incomplete
# response of OpenAI. A filtered response then looks like one that a limit of tokens cut.
#
# Seen with genai 0.7.2. Guess: the reason is in the error or in the stop reason. Behaviour: a body with
# `promptFeedback.blockReason` and no candidates is an error that holds `"finishReason": null` and no block reason; a response
# with `incomplete_details.reason = "content_filter"` has the stop reason `MaxTokens("incomplete")`. Both are in the raw body,
# if `capture_raw_body` is set.
set -euo pipefail

place=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$place"' EXIT
cd "$place"

cat >server.py <<'PY'
import http.server, json

GEMINI = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 9}}
RESPONSE = {"id": "r", "object": "response", "status": "incomplete", "model": "m",
            "incomplete_details": {"reason": "content_filter"}, "output": [],
            "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}}

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps(GEMINI if "generateContent" in self.path else RESPONSE).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PY
python3 server.py >port &
server=$!
while [ ! -s port ]; do sleep 0.1; done

mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "reasons"
version = "0.0.0"
edition = "2024"
[dependencies]
genai = "=0.7.2"
tokio = { version = "1", features = ["rt", "macros"] }
TOML
cat >src/main.rs <<'RUST'
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = format!("http://127.0.0.1:{}/v1/", std::env::args().nth(1).unwrap());
    for kind in [AdapterKind::Gemini, AdapterKind::OpenAIResp] {
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(url.clone()),
            auth: AuthData::from_single("key"),
            model: ModelIden::new(kind, "m"),
        };
        let chat = ChatRequest::new(vec![ChatMessage::user("hello")]);
        match Client::new().unwrap().exec_chat(target, chat, None).await {
            Ok(answer) => println!("{kind:?}: stop reason {:?}", answer.stop_reason),
            Err(error) => println!("{kind:?}: error {error}"),
        }
    }
}
RUST
CARGO_TARGET_DIR=target cargo run --quiet -- "$(cat port)" >seen
cat seen
grep -q "Gemini: error" seen && ! grep -q PROHIBITED_CONTENT seen || { echo "the behaviour of Gemini has changed" >&2; exit 1; }
grep -q 'OpenAIResp: stop reason Some(MaxTokens("incomplete"))' seen || { echo "the behaviour of responses has changed" >&2; exit 1; }
