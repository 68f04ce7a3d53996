//! Requests byte for byte over a plain socket, for what a well-behaved client never sends.

use reqwest::header::{HeaderMap, HeaderName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Answer, within};

/// The answer of the server at `url` to one request: its first line and its headers. The request has
/// no body and ends its connection.
pub async fn raw_request(url: &str, first: &str, headers: &[(&str, &str)]) -> Answer {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).await.unwrap();
    let mut request = format!("{first}\r\nconnection: close\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{request}\r\n").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    within("an answer", stream.read_to_end(&mut answer)).await.unwrap();
    parse(&String::from_utf8_lossy(&answer))
}

fn parse(answer: &str) -> Answer {
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').unwrap();
        headers.append(name.parse::<HeaderName>().unwrap(), value.trim().parse().unwrap());
    }
    Answer { status, headers, text: text.to_owned() }
}
