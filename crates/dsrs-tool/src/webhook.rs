//! The HTTP client of webhooks: one `POST` to a destination that the guard allows, without redirects, within a time
//! limit. Of the response it reads the beginning. Knows no signature and no events.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Response};
use tokio::time::timeout;
use url::Url;

use super::fetch::{AGENT, Fetch, FetchError, FetchRequest};
use super::guard::Guard;
use dsrs_config::Destination;

/// The bytes of a response that are read.
const READ_BYTES: usize = 1024;

/// The time in which the body of a response must arrive; its status has arrived by then.
const BODY_TIME: Duration = Duration::from_secs(2);

/// Sends messages.
pub struct WebhookClient {
    fetch: Fetch,
}

/// The response of a receiver.
#[derive(Debug)]
pub struct WebhookAnswer {
    pub status: u16,
    /// The seconds in its `Retry-After`.
    pub retry_after: Option<u64>,
    /// The beginning of its body.
    pub body: Vec<u8>,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum WebhookFailure {
    /// The receiver did not answer in time.
    #[error("no answer within {} ms", .0.as_millis())]
    Late(Duration),
    /// The guard refused, or the connection failed.
    #[error("{0}")]
    Failed(String),
}

impl WebhookClient {
    /// A client that reaches these destinations. Connects to nothing yet.
    #[must_use]
    pub fn new(allow: Vec<Destination>) -> Self {
        Self { fetch: Fetch::new(Guard::new("webhooks.allow", allow)) }
    }

    /// Whether a URL may be a destination.
    ///
    /// # Errors
    /// The reason of the guard.
    pub fn admit(&self, url: &Url) -> Result<(), String> {
        self.fetch.admit(url).map_err(|refused| refused.to_string())
    }

    /// Sends a JSON body with further headers.
    ///
    /// # Errors
    /// If no response arrives within the limit.
    pub async fn post(
        &self,
        url: Url,
        headers: &[(&'static str, String)],
        body: String,
        limit: Duration,
    ) -> Result<WebhookAnswer, WebhookFailure> {
        let mut fields = HeaderMap::new();
        fields.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        fields.insert(USER_AGENT, AGENT);
        for (name, value) in headers {
            let value = HeaderValue::from_str(value)
                .map_err(|error| WebhookFailure::Failed(error.to_string()))?;
            fields.insert(HeaderName::from_static(name), value);
        }
        let request = FetchRequest {
            method: Method::POST,
            url,
            headers: fields,
            secret_headers: Vec::new(),
            body: Some(Bytes::from(body)),
        };
        match timeout(limit, self.fetch.send(&request)).await {
            Ok(Ok(response)) => Ok(read(response).await),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(WebhookFailure::Late(limit)),
        }
    }
}

fn failed(error: &FetchError) -> WebhookFailure {
    WebhookFailure::Failed(error.to_string())
}

/// The status counts, whatever becomes of the body.
async fn read(response: Response<Incoming>) -> WebhookAnswer {
    let (head, mut body) = response.into_parts();
    let seconds = head.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let mut answer = WebhookAnswer {
        status: head.status.as_u16(),
        retry_after: seconds.and_then(|text| text.trim().parse().ok()),
        body: Vec::new(),
    };
    let reading = async {
        while answer.body.len() < READ_BYTES {
            let Some(Ok(frame)) = body.frame().await else { break };
            let Ok(data) = frame.into_data() else { continue };
            let room = READ_BYTES - answer.body.len();
            answer.body.extend_from_slice(data.get(..room).unwrap_or(&data));
        }
    };
    // What has not arrived by then is left out.
    let _ = timeout(BODY_TIME, reading).await;
    answer
}
