//! A provider that misbehaves on purpose: a plain socket with just enough HTTP to read chat
//! requests, which answers, stalls or disconnects according to its script.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::within;

/// What the provider does with one request.
#[derive(Clone)]
pub enum Does {
    /// Answers this text as a chat completion.
    Say(String),
    /// Answers this text after a while.
    SayLate(Duration, String),
    /// Answers this status, these headers and this body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Reads the request and never answers; records when the client disconnects.
    Stall,
    /// Never answers, and closes the connection once the gate is open; notices when the caller leaves.
    StallUntil(Gate),
    /// Answers this text once the gate is open; notices when the caller leaves.
    Hold(Gate, String),
    /// Streams this much of an answer and no more; notices when the caller leaves.
    Begin(String),
    /// Streams these pieces of an answer and no more; notices when the caller leaves.
    Pour(Vec<String>),
    /// Sends the head of an answer, then blanks for ever, which JSON allows.
    Drip,
    /// Closes the connection without a word.
    HangUp,
    /// Closes the connection in the middle of a good answer.
    BreakOff,
}

/// Closed until it is opened.
#[derive(Clone)]
pub struct Gate(watch::Sender<bool>);

impl Default for Gate {
    fn default() -> Self {
        Self::new()
    }
}

impl Gate {
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    pub fn open(&self) {
        self.0.send_replace(true);
    }

    async fn opened(&self) {
        self.0.subscribe().wait_for(|open| *open).await.unwrap();
    }
}

/// One request as it arrived.
#[derive(Clone)]
pub struct Asked {
    pub at: Instant,
    pub path: String,
    /// Its headers, by names in lower case.
    pub headers: HashMap<String, String>,
    pub body: Value,
}

impl Asked {
    /// The messages in their order.
    pub fn messages(&self) -> Vec<Value> {
        self.body["messages"].as_array().unwrap().clone()
    }

    /// All messages as one text.
    pub fn text(&self) -> String {
        let messages = self.messages();
        let said = messages.iter().map(|message| message["content"].as_str().unwrap());
        said.collect::<Vec<_>>().join("\n")
    }

    /// The last user message, without demos and instruction.
    pub fn question(&self) -> String {
        let messages = self.messages();
        let last = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        last["content"].as_str().unwrap().to_owned()
    }
}

#[derive(Default)]
struct Seen {
    asked: Vec<Asked>,
    left: usize,
}

type Script = dyn Fn(usize, &Asked) -> Does + Send + Sync;

/// The provider; it ends with the test's runtime.
pub struct FakeLm {
    /// What a model's `base_url` is set to.
    pub url: String,
    seen: watch::Sender<Seen>,
}

impl FakeLm {
    /// Does one thing after the other, the last one for ever.
    pub async fn doing(script: impl Into<Vec<Does>>) -> Arc<Self> {
        let script = script.into();
        Self::by(move |number, _| script[number.min(script.len() - 1)].clone()).await
    }

