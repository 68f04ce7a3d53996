//! Limits over all requests and runs, and the problems that they answer with.

use reqwest::Method;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Answer, Api, raw_request};

const PARSE: &str = "/v1/parse";

/// A body of a bit more than this many bytes.
fn body_of(bytes: usize) -> String {
    json!({"type": "str", "text": "x".repeat(bytes)}).to_string()
}

/// A request that has sent this many bytes of its body and never sends the rest.
async fn unfinished_request(api: &Api, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(api.url.strip_prefix("http://").unwrap()).await.unwrap();
    let head = format!(
        "POST {PARSE} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        bytes + 1
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(" ".repeat(bytes).as_bytes()).await.unwrap();
    let gauge = format!("dsrs_body_memory_bytes {bytes}");
    api.until("/metrics", |answer| answer.text.lines().any(|line| line == gauge)).await;
    stream
}

fn assert_no_body_memory(answer: Answer) {
    let answer = answer.expect(503);
    assert_eq!(answer.code(), "unavailable");
    assert_eq!(answer.header("retry-after"), "1");
    assert!(answer.text.contains("`limits.body_memory`"), "{}", answer.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_beyond_the_memory_for_bodies_are_refused_until_it_is_free() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_MEMORY", "1MiB")]).await;
    let unfinished = unfinished_request(&api, 600_000).await;
    assert_no_body_memory(api.post(PARSE, body_of(600_000)).await);
    api.post(PARSE, body_of(10)).await.expect(200);
    drop(unfinished);
    let is_free =
        |answer: &Answer| answer.text.lines().any(|line| line == "dsrs_body_memory_bytes 0");
    api.until("/metrics", is_free).await;
    assert_ne!(api.post(PARSE, body_of(600_000)).await.status, 503);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_fit_in_memory_is_refused_before_it_is_sent() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_MEMORY", "1MiB")]).await;
    let _unfinished = unfinished_request(&api, 600_000).await;
    let headers = [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("content-length", "600000"),
        ("expect", "100-continue"),
    ];
    let first = format!("POST {PARSE} HTTP/1.1");
    assert_no_body_memory(raw_request(&api.url, &first, &headers).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_unknown_length_is_refused_as_soon_as_it_does_not_fit_in_memory() {
    let api = Api::with_settings(&[("DSRS_LIMITS_BODY_MEMORY", "1MiB")]).await;
    let _unfinished = unfinished_request(&api, 600_000).await;
    let client = crate::support::http_client();
    let pieces =
        body_of(600_000).into_bytes().chunks(10_000).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let pieces = futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>));
    let request = client.request(Method::POST, format!("{}{PARSE}", api.url));
    let request = request.header("content-type", "application/json");
    let answer = request.body(reqwest::Body::wrap_stream(pieces)).send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    assert_no_body_memory(Answer { status, headers, text: answer.text().await.unwrap() });
}
