//! How a connection to an address comes about: its name is resolved, each of its addresses is tried, and
//! proxies of the environment are used. Sends no requests.

use std::error::Error;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use hyper::Uri;
use hyper::http::uri::Scheme;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::GaiResolver;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::{HttpError, HttpLimits, root_cause};

type BoxError = Box<dyn Error + Send + Sync>;

/// Opens TCP connections. Addresses of a host share the timeout; a second family of addresses is tried
/// beside the first after 300 ms.
pub(super) fn tcp<R>(resolver: R, limits: &HttpLimits) -> HttpConnector<R> {
    let mut tcp = HttpConnector::new_with_resolver(resolver);
    // Otherwise small requests wait for an acknowledgement.
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(limits.connect_timeout));
    tcp.enforce_http(false);
    tcp
}

/// The proxy for an address, if there is one. Loopback addresses have none.
pub(super) fn proxy(proxies: &Matcher, address: &Uri) -> Result<Option<Intercept>, String> {
    let proxy = proxies.intercept(address).filter(|_| !address.host().is_some_and(is_loopback));
    match proxy.as_ref().map(|proxy| proxy.uri().scheme()) {
        None => Ok(None),
        Some(Some(scheme)) if *scheme == Scheme::HTTP => Ok(proxy),
        Some(_) => {
            Err("the proxy of the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY) must be \
                        an http:// address; list the host in NO_PROXY to use none"
                .to_owned())
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse();
    let name = host.trim_end_matches('.').to_ascii_lowercase();
    address.is_ok_and(|address: IpAddr| address.is_loopback())
        || name == "localhost"
        || name.ends_with(".localhost")
}

/// The way to a server.
#[derive(Clone)]
pub(super) enum Route {
    /// To the server itself.
    Direct(HttpConnector),
    /// Through a proxy that reads nothing.
    Tunnel(Tunnel<HttpConnector>),
}

impl Route {
    /// The way to a server over TLS.
    pub(super) fn secure(proxy: Option<&Intercept>, limits: &HttpLimits) -> Self {
        let tcp = tcp(GaiResolver::new(), limits);
        let Some(proxy) = proxy else { return Self::Direct(tcp) };
        let tunnel = Tunnel::new(proxy.uri().clone(), tcp);
        Self::Tunnel(match proxy.basic_auth() {
            Some(auth) => tunnel.with_auth(auth.clone()),
            None => tunnel,
        })
    }
}

impl Service<Uri> for Route {
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Direct(tcp) => tcp.poll_ready(cx).map_err(Into::into),
            Self::Tunnel(tunnel) => tunnel.poll_ready(cx).map_err(Into::into),
        }
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        match self {
            Self::Direct(tcp) => tcp.call(address).err_into().boxed(),
            Self::Tunnel(tunnel) => tunnel.call(address).err_into().boxed(),
        }
    }
}

/// Opens connections to one address, that of a server or of a proxy.
pub(super) type OpenTcp =
    Box<dyn Fn() -> BoxFuture<'static, Result<TcpStream, HttpError>> + Send + Sync>;

/// Opens connections to this address.
pub(super) fn open_tcp<R>(tcp: HttpConnector<R>, address: Uri) -> OpenTcp
where
    R: Send + Sync + 'static,
    HttpConnector<R>: Service<Uri, Response = TokioIo<TcpStream>> + Clone,
    <HttpConnector<R> as Service<Uri>>::Error: Error,
    <HttpConnector<R> as Service<Uri>>::Future: Send,
{
    Box::new(move || {
        let (mut tcp, address) = (tcp.clone(), address.clone());
        let connecting = async move {
            poll_fn(|cx| tcp.poll_ready(cx)).await?;
            tcp.call(address).await
        };
        connecting
            .map(|done| done.map(TokioIo::into_inner).map_err(|error| connect_error(&error)))
            .boxed()
    })
}

/// The failure of a connection that could not be made.
pub(super) fn connect_error(error: &(dyn Error + 'static)) -> HttpError {
    let is_late = |error: &(dyn Error + 'static)| {
        let error = error.downcast_ref::<io::Error>();
        error.is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    };
    let mut causes = std::iter::successors(Some(error), |error| (**error).source());
    if causes.any(is_late) {
        return HttpError::Connect("connecting took too long".to_owned());
    }
    HttpError::Connect(root_cause(error))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::{Ready, ready};
    use std::net::SocketAddr;
    use std::pin::pin;
    use std::time::Duration;

    use futures_util::poll;
    use hyper_util::client::legacy::connect::dns::Name;
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// Finds the same addresses for every name.
    #[derive(Clone)]
    struct Addresses(Vec<SocketAddr>);

    impl Service<Name> for Addresses {
        type Response = std::vec::IntoIter<SocketAddr>;
        type Error = Infallible;
        type Future = Ready<Result<Self::Response, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            ready(Ok(self.0.clone().into_iter()))
        }
    }

    /// Holds the connections that fill the queue of a listener that accepts none.
    struct Silent {
        _listener: TcpListener,
        _queue: Vec<TcpStream>,
    }

    /// An address where connecting gets no answer, as the queue of connections is full: the system
    /// completes one connection more than the length of the queue.
    async fn silent(address: SocketAddr) -> Silent {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(address).unwrap();
        let listener = socket.listen(1).unwrap();
        let mut queue = Vec::new();
        for _ in 0..2 {
            queue.push(TcpStream::connect(address).await.unwrap());
        }
        Silent { _listener: listener, _queue: queue }
    }

    /// How long connecting may take.
    const LIMIT: Duration = Duration::from_secs(600);

    async fn connect(addresses: Vec<SocketAddr>) -> Result<SocketAddr, HttpError> {
        let limits = HttpLimits { connect_timeout: LIMIT, ..HttpLimits::default() };
        let tcp = tcp(Addresses(addresses), &limits);
        let stream = open_tcp(tcp, Uri::from_static("http://model.example"))().await?;
        Ok(stream.peer_addr().unwrap())
    }

    /// Connects to an address that does not answer for so long, and then perhaps to others.
    async fn connect_after(
        time: Duration,
        addresses: Vec<SocketAddr>,
    ) -> Result<SocketAddr, HttpError> {
        let mut connecting = pin!(connect(addresses));
        assert!(poll!(connecting.as_mut()).is_pending());
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
        connecting.await
    }

    #[tokio::test]
    async fn the_next_address_is_tried_if_one_does_not_answer() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = server.local_addr().unwrap();
        let bad = SocketAddr::from(([127, 0, 0, 2], good.port()));
        let _silent = silent(bad).await;
        assert_eq!(connect_after(LIMIT / 2, vec![bad, good]).await.unwrap(), good);
        let Err(HttpError::Connect(reason)) = connect_after(LIMIT, vec![bad]).await else {
            panic!("a connection")
        };
        assert_eq!(reason, "connecting took too long");
    }

    #[tokio::test]
    async fn the_other_family_is_tried_if_one_does_not_answer() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let good = server.local_addr().unwrap();
        // Discards packets, or no route leads there: RFC 6666.
        let bad = SocketAddr::from(([0x100, 0, 0, 0, 0, 0, 0, 1], good.port()));
        assert_eq!(connect(vec![bad, good]).await.unwrap(), good);
    }

    #[tokio::test]
    async fn a_refused_connection_is_a_failure_with_a_reason() {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let closed = server.local_addr().unwrap();
        drop(server);
        let Err(HttpError::Connect(reason)) = connect(vec![closed]).await else {
            panic!("a connection")
        };
        assert!(reason.contains("refused"), "{reason}");
    }
}
