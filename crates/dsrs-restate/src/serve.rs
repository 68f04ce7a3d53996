//! The listener for the engine: HTTP/2 without TLS, of its own address, so that nothing that clients reach
//! answers it. May not know what an attempt does.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::pending;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::http::response::Builder;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use restate_sdk_shared_core::{CoreVM, JournalReplay, VM, VMOptions};
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::connection_use::ConnectionUse;
use super::conversation::{Conversation, Handler};
use super::manifest::{MANIFEST_TYPE, manifest};
use super::{Service, ServiceNames, Worker, identity};
use dsrs_config::EngineKey;
use dsrs_shutdown::Shutdown;

/// Attempts of one connection at a time; the engine opens more connections. With one, a connection can be closed
/// when its attempt has ended: the engine gives up everything on a connection that says it will close.
const STREAMS: u32 = 1;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 1024;

/// How often a silent connection is tested, and how long its answer may take: an engine that is cut off has
/// started other attempts by then.
const PING: Duration = Duration::from_secs(2);
const PONG: Duration = Duration::from_secs(3);

/// The time in which a new connection must have a request.
const FIRST_REQUEST: Duration = Duration::from_secs(10);

/// Connections of all nodes of the engine. Far above its limits of attempts: an attempt whose connection is not
/// accepted waits for it, while the engine leaves others open that it does not use.
const CONNECTIONS: usize = 8192;

/// The pause after a connection could not be accepted.
const RETRY: Duration = Duration::from_millis(50);

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Listens on an address that several processes of a machine may share.
pub fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

/// Where the engine finds this worker.
pub struct EngineEndpoint {
    /// What makes the attempts.
    pub worker: Arc<dyn Worker>,
    pub names: ServiceNames,
    /// The key that signs the requests; all are answered if there is none.
    pub key: Option<EngineKey>,
    /// Once the server stops, no attempt begins.
    pub shutdown: Shutdown,
}

impl EngineEndpoint {
    /// Serves the engine. Attempts in progress continue while the server stops. When this is dropped, all attempts
    /// are lost.
    pub async fn serve(self, listener: TcpListener) {
        let mut connections = JoinSet::new();
        let endpoint = Arc::new(self);
        loop {
            let has_room = connections.len() < CONNECTIONS;
            let accepted = tokio::select! {
                accepted = listener.accept(), if has_room => accepted,
                Some(_) = connections.join_next() => continue,
                () = endpoint.shutdown.draining() => break,
            };
            match accepted {
                Ok((stream, _)) => drop(connections.spawn(endpoint.clone().talk(stream))),
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection of the engine");
                    tokio::time::sleep(RETRY).await;
                }
            }
        }
        // New attempts go to other workers.
        drop(listener);
        while connections.join_next().await.is_some() {}
    }

    async fn talk(self: Arc<Self>, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        let (shutdown, connection_use) = (self.shutdown.clone(), ConnectionUse::default());
        let used = connection_use.clone();
        let answer = service_fn(move |request| {
            let (endpoint, connection) = (self.clone(), connection_use.clone());
            async move { Ok::<_, Infallible>(endpoint.answer(request, connection)) }
        });
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .keep_alive_interval(PING)
            .keep_alive_timeout(PONG)
            .serve_connection(TokioIo::new(stream), answer);
        let mut connection = pin!(connection);
        // The engine gives up what runs on a connection that says it will close, so that is said in between.
        let is_over = async {
            tokio::select! {
                () = shutdown.draining() => used.retire_next(),
                () = used.retired() => {}
            }
            used.retired().await;
        };
        let is_silent = async {
            tokio::time::sleep(FIRST_REQUEST).await;
            match used.is_unused() {
                true => {}
                false => pending().await,
            }
        };
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = is_silent => return,
            () = is_over => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection of the engine ended");
        }
    }

    fn answer(&self, request: Request<Incoming>, connection: ConnectionUse) -> Response<Body> {
        let path = request.uri().path().to_owned();
        if let Some(key) = &self.key
            && let Err(reason) = identity::verify(key, request.headers(), &path)
        {
            tracing::warn!(reason, "a request on the address for the engine is refused");
            return refusal(401, reason);
        }
        if path.ends_with("/discover") {
            let manifest = Full::new(Bytes::from(manifest(&self.names)));
            let answer = Response::builder().header(CONTENT_TYPE, MANIFEST_TYPE);
            return finish(answer, manifest.boxed_unsync());
        }
        match handler(&self.names, &path) {
            Some(handler) => {
                connection.begin();
                self.converse(request, handler, connection)
            }
            None => refusal(404, "there is no such handler"),
        }
    }

    /// Starts a conversation. It is the body of the response, so it ends with its connection.
    fn converse(
        &self,
        request: Request<Incoming>,
        handler: Handler,
        connection: ConnectionUse,
    ) -> Response<Body> {
        let (head, input) = request.into_parts();
        let options = VMOptions { journal_replay: JournalReplay::Disabled, ..VMOptions::default() };
        let vm = match CoreVM::new(head.headers, options) {
            Ok(vm) => vm,
            Err(error) => {
                connection.end();
                return refusal(error.code(), error.message());
            }
        };
        let head = vm.get_response_head();
        let mut answer = Response::builder().status(head.status_code);
        for header in &head.headers {
            answer = answer.header(&*header.key, &*header.value);
        }
        let (sender, receiver) = mpsc::unbounded_channel();
        let conversation = Conversation::new(vm, input, sender, connection);
        let conversation = conversation.hold(handler, self.worker.clone());
        let nothing = stream::once(conversation).filter_map(async |()| None);
        let output = stream::unfold(receiver, async |mut receiver| {
            let bytes: Bytes = receiver.recv().await?;
            Some((Ok(Frame::data(bytes)), receiver))
        });
        finish(answer, StreamBody::new(stream::select(output, nothing)).boxed_unsync())
    }
}

/// The handler of `…/invoke/SERVICE/HANDLER`.
fn handler(names: &ServiceNames, path: &str) -> Option<Handler> {
    let (_, called) = path.rsplit_once("/invoke/")?;
    let (service, name) = called.split_once('/')?;
    match (names.find(service)?, name) {
        (service, "work") => Some(Handler::Work(service)),
        (Service::Run, "progress") => Some(Handler::Progress),
        _ => None,
    }
}

fn refusal(status: u16, reason: &str) -> Response<Body> {
    let text = Full::new(Bytes::from(format!("{reason}\n"))).boxed_unsync();
    finish(Response::builder().status(status), text)
}

fn finish(answer: Builder, body: Body) -> Response<Body> {
    // Only a head that is not valid is refused here, and all of them are.
    answer.body(body).unwrap_or_else(|_| Response::new(Full::default().boxed_unsync()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_a_service_and_a_handler() {
        let names = ServiceNames::new("dsrs");
        let handler = |path| handler(&names, path);
        let work = Some(Handler::Work(Service::Run));
        assert_eq!(handler("/invoke/dsrs.run/work"), work);
        assert_eq!(handler("/prefix/invoke/dsrs.run/work"), work);
        assert_eq!(handler("/invoke/dsrs.run/progress"), Some(Handler::Progress));
        for other in [
            "/",
            "/invoke",
            "/invoke/dsrs.run",
            "/invoke/other.run/work",
            "/invoke/dsrsxrun/work",
            "/invoke/dsrs.job/progress",
        ] {
            assert_eq!(handler(other), None, "{other}");
        }
    }
}
