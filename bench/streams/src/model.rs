//! The model: every answer has one field `answer`, whose text is stamps of time. Without `"stream":true` the answer is
//! sent as a whole.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::now;
use crate::wire::{after, content_length, more};

const HEADER: &str = r"[[ ## answer ## ]]\n";
const END: &str = r"\n\n[[ ## completed ## ]]";

/// Starts the model on a thread of its own.
pub fn start(pieces: usize, pause: Duration) -> io::Result<SocketAddr> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::spawn(move || runtime.block_on(accept(listener, pieces, pause)));
    Ok(address)
}

async fn accept(listener: std::net::TcpListener, pieces: usize, pause: Duration) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        // A client that leaves ends its connection.
        tokio::spawn(async move { answer_always(stream, pieces, pause).await });
    }
}

async fn answer_always(mut stream: TcpStream, pieces: usize, pause: Duration) -> io::Result<()> {
    let mut read = Vec::new();
    loop {
        let length = loop {
            if let Some(head) = after(&read, b"\r\n\r\n") {
                break head + content_length(&read[..head]).unwrap_or(0);
            }
            more(&mut stream, &mut read).await?;
        };
        while read.len() < length {
            more(&mut stream, &mut read).await?;
        }
        let is_streamed = after(&read[..length], br#""stream":true"#).is_some();
        read.drain(..length);
        match is_streamed {
            true => send_pieces(&mut stream, pieces, pause).await?,
            false => send_whole(&mut stream, pieces).await?,
        }
    }
}

async fn send_whole(stream: &mut TcpStream, pieces: usize) -> io::Result<()> {
    let stamps: String = (0..pieces).map(|_| stamp()).collect();
    let body = format!(
        r#"{{"id":"x","object":"chat.completion","created":1,"model":"fake","choices":[{{"index":0,"message":{{"role":"assistant","content":"{HEADER}{stamps}{END}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}}}"#
    );
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await
}

async fn send_pieces(stream: &mut TcpStream, pieces: usize, pause: Duration) -> io::Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all((head.to_owned() + &delta(HEADER, "null")).as_bytes()).await?;
    for number in 0..pieces {
        if number > 0 && !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        stream.write_all(delta(&stamp(), "null").as_bytes()).await?;
    }
    let usage = r#"{"id":"x","object":"chat.completion.chunk","created":1,"model":"fake","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}"#;
    let end = delta(END, r#""stop""#) + &chunk(usage) + &chunk("[DONE]") + "0\r\n\r\n";
    stream.write_all(end.as_bytes()).await
}

fn stamp() -> String {
    format!(" @{:.1}", now())
}

fn delta(content: &str, reason: &str) -> String {
    chunk(&format!(
        r#"{{"id":"x","object":"chat.completion.chunk","created":1,"model":"fake","choices":[{{"index":0,"delta":{{"content":"{content}"}},"finish_reason":{reason}}}]}}"#
    ))
}

fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
