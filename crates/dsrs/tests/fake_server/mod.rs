//! A test server over plain TCP. It can also close connections, stall and send invalid answers.
#![allow(dead_code, clippy::unwrap_used, reason = "a test may fail loudly")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

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
    pub(crate) connections: AtomicUsize,
    pub(crate) closed: AtomicUsize,
    pub(crate) requests: Mutex<Vec<String>>,
}

/// Starts a server with one reaction; returns its address and its records.
pub(crate) async fn server(does: Reaction) -> (String, Arc<ServerRecord>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(ServerRecord::default());
    let record = seen.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            seen.connections.fetch_add(1, Ordering::SeqCst);
            let (seen, does) = (seen.clone(), does.clone());
            tokio::spawn(async move {
                serve(stream, &does, &seen).await;
                seen.closed.fetch_add(1, Ordering::SeqCst);
            });
        }
    });
    (format!("http://{address}/v1"), record)
}

async fn serve(mut stream: TcpStream, does: &Reaction, seen: &ServerRecord) {
    while let Some(request) = next_request(&mut stream).await {
        seen.requests.lock().unwrap().push(request.clone());
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
