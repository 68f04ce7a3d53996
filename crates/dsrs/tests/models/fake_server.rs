//! A test server over plain TCP. It can also close connections, stall and send invalid answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The reaction of the server to a complete request.
#[derive(Clone)]
pub(crate) enum Reaction {
    /// Sends this and continues.
    Say(String),
    /// Sends this and closes the connection.
    SayAndClose(String),
    /// Computes the answer from the request.
    Answer(fn(&str) -> String),
    /// Keeps the connection open without an answer.
    Stall,
}

pub(crate) fn whole(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// An answer with a status line, more headers and a body.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> Reaction {
    let length = body.len();
    Reaction::Say(format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}"))
}

#[derive(Default)]
pub(crate) struct ServerRecord {
    pub(crate) connections: Counter,
    pub(crate) closed: Counter,
    pub(crate) received: Counter,
    pub(crate) requests: Mutex<Vec<String>>,
}

/// A number of events, which a test can wait for.
#[derive(Default)]
pub(crate) struct Counter(watch::Sender<usize>);

impl Counter {
    fn add_one(&self) {
        self.0.send_modify(|count| *count += 1);
    }

    pub(crate) fn get(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits for this many events.
    pub(crate) async fn reaches(&self, value: usize) {
        let mut count = self.0.subscribe();
        let reached = count.wait_for(|count| *count >= value);
        let waited = tokio::time::timeout(Duration::from_secs(600), reached).await;
        assert!(waited.is_ok(), "{} instead of {value}", self.get());
    }
}

/// Starts a server with one reaction; returns its address and its records.
pub(crate) async fn server(does: Reaction) -> (String, Arc<ServerRecord>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(ServerRecord::default());
    let record = seen.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            seen.connections.add_one();
            let (seen, does) = (seen.clone(), does.clone());
            tokio::spawn(async move {
                serve(stream, &does, &seen).await;
                seen.closed.add_one();
            });
        }
    });
    (format!("http://{address}/v1"), record)
}

async fn serve(mut stream: TcpStream, does: &Reaction, seen: &ServerRecord) {
    while let Some(request) = next_request(&mut stream).await {
        seen.requests.lock().unwrap().push(request.clone());
        seen.received.add_one();
        match does {
            Reaction::Say(text) => {
                if stream.write_all(text.as_bytes()).await.is_err() {
                    return;
                }
            }
            Reaction::Answer(answer) => {
                let _ = stream.write_all(answer(&request).as_bytes()).await;
            }
            Reaction::SayAndClose(text) => {
                let _ = stream.write_all(text.as_bytes()).await;
                return;
            }
            Reaction::Stall => {
                let _ = stream.read(&mut [0]).await;
                return;
            }
        }
    }
}

async fn next_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let (_, length) = head.split_once("content-length: ").unwrap();
        if body.len() >= length.lines().next().unwrap().parse().unwrap() {
            return Some(text.into_owned());
        }
    }
}
