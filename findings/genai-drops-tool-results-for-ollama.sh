#!/usr/bin/env bash
# The library genai sends Ollama only the last of several tool results of one message: the model sees one result for two calls.
#
# Seen with genai 0.7.2. Guess: a message with the results of two parallel calls is sent as two messages of the role `tool`, as
# for OpenAI. Behaviour: it becomes one message with the content of the second result; the first is lost. Results in messages
# of their own are all sent.
set -euo pipefail

place=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$place"' EXIT
cd "$place"

cat >server.py <<'PY'
import http.server, json

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        results = [message["content"] for message in asked["messages"] if message["role"] == "tool"]
        answer = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True, "done_reason": "stop",
                  "message": {"role": "assistant", "content": "results: " + ", ".join(results)}}
        body = json.dumps(answer).encode()
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
name = "results"
version = "0.0.0"
edition = "2024"
[dependencies]
genai = "=0.7.2"
serde_json = "1"
tokio = { version = "1", features = ["rt", "macros"] }
TOML
cat >src/main.rs <<'RUST'
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatRequest, ToolCall, ToolResponse};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};

fn call(id: &str) -> ToolCall {
    let fn_arguments = serde_json::json!({});
    ToolCall { call_id: id.into(), fn_name: "find".into(), fn_arguments, thought_signatures: None }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let url = format!("http://127.0.0.1:{}/", std::env::args().nth(1).unwrap());
    let calls = || vec![ChatMessage::user("?"), ChatMessage::from(vec![call("a"), call("b")])];
    let (one, two) = (ToolResponse::new("a", "first"), ToolResponse::new("b", "second"));
    let together = vec![ChatMessage::from(vec![one.clone(), two.clone()])];
    let apart = vec![ChatMessage::from(one), ChatMessage::from(two)];
    for (name, results) in [("together", together), ("apart", apart)] {
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(url.clone()),
            auth: AuthData::from_single("key"),
            model: ModelIden::new(AdapterKind::Ollama, "m"),
        };
        let chat = ChatRequest::new([calls(), results].concat());
        let answer = Client::new().unwrap().exec_chat(target, chat, None).await.unwrap();
        println!("{name}: {}", answer.first_text().unwrap());
    }
}
RUST
CARGO_TARGET_DIR=target cargo run --quiet -- "$(cat port)" >seen
cat seen
grep -qx "together: results: second" seen || { echo "the behaviour has changed" >&2; exit 1; }
grep -qx "apart: results: first, second" seen || { echo "results in messages of their own are lost, too" >&2; exit 1; }
