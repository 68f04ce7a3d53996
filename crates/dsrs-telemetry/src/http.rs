//! A collector that is reached over HTTP (`http/protobuf`). Knows status codes, not what requests contain.

use std::io::Write as _;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use chrono::DateTime;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Response};
use tokio::time::timeout;

use super::answer::{ExportAnswer, ExportFailure};
use dsrs_config::TelemetryConfig;

/// How much of an answer is read.
const LONGEST_ANSWER: usize = 64 * 1024;

/// How long the body of an answer is read.
const LONGEST_READ: Duration = Duration::from_secs(1);

const GZIP: HeaderValue = HeaderValue::from_static("gzip");
const PROTOBUF: HeaderValue = HeaderValue::from_static("application/x-protobuf");

/// The address, with what every request has.
pub(super) struct HttpCollector {
    client: Client,
    url: reqwest::Url,
    headers: HeaderMap,
    compressed: bool,
}

impl HttpCollector {
    pub(super) fn new(config: &TelemetryConfig) -> Result<Self, String> {
        let client = Client::builder()
            .tls_backend_preconfigured(dsrs::lm::tls()?)
            .user_agent(concat!("dsrs-server/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| error.to_string())?;
        let mut headers = headers(config)?;
        headers.insert(CONTENT_TYPE, PROTOBUF);
        if config.compressed {
            headers.insert(CONTENT_ENCODING, GZIP);
        }
        let (url, compressed) = (config.endpoint.clone(), config.compressed);
        Ok(Self { client, url, headers, compressed })
    }

    pub(super) fn body(&self, request: Bytes) -> Bytes {
        if !self.compressed {
            return request;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        // Writing to memory does not fail.
        let compressed = encoder.write_all(&request).and_then(|()| encoder.finish());
        compressed.unwrap_or_default().into()
    }

    pub(super) async fn send(&self, body: Bytes) -> Result<ExportAnswer, ExportFailure> {
        let post = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let answer = post.send().await.map_err(|error| ExportFailure::of_connection(&error))?;
        if answer.status().is_success() {
            return Ok(ExportAnswer::read(&read(answer).await));
        }
        let status = answer.status().as_u16();
        let pause = answer.headers().get(RETRY_AFTER).and_then(wait);
        // The connection can be used again when the answer is read.
        let _ = read(answer).await;
        let reason = format!("the collector answered with status {status}");
        Err(ExportFailure { reason, is_passing: passes(status), pause })
    }
}

/// Those that OTLP names.
const fn passes(status: u16) -> bool {
    matches!(status, 429 | 502 | 503 | 504)
}

/// A number of seconds, or a date.
fn wait(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    text.parse().ok().map(Duration::from_secs).or_else(|| {
        let date = DateTime::parse_from_rfc2822(text).ok()?;
        SystemTime::from(date).duration_since(SystemTime::now()).ok()
    })
}

/// What can be read of an answer, up to a length and for a time: its status is known, so an answer that breaks off is no
/// failure.
async fn read(mut answer: Response) -> Vec<u8> {
    let reading = async {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = answer.chunk().await {
            if body.len() + chunk.len() > LONGEST_ANSWER {
                return Vec::new();
            }
            body.extend_from_slice(&chunk);
        }
        body
    };
    timeout(LONGEST_READ, reading).await.unwrap_or_default()
}

/// The headers of the settings.
pub(super) fn headers(config: &TelemetryConfig) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(config.headers.len() + 1);
    for (name, value) in &config.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes());
        let (Ok(name), Ok(mut value)) = (parsed, HeaderValue::from_str(value)) else {
            return Err(format!("the header `{}` is not valid", name.escape_debug()));
        };
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
