//! The number of connections over TLS.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::Full;
use hyper::Response;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::sync::Barrier;

use super::*;

fn direct(port: u16, connections: usize) -> HttpClient {
    let limits = HttpLimits { connections, ..HttpLimits::default() };
    let none = Matcher::builder().build();
    client(&none, &format!("https://localhost:{port}/v1"), &limits).unwrap()
}

#[tokio::test]
async fn no_more_requests_than_the_limit_are_sent_at_once_over_http_1() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = direct(listener.local_addr().unwrap().port(), 2);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let record = most.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (now, most) = (now.clone(), record.clone());
            tokio::spawn(async move {
                let mut stream = acceptor(b"http/1.1").accept(stream).await.unwrap();
                while request(&mut stream, "question").await.is_some() {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    now.fetch_sub(1, Ordering::SeqCst);
                    stream.write_all(ANSWER.as_bytes()).await.unwrap();
                    stream.flush().await.unwrap();
                }
            });
        }
    });
    for answer in join_all((0..10).map(|_| post(&client))).await {
        assert_eq!(answer.unwrap().body, "hello");
    }
    let most = most.load(Ordering::SeqCst);
    assert!(most <= 2, "{most}");
}

#[tokio::test]
async fn requests_over_http_2_share_a_connection_and_do_not_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = direct(listener.local_addr().unwrap().port(), 1);
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    // After the first request, each is answered only together with three others.
    let (served, together) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(4)));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let (served, together) = (served.clone(), together.clone());
            let service = service_fn(move |_| {
                let (served, together) = (served.clone(), together.clone());
                async move {
                    if served.fetch_add(1, Ordering::SeqCst) > 0 {
                        together.wait().await;
                    }
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
                }
            });
            tokio::spawn(async move {
                let stream = TokioIo::new(acceptor(b"h2").accept(stream).await.unwrap());
                let server = http2::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection(stream, service).await;
            });
        }
    });
    assert_eq!(post(&client).await.unwrap().body, "hello");
    let answers = join_all((0..4).map(|_| post(&client)));
    let answers = tokio::time::timeout(Duration::from_secs(600), answers).await.unwrap();
    answers.into_iter().for_each(|answer| assert_eq!(answer.unwrap().body, "hello"));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}