    /// Decides on each request, counted from 0.
    pub async fn by(script: impl Fn(usize, &Asked) -> Does + Send + Sync + 'static) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let lm = Arc::new(Self { url, seen: watch::Sender::new(Seen::default()) });
        let (serving, script): (_, Arc<Script>) = (lm.clone(), Arc::new(script));
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serving.clone().talk(connection, script.clone()));
            }
        });
        lm
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.seen.borrow().asked.clone()
    }

    /// Waits until this many requests have arrived.
    pub async fn arrived(&self, count: usize) {
        self.wait_for(|seen| seen.asked.len() >= count, "a request").await;
    }

    /// Waits until this many callers have left without their answer.
    pub async fn abandoned(&self, count: usize) {
        self.wait_for(|seen| seen.left >= count, "a caller to leave").await;
    }

    async fn wait_for(&self, done: impl FnMut(&Seen) -> bool, what: &str) {
        let mut seen = self.seen.subscribe();
        within(what, seen.wait_for(done)).await.unwrap();
    }

    async fn talk(self: Arc<Self>, mut connection: TcpStream, script: Arc<Script>) {
        while let Some((path, headers, body)) = read_request(&mut connection).await {
            let asked = Asked { at: Instant::now(), path, headers, body };
            let mut number = 0;
            self.seen.send_modify(|seen| {
                number = seen.asked.len();
                seen.asked.push(asked.clone());
            });
            if self.act(&mut connection, script(number, &asked)).await.is_none() {
                return;
            }
        }
    }

    /// `None` when the connection is to be closed.
    async fn act(&self, connection: &mut TcpStream, does: Does) -> Option<()> {
        match does {
            Does::Say(text) => send(connection, 200, &[], &completion(&text)).await,
            Does::SayLate(wait, text) => {
                tokio::time::sleep(wait).await;
                send(connection, 200, &[], &completion(&text)).await
            }
            Does::Answer(status, headers, body) => send(connection, status, &headers, &body).await,
            Does::Stall => self.left(connection).await,
            Does::StallUntil(gate) => tokio::select! {
                () = gate.opened() => None,
                left = self.left(connection) => left,
            },
            Does::Hold(gate, text) => {
                let open = tokio::select! {
                    () = gate.opened() => true,
                    _ = self.left(connection) => false,
                };
                if !open {
                    return None;
                }
                send(connection, 200, &[], &completion(&text)).await
            }
            Does::Drip => {
                connection.write_all(head(200, &[], 1 << 20).as_bytes()).await.ok()?;
                while connection.write_all(b" ").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                self.seen.send_modify(|seen| seen.left += 1);
                None
            }
            Does::Begin(text) => {
                connection.write_all(begun(&piece(&text)).as_bytes()).await.ok()?;
                self.left(connection).await
            }
            Does::Pour(pieces) => {
                let all: String = pieces.iter().map(|text| piece(text)).collect();
                connection.write_all(begun(&all).as_bytes()).await.ok()?;
                self.left(connection).await
            }
            Does::HangUp => None,
            Does::BreakOff => {
                let body = completion("half of it");
                let sent = head(200, &[], body.len()) + &body[..body.len() / 2];
                connection.write_all(sent.as_bytes()).await.ok()?;
                None
            }
        }
    }

    /// Waits until the caller closes the connection.
    async fn left(&self, connection: &mut TcpStream) -> Option<()> {
        let mut byte = [0];
        while matches!(connection.read(&mut byte).await, Ok(1)) {}
        self.seen.send_modify(|seen| seen.left += 1);
        None
    }
}

/// An answer in sections.
pub fn sections<'s>(fields: impl IntoIterator<Item = (&'s str, &'s str)>) -> String {
    let sections = fields.into_iter().map(|(name, text)| format!("[[ ## {name} ## ]]\n{text}\n\n"));
    sections.collect::<String>() + "[[ ## completed ## ]]"
}

/// A piece of a streamed answer, as an event.
fn piece(text: &str) -> String {
    let piece = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
    format!("data: {piece}\n\n")
}

/// The beginning of a streamed answer.
fn begun(events: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
         transfer-encoding: chunked\r\n\r\n{:x}\r\n{events}\r\n",
        events.len()
    )
}

fn completion(text: &str) -> String {
    json!({
        "model": "fake-1",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}
    })
    .to_string()
}

async fn send(
    connection: &mut TcpStream,
    status: u16,
    headers: &[(&'static str, String)],
    body: &str,
) -> Option<()> {
    let text = head(status, headers, body.len()) + body;
    connection.write_all(text.as_bytes()).await.ok()
}

fn head(status: u16, headers: &[(&'static str, String)], length: usize) -> String {
    let json = ("content-type", "application/json".to_owned());
    let typed = headers.iter().any(|(name, _)| *name == json.0);
    let all = headers.iter().chain((!typed).then_some(&json));
    let lines: String = all.map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n{lines}\r\n")
}

/// The path and the JSON body of the next request; `None` when the caller has closed the connection.
async fn read_request(
    connection: &mut TcpStream,
) -> Option<(String, HashMap<String, String>, Value)> {
    let mut bytes = Vec::new();
    let (path, headers, body, length) = loop {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = &bytes[..end];
            break (path(head), headers(head), end + 4, content_length(head));
        }
    };
    while bytes.len() < body + length {
        if connection.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some((path, headers, serde_json::from_slice(&bytes[body..body + length]).unwrap()))
}

fn path(head: &[u8]) -> String {
    let head = std::str::from_utf8(head).unwrap();
    head.split(' ').nth(1).unwrap().to_owned()
}

fn headers(head: &[u8]) -> HashMap<String, String> {
    let head = std::str::from_utf8(head).unwrap();
    let pairs = head.lines().filter_map(|line| line.split_once(':'));
    pairs.map(|(name, text)| (name.to_ascii_lowercase(), text.trim().to_owned())).collect()
}

fn content_length(head: &[u8]) -> usize {
    let head = std::str::from_utf8(head).unwrap().to_ascii_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    line.unwrap().trim().parse().unwrap()
}
