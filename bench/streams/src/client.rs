//! The clients: each repeats one request on its connection, and compares the stamps in the answer with the clock.

use std::io;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::now;
use crate::wire::{after, content_length, more};

/// What the clients have seen, in microseconds.
#[derive(Default)]
pub struct StreamTimings {
    pub answers: usize,
    /// From the request to the first stamp.
    pub first: Vec<f64>,
    /// From each stamp to its arrival.
    pub pieces: Vec<f64>,
    /// From the request to the end of the answer.
    pub whole: Vec<f64>,
}

/// Does what a line says (see `main`).
pub fn measure(line: &str, pieces: usize) -> io::Result<StreamTimings> {
    let [url, body, clients, seconds, kind] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (host, path) = url.trim_start_matches("http://").split_once('/').unwrap_or((url, ""));
    let is_streamed = kind == "stream";
    let accept = if is_streamed { "text/event-stream" } else { "application/json" };
    let body = std::fs::read_to_string(body)?;
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: {host}\r\naccept: {accept}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let (clients, seconds) = (clients.parse().unwrap_or(1), seconds.parse().unwrap_or(1.0));
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut all = StreamTimings::default();
        let stamps = if is_streamed { pieces } else { 0 };
        let tasks: Vec<_> = (0..clients)
            .map(|_| tokio::spawn(repeat(host.to_owned(), request.clone(), stamps, end)))
            .collect();
        for task in tasks {
            let found = task.await.map_err(io::Error::other)??;
            all.answers += found.answers;
            all.first.extend(found.first);
            all.pieces.extend(found.pieces);
            all.whole.extend(found.whole);
        }
        Ok(all)
    })
}

async fn repeat(host: String, request: String, stamps: usize, end: Instant) -> io::Result<StreamTimings> {
    let mut stream = TcpStream::connect(&host).await?;
    stream.set_nodelay(true)?;
    let mut found = StreamTimings::default();
    while Instant::now() < end {
        let sent = now();
        stream.write_all(request.as_bytes()).await?;
        read_answer(&mut stream, stamps, sent, &mut found).await?;
        found.whole.push(now() - sent);
        found.answers += 1;
    }
    Ok(found)
}

async fn read_answer(
    stream: &mut TcpStream,
    stamps: usize,
    sent: f64,
    found: &mut StreamTimings,
) -> io::Result<()> {
    let (mut read, mut seen, mut at) = (Vec::with_capacity(1 << 14), 0, 0);
    loop {
        more(stream, &mut read).await?;
        let time = now();
        // The last event of a run has all stamps again.
        while seen < stamps
            && let Some((stamp, next)) = next_stamp(&read, at)
        {
            if seen == 0 {
                found.first.push(time - sent);
            }
            found.pieces.push(time - stamp);
            (seen, at) = (seen + 1, next);
        }
        let Some(head) = after(&read, b"\r\n\r\n") else { continue };
        if !read.starts_with(b"HTTP/1.1 200") {
            return Err(io::Error::other(String::from_utf8_lossy(&read).into_owned()));
        }
        let is_complete = match content_length(&read[..head]) {
            Some(length) => read.len() >= head + length,
            None => read.ends_with(b"0\r\n\r\n"),
        };
        if is_complete {
            return match seen == stamps {
                true => Ok(()),
                false => Err(io::Error::other(format!("{seen} of {stamps} pieces"))),
            };
        }
    }
}

/// A stamp that has arrived as a whole, and where the next one may begin.
fn next_stamp(read: &[u8], from: usize) -> Option<(f64, usize)> {
    let start = from + after(&read[from..], b"@")?;
    let length = read[start..].iter().position(|byte| !matches!(byte, b'0'..=b'9' | b'.'))?;
    let text = std::str::from_utf8(&read[start..start + length]).ok()?;
    Some((text.parse().ok()?, start + length))
}
