//! Malformed HTTP requests over a plain socket are refused with a problem, like all other errors.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use reqwest::header::{HeaderMap, HeaderName};

use dsrs_test::{Answer, ServerSetup, test_database};

/// The answer of the server at `url` to these bytes, up to the end of the connection.
fn say(url: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    stream.write_all(bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A parsed answer.
fn read(answer: &str) -> Answer {
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    let answer = Answer { status, headers, text: text.to_owned() };
    assert_eq!(answer.header("content-length"), text.len().to_string());
    assert_eq!(answer.json()["request_id"], answer.header("x-request-id"), "{text}");
    answer
}

#[tokio::test]
async fn malformed_requests_are_refused_as_problems() {
    let database = test_database().await;
    let server = ServerSetup::new().database(&database).start();
    let long_uri = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(70_000));
    let long_head = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(3_000_000));
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(1000));
    for (said, status, code) in [
        ("nonsense\r\n\r\n", 400, "malformed_request"),
        ("GET\r\n\r\n", 400, "malformed_request"),
        ("GET / HTTP/7.3\r\n\r\n", 400, "malformed_request"),
        ("GET /a b HTTP/1.1\r\n\r\n", 400, "malformed_request"),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400, "malformed_request"),
        ("POST / HTTP/1.1\r\ncontent-length: many\r\n\r\n", 400, "malformed_request"),
        ("POST / HTTP/1.1\r\ntransfer-encoding: odd\r\n\r\n", 400, "malformed_request"),
        (&long_uri, 414, "uri_too_long"),
        (&long_head, 431, "headers_too_large"),
        (&many_headers, 431, "headers_too_large"),
    ] {
        let answer = read(&say(&server.url, said.as_bytes()));
        let start = said.get(..60).unwrap_or(said);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{start}");
        assert_eq!(answer.header("connection"), "close", "{start}");
    }
}

#[tokio::test]
async fn requests_before_a_malformed_one_are_answered() {
    let database = test_database().await;
    let server = ServerSetup::new().database(&database).start();
    let answers =
        say(&server.url, b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nnonsense\r\n\r\n");
    let (first, second) = answers.split_once("HTTP/1.1 4").unwrap();
    assert!(first.starts_with("HTTP/1.1 200 "), "{answers}");
    assert_eq!(read(&format!("HTTP/1.1 4{second}")).code(), "malformed_request");
}

#[tokio::test]
async fn a_body_with_malformed_chunks_is_a_problem() {
    let database = test_database().await;
    let server = ServerSetup::new().database(&database).start();
    let head = "POST /v1/graphs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let chunked = format!("{head}transfer-encoding: chunked\r\n\r\nnot a size\r\n");
    assert_eq!(read(&say(&server.url, chunked.as_bytes())).expect(400).code(), "invalid_json");
    let short = format!("{head}content-length: 50\r\n\r\n{{\"name\":");
    assert_eq!(read(&say(&server.url, short.as_bytes())).expect(400).code(), "invalid_json");
}
