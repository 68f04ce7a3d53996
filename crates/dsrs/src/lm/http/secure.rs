//! Posts over TLS to one address, with HTTP/2 if the server supports it. hyper-util's client pools the
//! connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use futures_util::stream::{StreamExt, try_unfold};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Response, Uri, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect::{Route, connect_error};
use super::connection::LONGEST_HEAD;
use super::{
    HttpAnswer, HttpError, HttpLimits, HttpPost, HttpStream, is_events, lost, next_piece, read,
};

/// Connections to one address.
pub(in crate::lm) struct SecureClient {
    client: Client<HttpsConnector<Route>, Full<Bytes>>,
    address: Uri,
    headers: HeaderMap,
    answer_bytes: usize,
    /// One for each request, as HTTP/1 has one connection for each.
    permits: Arc<Semaphore>,
    /// Whether the server speaks HTTP/2, which has one connection for all requests.
    is_multiplexed: AtomicBool,
}

impl SecureClient {
    /// A client of an `https` address that sends these headers with every request.
    pub(super) fn new(
        address: Uri,
        headers: HeaderMap,
        proxy: Option<&Intercept>,
        tls: ClientConfig,
        limits: &HttpLimits,
    ) -> Self {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_only()
            .enable_http1()
            .enable_http2()
            .wrap_connector(Route::secure(proxy, limits));
        let connections = limits.connections.clamp(1, Semaphore::MAX_PERMITS);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(limits.idle_timeout)
            .pool_max_idle_per_host(connections)
            .http1_max_buf_size(LONGEST_HEAD)
            .build(connector);
        Self {
            client,
            address,
            headers,
            answer_bytes: limits.answer_bytes,
            permits: Arc::new(Semaphore::new(connections)),
            is_multiplexed: AtomicBool::new(false),
        }
    }

    /// Posts a body.
    pub(super) async fn post(&self, request: HttpPost<'_>) -> Result<HttpAnswer, HttpError> {
        let (response, _permit) = self.send(request).await?;
        read(response, self.answer_bytes).await
    }

    /// Posts a body and streams the body of the answer.
    pub(super) async fn open(&self, request: HttpPost<'_>) -> Result<HttpStream<'_>, HttpError> {
        let (response, permit) = self.send(request).await?;
        let (head, body) = response.into_parts();
        let is_events = head.headers.get(CONTENT_TYPE).is_some_and(is_events);
        let pieces = try_unfold((body, permit), |(mut body, permit)| async move {
            let piece = next_piece(&mut body).await?;
            Ok(piece.map(|piece| (piece, (body, permit))))
        });
        let body = pieces.boxed();
        Ok(HttpStream { status: head.status.as_u16(), headers: head.headers, is_events, body })
    }

    async fn send(
        &self,
        request: HttpPost<'_>,
    ) -> Result<(Response<Incoming>, Option<OwnedSemaphorePermit>), HttpError> {
        let mut permit = None;
        if !self.is_multiplexed.load(Ordering::Relaxed) {
            permit = self.permits.clone().acquire_owned().await.ok();
        }
        let response =
            self.client.request(request.into_request(&self.address, &self.headers)).await;
        let response = response.map_err(|error| {
            if error.is_connect() { connect_error(&error) } else { lost(&error) }
        })?;
        let is_multiplexed = response.version() == Version::HTTP_2;
        self.is_multiplexed.store(is_multiplexed, Ordering::Relaxed);
        Ok((response, permit.filter(|_| !is_multiplexed)))
    }
}
