//! Accepts connections and serves HTTP/1.1 on them: limits their number, the time for a head and the
//! time for a client to read, keeps used connections alive, closes them in order. Knows no routes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::problem_stream::ProblemStream;
use super::threads::Threads;
use dsrs_app::spawn_named_on;

/// How long the head of a request may take to arrive; an idle connection is closed after it too.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(75);

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionLimits {
    /// The maximum number of open connections. Further ones wait in the queue of the system.
    pub(super) count: usize,
    /// The time for the head of a request.
    pub(super) head_time: Duration,
    /// The time in which a client must accept a part of an answer.
    pub(super) write_time: Duration,
}

/// The most that a connection reads ahead, and the longest head of a request.
const READ_BUFFER: usize = 128 << 10;

/// How long to wait if the system has no resources for another connection.
const NO_ROOM: Duration = Duration::from_secs(1);

/// Serves until `stop`, then until the last response is sent. Each connection lives on one of the
/// threads.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    threads: &Threads,
    limits: ConnectionLimits,
    stop: CancellationToken,
) {
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(READ_BUFFER);
    let places = Arc::new(Semaphore::new(limits.count));
    let router = TowerToHyperService::new(router);
    let open = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, permit)) => {
                let slot = threads.slot();
                let runtime = slot.runtime().clone();
                let (server, router, stop) = (server.clone(), router.clone(), stop.clone());
                let serving = connection(server, stream, limits.write_time, router, stop);
                let one = async move {
                    serving.await;
                    drop((slot, permit));
                };
                spawn_named_on(&runtime, "a connection", open.track_future(one));
            }
            Err(error) => refused(&error).await,
        }
    }
    open.close();
    open.wait().await;
}

/// The next connection, once fewer than the maximum are open.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(std::net::TcpStream, OwnedSemaphorePermit)> {
    let permit = places.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream.into_std()?, permit))
}

async fn connection(
    server: http1::Builder,
    stream: std::net::TcpStream,
    write_time: Duration,
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
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(write_time));
    let stream = TokioIo::new(ProblemStream::new(Box::pin(stream)));
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
    use std::convert::Infallible;
    use std::future::ready;

    use axum::body::Body;
    use axum::routing::get;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use dsrs_app::spawn_named;

    const LIMITS: ConnectionLimits =
        ConnectionLimits { count: 100, head_time: HEAD_TIME, write_time: HEAD_TIME };

    async fn serving(limits: ConnectionLimits) -> (std::net::SocketAddr, CancellationToken) {
        serving_with(Router::new(), limits).await
    }

    async fn serving_with(
        router: Router,
        limits: ConnectionLimits,
    ) -> (std::net::SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let router = router.route("/", get(|| async { "hello" }));
        let stopped = stop.clone();
        spawn_named("the server", async move {
            let threads = Threads::start().unwrap();
            serve(listener, router, &threads, limits, stopped).await;
        });
        (address, stop)
    }

    #[tokio::test]
    async fn a_head_that_never_ends_times_out() {
        let (address, _stop) =
            serving(ConnectionLimits { head_time: Duration::from_millis(100), ..LIMITS }).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
    }

    #[tokio::test]
    async fn a_stop_answers_accepted_requests_and_closes_idle_connections() {
        let (address, stop) = serving(LIMITS).await;
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

    #[tokio::test]
    async fn a_client_that_does_not_read_is_disconnected() {
        let given_up = CancellationToken::new();
        let answers = given_up.clone();
        let endless = get(move || {
            let answered = answers.clone().drop_guard();
            let pieces = stream::repeat_with(move || {
                let _answered = &answered;
                Ok::<_, Infallible>("more ")
            });
            ready(Body::from_stream(pieces))
        });
        let router = Router::new().route("/endless", endless);
        let write_time = Duration::from_millis(200);
        let limits = ConnectionLimits { write_time, ..LIMITS };
        let (address, _stop) = serving_with(router, limits).await;
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        given_up.cancelled().await;
    }

    #[tokio::test]
    async fn a_connection_beyond_the_limit_waits_until_another_is_closed() {
        let (address, _stop) = serving(ConnectionLimits { count: 1, ..LIMITS }).await;
        let first = TcpStream::connect(address).await.unwrap();
        // Connections are accepted in their order.
        let mut second = TcpStream::connect(address).await.unwrap();
        second.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut head = [0; 12];
        let early = tokio::time::timeout(Duration::from_millis(300), second.peek(&mut head)).await;
        assert!(early.is_err(), "answered beyond the limit");
        drop(first);
        second.read_exact(&mut head).await.unwrap();
        assert_eq!(&head, b"HTTP/1.1 200");
    }
}
