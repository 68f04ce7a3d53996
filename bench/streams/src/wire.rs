//! As much of HTTP/1.1 as both sides need. Knows no JSON.

use std::io;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// The position after some bytes.
pub fn after(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|part| part == wanted).map(|at| at + wanted.len())
}

/// The length that a head declares.
pub fn content_length(head: &[u8]) -> Option<usize> {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix("content-length:"))?;
    line.trim().parse().ok()
}

/// Reads more bytes; the peer must not have closed the connection.
pub async fn more(stream: &mut TcpStream, into: &mut Vec<u8>) -> io::Result<()> {
    match stream.read_buf(into).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}
