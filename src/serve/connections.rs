//! Accepts connections and serves HTTP/1.1 on them: limits the time for a head, keeps used connections
//! alive, closes them in order. Knows no routes.

use std::io;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::problem_stream::ProblemStream;
use super::threads::{ThreadSlot, Threads};
use crate::app::spawn_named_on;

/// How long the head of a request may take to arrive; an idle connection is closed after it too.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(75);

/// How long to wait if the system has no resources for another connection.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Serves until `stop`, then until the last response is sent. Each connection lives on one of the
/// threads.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    threads: &Threads,
    head_time: Duration,
    stop: CancellationToken,
) {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(head_time);
    let router = TowerToHyperService::new(router);
    let open = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let moved = accepted.and_then(|(stream, _)| stream.into_std());
        match moved {
            Ok(stream) => {
                let slot = threads.slot();
                let runtime = slot.runtime().clone();
                let one = connection(server.clone(), stream, slot, router.clone(), stop.clone());
                spawn_named_on(&runtime, "a connection", open.track_future(one));
            }
            Err(error) => refused(&error).await,
        }
    }
    open.close();
    open.wait().await;
}

async fn connection(
    server: http1::Builder,
    stream: std::net::TcpStream,
    _slot: ThreadSlot,
    router: TowerToHyperService<Router>,
    stop: CancellationToken,
) {
    let stream = match TcpStream::from_std(stream) {
        Ok(stream) => stream,
        Err(error) => return tracing::error!(%error, "cannot accept a connection"),
    };
    // Otherwise small responses wait for an acknowledgement of the peer.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot disable the delay of a connection");
    }
    let stream = TokioIo::new(ProblemStream::new(stream));
    let mut serving = server.serve_connection(stream, router);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stop.cancelled() => {
            std::pin::Pin::new(&mut serving).graceful_shutdown();
            (&mut serving).await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke off");
        if error.is_parse() {
            serving.into_parts().io.into_inner().linger().await;
        }
    }
}

/// A client that disconnects early is harmless; exhausted resources need a pause.
async fn refused(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
        tokio::time::sleep(NO_ROOM).await;
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::app::spawn_named;

    async fn serving(head_time: Duration) -> (std::net::SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let router = Router::new().route("/", get(|| async { "hello" }));
        let stopped = stop.clone();
        spawn_named("the server", async move {
            let threads = Threads::start().unwrap();
            serve(listener, router, &threads, head_time, stopped).await;
        });
        (address, stop)
    }

    #[tokio::test]
    async fn a_head_that_never_ends_times_out() {
        let (address, _stop) = serving(Duration::from_millis(100)).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
    }

    #[tokio::test]
    async fn a_stop_answers_accepted_requests_and_closes_idle_connections() {
        let (address, stop) = serving(HEAD_TIME).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stop.cancel();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert!(rest.ends_with(b"hello"));
    }
}
