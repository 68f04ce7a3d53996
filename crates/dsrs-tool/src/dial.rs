//! Connections to destinations that the guard allows. A name is resolved once, and the connection goes
//! to the addresses that were checked: a second lookup cannot replace them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use super::guard::{Guard, Refused};

/// How long one address may take to accept a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Resolves names.
pub(super) trait Resolver: Send + Sync {
    /// The addresses of a host.
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

pub(super) struct SystemResolver;

impl Resolver for SystemResolver {
    fn look_up<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let found = tokio::net::lookup_host((host, 0));
        found.map(|found| Ok(found?.map(|address| address.ip()).collect())).boxed()
    }
}

/// Why a connection failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum DialError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("{0}")]
    Failed(String),
}

/// The connector of the HTTP client.
#[derive(Clone)]
pub(super) struct Dial {
    guard: Arc<Guard>,
    resolver: Arc<dyn Resolver>,
}

impl Dial {
    pub(super) fn new(guard: Arc<Guard>, resolver: Arc<dyn Resolver>) -> Self {
        Self { guard, resolver }
    }

    async fn dial(self, to: Uri) -> Result<TokioIo<TcpStream>, DialError> {
        let host = to.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let default = if to.scheme_str() == Some("https") { 443 } else { 80 };
        let port = to.port_u16().unwrap_or(default);
        let addresses = self.addresses(host).await?;
        // A forbidden address among allowed ones is an attack or a mistake; none of them is tried.
        for &address in &addresses {
            self.guard.connect(host, address, port)?;
        }
        connect(host, &addresses, port).await
    }

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, DialError> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        let failed = |error| DialError::Failed(format!("`{host}` cannot be resolved: {error}"));
        self.resolver.look_up(host).await.map_err(failed)
    }
}

async fn connect(
    host: &str,
    addresses: &[IpAddr],
    port: u16,
) -> Result<TokioIo<TcpStream>, DialError> {
    let mut reason = "it has no address".to_owned();
    for &address in addresses {
        let connecting = TcpStream::connect(SocketAddr::new(address, port));
        match tokio::time::timeout(PATIENCE, connecting).await {
            Ok(Ok(stream)) => {
                // A failure costs only speed.
                let _ = stream.set_nodelay(true);
                return Ok(TokioIo::new(stream));
            }
            Ok(Err(error)) => reason = error.to_string(),
            Err(_) => reason = format!("no connection within {} s", PATIENCE.as_secs()),
        }
    }
    Err(DialError::Failed(format!("`{host}` (port {port}) cannot be reached: {reason}")))
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = DialError;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        self.clone().dial(to).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use dsrs_config::Destination;

    /// Answers lookups from a list, one after the other, like a name server that changes its answers.
    struct Fickle(Mutex<Vec<Vec<IpAddr>>>);

    impl Resolver for Fickle {
        fn look_up<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            let answer = self.0.lock().unwrap().remove(0);
            async move { Ok(answer) }.boxed()
        }
    }

    fn dial(allow: &[&str], answers: &[&[&str]]) -> (Dial, Arc<Fickle>) {
        let allowed = allow.iter().map(|entry| Destination::read(entry).unwrap()).collect();
        let answer = |texts: &&[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let names = Arc::new(Fickle(Mutex::new(answers.iter().map(answer).collect())));
        (Dial::new(Arc::new(Guard::new("tools.allow", allowed)), names.clone()), names)
    }

    async fn refusal(allow: &[&str], answers: &[&[&str]]) -> String {
        let (dial, _) = dial(allow, answers);
        match dial.dial(Uri::from_static("http://public.example/")).await {
            Err(DialError::Refused(refused)) => refused.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn an_allowed_name_that_resolves_to_loopback_is_refused() {
        for address in ["127.0.0.1", "::1", "::ffff:10.0.0.1", "169.254.169.254"] {
            let refused = refusal(&["public.example", "*"], &[&[address]]).await;
            assert!(refused.contains("not a public address"), "{refused}");
        }
    }

    #[tokio::test]
    async fn one_private_address_among_public_ones_refuses_all() {
        refusal(&["*"], &[&["1.1.1.1", "127.0.0.1"]]).await;
    }

    #[tokio::test]
    async fn a_name_is_resolved_once_and_the_checked_address_is_used() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        // The second answer would be refused, but no second lookup happens.
        let (dial, names) = dial(&[&format!("{address}")], &[&["127.0.0.1"], &["10.0.0.1"]]);
        let to = format!("http://public.example:{}/", address.port()).parse().unwrap();
        dial.dial(to).await.unwrap();
        assert_eq!(names.0.lock().unwrap().len(), 1);
    }
}
