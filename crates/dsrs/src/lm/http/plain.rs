//! Posting over plain HTTP/1.1 to one address: a stack of kept-alive connections, each driven by
//! the task that uses it and by no other (docs/performance.md).

use std::future::Future as _;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{HOST, HeaderMap, HeaderValue};
use hyper::{Method, Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use super::{HttpAnswer, HttpError, HttpLimits, read, root_cause};

type Driver = http1::Connection<TokioIo<TcpStream>, Full<Bytes>>;

/// Connections to one address.
pub(in crate::lm) struct PlainClient {
    host: String,
    port: u16,
    path: Uri,
    headers: HeaderMap,
    limits: HttpLimits,
    idle: Mutex<Vec<Idle>>,
}

struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: Pin<Box<Driver>>,
}

struct Idle {
    connection: Connection,
    since: Instant,
}

impl PlainClient {
    /// A client of an `http` address that sends these headers with every request.
    pub(super) fn new(
        address: &Uri,
        mut headers: HeaderMap,
        limits: HttpLimits,
    ) -> Result<Self, String> {
        let authority = address.authority().ok_or("the address has no host")?;
        let host = HeaderValue::from_str(authority.as_str()).map_err(|error| error.to_string())?;
        headers.insert(HOST, host);
        let path = address.path_and_query().map_or("/", |path| path.as_str());
        Ok(Self {
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(80),
            path: path.parse().map_err(|_| "the address has no proper path")?,
            headers,
            limits,
            idle: Mutex::default(),
        })
    }

    /// Posts a body. Dropping the future closes the connection it uses.
    pub(super) async fn post(&self, body: Vec<u8>) -> Result<HttpAnswer, HttpError> {
        let mut connection = match self.take_idle().await {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.path.clone();
        *request.headers_mut() = self.headers.clone();
        let answer = connection.exchange(request, self.limits.answer_bytes).await?;
        self.keep(connection);
        Ok(answer)
    }

    async fn connect(&self) -> Result<Connection, HttpError> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let connected = timeout(self.limits.connect_timeout, connecting).await;
        let stream = connected
            .map_err(|_| HttpError::Connect("connecting took too long".to_owned()))?
            .map_err(|error| HttpError::Connect(error.to_string()))?;
        // Without it small requests wait for the other side's acknowledgement.
        stream.set_nodelay(true).map_err(|error| HttpError::Connect(error.to_string()))?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, driver) = handshake.map_err(|error| HttpError::Connect(root_cause(&error)))?;
        Ok(Connection { sender, driver: Box::pin(driver) })
    }

    /// The connection used last that is still good; the others are closed by dropping them.
    async fn take_idle(&self) -> Option<Connection> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
            let mut connection = idle.connection;
            if idle.since.elapsed() < self.limits.idle_timeout && connection.is_good().await {
                return Some(connection);
            }
        }
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.limits.idle_connections {
            idle.push(Idle { connection, since: Instant::now() });
        }
    }
}

impl Connection {
    /// Whether the other side has kept it open, and it may send.
    async fn is_good(&mut self) -> bool {
        let driver = &mut self.driver;
        let ended = std::future::poll_fn(|cx| Poll::Ready(driver.as_mut().poll(cx).is_ready()));
        !ended.await && self.sender.is_ready()
    }

    /// One request and its whole answer. The connection is driven from here: what the exchange
    /// waits for arrives through it.
    async fn exchange(
        &mut self,
        request: Request<Full<Bytes>>,
        limit: usize,
    ) -> Result<HttpAnswer, HttpError> {
        let Self { sender, driver } = self;
        let mut exchange = pin!(async {
            let sent = sender.send_request(request).await;
            let response = sent.map_err(|error| HttpError::Broken(root_cause(&error)))?;
            read(response, limit).await
        });
        std::future::poll_fn(|cx| {
            if let Poll::Ready(answer) = exchange.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            let ended = driver.as_mut().poll(cx);
            match (exchange.as_mut().poll(cx), ended) {
                (Poll::Ready(answer), _) => Poll::Ready(answer),
                (Poll::Pending, Poll::Pending) => Poll::Pending,
                (Poll::Pending, Poll::Ready(Ok(()))) => {
                    Poll::Ready(Err(HttpError::Broken("the connection was closed".to_owned())))
                }
                (Poll::Pending, Poll::Ready(Err(error))) => {
                    Poll::Ready(Err(HttpError::Broken(root_cause(&error))))
                }
            }
        })
        .await
    }
}
