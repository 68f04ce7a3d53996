//! The connections of the OpenAI client: how many are open, when they are reused and closed. The server is
//! a test server over plain TCP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dsrs::lm::{
    Chat, DeltaSink, HttpLimits, Lm, LmError, LmErrorKind, LmParams, LmReply, LmRequest, Message,
    OpenAi, OpenAiConfig, Prefix,
};
use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::fake_server::{Reaction, http, server, whole};

const GOOD: &str = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;

fn client(url: &str, http: HttpLimits) -> Arc<OpenAi> {
    Arc::new(OpenAi::new(OpenAiConfig { http, ..OpenAiConfig::new(url, "m") }).unwrap())
}

async fn ask(lm: &OpenAi) -> Result<LmReply, LmError> {
    let chat = Chat { prefix: Prefix::of([]), turns: vec![Message::user("hi")] };
    lm.complete(&LmRequest::new(chat, LmParams::default()), DeltaSink::closed()).await
}

#[tokio::test]
async fn a_closed_idle_connection_is_replaced() {
    let (url, seen) = server(Reaction::SayAndClose(whole(GOOD))).await;
    let (other_url, _) = server(http("200 OK", "", GOOD)).await;
    let lm = client(&url, HttpLimits::default());
    for number in 1..4 {
        assert_eq!(&*ask(&lm).await.unwrap().text, "hello");
        seen.closed.reaches(number).await;
        // Meanwhile the runtime notices that the connection was closed.
        ask(&client(&other_url, HttpLimits::default())).await.unwrap();
    }
    assert_eq!(seen.connections.get(), 3);
}

/// A server that answers the first request of a connection and closes it when the second one arrives.
async fn forgetful_server() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let count = count.clone();
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).await.unwrap();
                assert!(read > 0);
                count.fetch_add(1, Ordering::SeqCst);
                stream.write_all(whole(GOOD).as_bytes()).await.unwrap();
                let read = stream.read(&mut request).await.unwrap();
                count.fetch_add(usize::from(read > 0), Ordering::SeqCst);
            });
        }
    });
    (url, requests)
}

#[tokio::test]
async fn a_request_that_was_sent_is_not_sent_again() {
    let (url, requests) = forgetful_server().await;
    let lm = client(&url, HttpLimits::default());
    assert!(ask(&lm).await.is_ok());
    assert_eq!(ask(&lm).await.unwrap_err().kind, LmErrorKind::Connection);
    assert_eq!(requests.load(Ordering::SeqCst), 2);
    assert!(ask(&lm).await.is_ok());
}

#[tokio::test]
async fn after_a_lost_connection_the_next_request_takes_a_new_one() {
    let (url, requests) = forgetful_server().await;
    let lm = client(&url, HttpLimits::default());
    join_all((0..3).map(|_| ask(&lm))).await.into_iter().for_each(|reply| drop(reply.unwrap()));
    assert_eq!(ask(&lm).await.unwrap_err().kind, LmErrorKind::Connection);
    assert!(ask(&lm).await.is_ok(), "the other idle connections are as old");
    assert_eq!(requests.load(Ordering::SeqCst), 5);
}

#[tokio::test]
async fn idle_connections_are_closed_without_another_request() {
    let (url, seen) = server(http("200 OK", "", GOOD)).await;
    let idle_timeout = Duration::from_millis(50);
    let lm = client(&url, HttpLimits { idle_timeout, ..HttpLimits::default() });
    for round in 1..3 {
        join_all((0..3).map(|_| ask(&lm))).await.into_iter().for_each(|reply| drop(reply.unwrap()));
        let connections = seen.connections.get();
        assert!(connections >= round);
        seen.closed.reaches(connections).await;
    }
}

#[tokio::test]
async fn no_more_connections_than_the_limit_are_open() {
    let (url, seen) = server(http("200 OK", "", GOOD)).await;
    let lm = client(&url, HttpLimits { connections: 2, ..HttpLimits::default() });
    for reply in join_all((0..20).map(|_| ask(&lm))).await {
        assert_eq!(&*reply.unwrap().text, "hello");
    }
    assert_eq!(seen.requests.lock().unwrap().len(), 20);
    assert_eq!(seen.connections.get(), 2);
}

#[tokio::test]
async fn a_request_waits_for_a_connection_until_another_is_closed() {
    let (url, seen) = server(Reaction::Stall).await;
    let lm = client(&url, HttpLimits { connections: 1, ..HttpLimits::default() });
    let first = tokio::spawn({
        let lm = lm.clone();
        async move { ask(&lm).await }
    });
    seen.connections.reaches(1).await;
    let second = tokio::spawn(async move { ask(&lm).await });
    // Another request has all the time that the second one would need.
    let (url, _) = server(http("200 OK", "", GOOD)).await;
    ask(&client(&url, HttpLimits::default())).await.unwrap();
    assert_eq!(seen.connections.get(), 1);
    first.abort();
    seen.connections.reaches(2).await;
    seen.closed.reaches(1).await;
    second.abort();
}

#[test]
fn an_idle_connection_of_another_runtime_is_closed_if_the_limit_is_reached() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().enable_all().worker_threads(1).build();
    let (servers, one, other) = (runtime().unwrap(), runtime().unwrap(), runtime().unwrap());
    let (url, seen) = servers.block_on(server(http("200 OK", "", GOOD)));
    let lm = client(&url, HttpLimits { connections: 1, ..HttpLimits::default() });
    for (runtime, closed) in [(&one, 0), (&other, 1), (&other, 1), (&one, 2)] {
        runtime.block_on(ask(&lm)).unwrap();
        servers.block_on(seen.closed.reaches(closed));
    }
    assert_eq!(seen.connections.get(), 3);
}

#[tokio::test]
async fn an_endless_head_is_refused() {
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 20));
    let (url, _) = server(Reaction::Say(endless)).await;
    let error = ask(&client(&url, HttpLimits::default())).await.unwrap_err();
    assert_eq!(error.kind, LmErrorKind::Connection);
    assert!(error.message.contains("message head is too large"), "{error}");
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_in_every_framing() {
    let (head, long) = ("HTTP/1.1 200 OK\r\n", "x".repeat(65));
    for answer in [
        format!("{head}content-length: 65\r\n\r\n{long}"),
        format!("{head}content-length: 9000000000000000000\r\n\r\n{long}"),
        format!("{head}transfer-encoding: chunked\r\n\r\n41\r\n{long}\r\n0\r\n\r\n"),
        format!("{head}\r\n{long}"),
    ] {
        let (url, _) = server(Reaction::SayAndClose(answer.clone())).await;
        let lm = client(&url, HttpLimits { answer_bytes: 64, ..HttpLimits::default() });
        let error = ask(&lm).await.unwrap_err();
        assert!(error.message.contains("too large"), "{answer}: {error}");
    }
}
