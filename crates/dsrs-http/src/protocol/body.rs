//! Request bodies: media type, size, JSON, and the collecting reader over them. Knows no resource.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRef, FromRequest, Request};
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use dsrs::document::{Change, read_document};
use dsrs::problem::Problems;
use dsrs::read::{Object, read_object};
use dsrs::value::{ParsedJson, Payload, parse_json};
use facet::Facet;
use http_body_util::BodyExt;

use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use dsrs_app::{Capacity, CapacityExceeded, CapacityShare};

/// How much of a body over the limit is read and discarded, so that the client can read the answer
/// instead of getting a closed connection.
const DRAINED_BYTES: u64 = 64 << 20;

/// How long a body may take to arrive, so that a slow client cannot hold a request open.
const LONGEST_ARRIVAL: Duration = Duration::from_secs(60);

/// How many seconds later a client may try again if there is no memory for its body.
const RETRY_AFTER: u64 = 1;

/// The largest body that is read, and the memory for all bodies.
#[derive(Clone, Debug)]
pub struct BodyLimit {
    pub(crate) bytes: usize,
    pub(crate) memory: Arc<Capacity>,
}

/// A JSON body.
#[derive(Debug)]
pub struct Document {
    /// Its content.
    pub parsed: ParsedJson,
    /// Its memory, if no [`PostedBody`] has it.
    _permit: Option<CapacityShare>,
}

/// A body that has arrived, and its content. Routes with idempotency keys extract it even if it is
/// refused, because the refusal is stored for the key, too.
#[derive(Debug)]
pub(crate) struct PostedBody {
    /// Its bytes; for a body over the limit, its beginning, which is over the limit, too.
    pub(crate) bytes: Bytes,
    /// Its content, or why it cannot be read.
    pub(crate) document: Result<Document, ApiProblem>,
    /// Its memory. To be dropped when the request is answered.
    pub(crate) permit: CapacityShare,
}

impl Document {
    /// Reads the members of the object that the body has to be. Returns the result together with the
    /// problems found so far, to be reported together with those of further checks.
    ///
    /// # Errors
    /// `invalid_request` with all problems, if too little could be read for further checks.
    pub(crate) fn read<'v, T>(
        &'v self,
        read: impl FnOnce(&mut Object<'v, '_, '_>) -> Option<T>,
    ) -> Result<(T, Problems), ApiProblem> {
        read_object(&self.parsed, read).map_err(refusal)
    }

    /// Reads a document that is checked further; its problems so far are reported together with those.
    ///
    /// # Errors
    /// `invalid_request` with all problems, if a member that every document has is missing or cannot be read.
    pub fn request<T: Facet<'static>>(&self) -> Result<(T, Problems), ApiProblem> {
        let ParsedJson { payload, duplicates } = &self.parsed;
        read_document(payload, duplicates.clone()).map_err(refusal)
    }

    /// Reads a document that needs no further checks.
    pub(crate) fn complete<T: Facet<'static>>(&self) -> Result<T, ApiProblem> {
        let (document, problems) = self.request()?;
        problems.or(document).map_err(refusal)
    }

    /// Reads a document that is to be created.
    pub(crate) fn new_document<T: Facet<'static>>(&self) -> Result<Change<T>, ApiProblem> {
        self.change(Change::read_new)
    }

    /// The same for a document that is checked further although members are missing.
    pub(crate) fn draft<T: Facet<'static>>(&self) -> Result<Change<T>, ApiProblem> {
        self.change(Change::read_draft)
    }

    /// Reads a change of a document.
    pub(crate) fn patch<T: Facet<'static>>(&self) -> Result<Change<T>, ApiProblem> {
        self.change(Change::read_patch)
    }

    fn change<T>(
        &self,
        read: fn(&Payload, Problems) -> Result<Change<T>, Problems>,
    ) -> Result<Change<T>, ApiProblem> {
        let ParsedJson { payload, duplicates } = &self.parsed;
        read(payload, duplicates.clone()).map_err(refusal)
    }
}

fn refusal(problems: Problems) -> ApiProblem {
    ApiProblem::of(ProblemCode::InvalidRequest, problems)
}

impl<S> FromRequest<S> for Document
where
    S: Send + Sync,
    BodyLimit: FromRef<S>,
{
    type Rejection = ApiProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiProblem> {
        declared_json(request.headers())?;
        let PostedBody { document, permit, .. } = PostedBody::from_request(request, state).await?;
        document.map(|document| Self { _permit: Some(permit), ..document })
    }
}

impl<S> FromRequest<S> for PostedBody
where
    S: Send + Sync,
    BodyLimit: FromRef<S>,
{
    type Rejection = ApiProblem;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiProblem> {
        let declared = declared_json(request.headers());
        let body_limit = BodyLimit::from_ref(state);
        let limit = body_limit.bytes;
        let (bytes, permit) = receive_within(request, &body_limit).await?;
        let document = match declared {
            Ok(()) if bytes.len() > limit => Err(too_large(limit, "limits.body_bytes")),
            Ok(()) => parse(&bytes),
            Err(problem) => Err(problem),
        };
        Ok(Self { bytes, document, permit })
    }
}

/// Refuses a body that is not declared as plain JSON.
fn declared_json(headers: &HeaderMap) -> Result<(), ApiProblem> {
    declared(headers, "application/json", |essence| is_json(essence).then_some(()))
}

/// The declared format of a body. `wanted` names the accepted media types; `read` receives the media
/// type in lower case, without parameters.
pub(crate) fn declared<T>(
    headers: &HeaderMap,
    wanted: &str,
    read: impl FnOnce(&[u8]) -> Option<T>,
) -> Result<T, ApiProblem> {
    let declared = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes());
    let essence = declared.map(|media_type| {
        let essence = media_type.split(|byte| *byte == b';').next().unwrap_or_default();
        essence.trim_ascii().to_ascii_lowercase()
    });
    let Some(form) = essence.and_then(|essence| read(&essence)) else {
        let found = declared.map(String::from_utf8_lossy).unwrap_or("nothing".into());
        let detail = format!("`Content-Type` must be {wanted}, found {found}");
        return Err(ApiProblem::new(ProblemCode::UnsupportedMediaType, detail));
    };
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.as_bytes());
    if encoding.is_some_and(|encoding| !encoding.eq_ignore_ascii_case(b"identity")) {
        let detail = "`Content-Encoding` is not supported; send the body as it is";
        return Err(ApiProblem::new(ProblemCode::UnsupportedMediaType, detail));
    }
    Ok(form)
}

/// Whether a media type is one of JSON.
pub(crate) fn is_json(essence: &[u8]) -> bool {
    essence == b"application/json"
        || (essence.starts_with(b"application/") && essence.ends_with(b"+json"))
}

/// Receives a body within [`LONGEST_ARRIVAL`]. Of one over the limit, the beginning is returned, which is over the
/// limit, too.
pub(crate) async fn receive_within(
    request: Request,
    limit: &BodyLimit,
) -> Result<(Bytes, CapacityShare), ApiProblem> {
    let arriving = receive(request, limit.bytes, &limit.memory);
    let arrived = tokio::time::timeout(LONGEST_ARRIVAL, arriving).await;
    arrived.unwrap_or_else(|_| Err(too_slow(LONGEST_ARRIVAL)))
}

/// Receives a body into the memory for bodies. One that does not fit is discarded as it arrives,
/// unless the client waits for permission to send it.
async fn receive(
    request: Request,
    limit: usize,
    memory: &Arc<Capacity>,
) -> Result<(Bytes, CapacityShare), ApiProblem> {
    let workspace = Caller::workspace_of(&request);
    let is_sent_unasked = !request.headers().contains_key(header::EXPECT);
    let mut body = request.into_body();
    let expected = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    let mut permit = memory.share(workspace);
    // Only the bytes that arrive are counted, but a body that does not fit now is refused before it is read.
    let refused = match memory.check(workspace, expected.min(limit) as u64) {
        Ok(()) => match read_bytes(&mut body, limit, &mut permit).await? {
            Ok(bytes) => return Ok((bytes, permit)),
            Err(refused) => refused,
        },
        Err(refused) => refused,
    };
    let refused = refused.of_body_memory();
    if is_sent_unasked {
        drain(&mut body).await;
    }
    Err(ApiProblem::new(ProblemCode::Unavailable, refused.to_string()).retry_after(RETRY_AFTER))
}

/// The body, or that it does not fit in memory; of one over the limit, only enough to exceed it.
async fn read_bytes(
    body: &mut Body,
    limit: usize,
    permit: &mut CapacityShare,
) -> Result<Result<Bytes, CapacityExceeded>, ApiProblem> {
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let data = frame.map_err(|error| broken_off(&error))?.into_data().unwrap_or_default();
        if let Err(full) = permit.grow(data.len() as u64) {
            return Ok(Err(full));
        }
        if whole.is_empty() && data.len() <= limit && body.is_end_stream() {
            return Ok(Ok(data));
        }
        // A piece is a part of a read buffer: as long as it exists, the whole buffer stays in memory.
        whole.extend_from_slice(&data);
        if whole.len() > limit {
            drain(body).await;
            break;
        }
    }
    Ok(Ok(whole.freeze()))
}

/// The problem of a body that was interrupted.
pub(crate) fn broken_off(error: &axum::Error) -> ApiProblem {
    tracing::debug!(%error, "the body was interrupted");
    ApiProblem::new(ProblemCode::InvalidJson, "the body was interrupted before its end")
}

/// Reads and discards the rest of a body, up to a limit.
pub(crate) async fn drain(body: &mut Body) {
    let mut left = DRAINED_BYTES;
    while let Some(Ok(frame)) = body.frame().await {
        let size = frame.data_ref().map_or(0, |data| data.len() as u64);
        match left.checked_sub(size) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The problem of a body over a limit. `setting` names the limit.
pub(crate) fn too_large(limit: usize, setting: &str) -> ApiProblem {
    let detail = format!("the body is over the limit of {limit} bytes (`{setting}`)");
    ApiProblem::new(ProblemCode::TooLarge, detail)
}

/// The problem of a body that took too long.
pub(crate) fn too_slow(longest: Duration) -> ApiProblem {
    let seconds = longest.as_secs();
    let detail = format!("the body did not arrive within {seconds} s; send it again");
    ApiProblem::new(ProblemCode::RequestTimeout, detail)
}

/// A document from its text.
pub fn parse(bytes: &[u8]) -> Result<Document, ApiProblem> {
    let parsed = parse_json(bytes)
        .map_err(|error| ApiProblem::new(ProblemCode::InvalidJson, error.to_string()))?;
    Ok(Document { parsed, _permit: None })
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    fn limit_of_16() -> BodyLimit {
        BodyLimit { bytes: 16, memory: Capacity::new(1 << 20, None) }
    }

    async fn refusal(content_type: &str, body: &'static str) -> (ProblemCode, String) {
        let request = Request::builder()
            .header(header::CONTENT_TYPE, content_type)
            .body(Body::from(body))
            .unwrap();
        let problem = Document::from_request(request, &limit_of_16()).await.unwrap_err();
        (problem.code(), problem.detail().to_owned())
    }

    #[tokio::test]
    async fn the_refusal_of_an_unreadable_body_names_the_reason() {
        let cases = [
            ("text/plain", "{}", ProblemCode::UnsupportedMediaType, "found text/plain"),
            ("application/json", "{\"a\": ,}", ProblemCode::InvalidJson, "line 1, column 7"),
            ("application/json", "", ProblemCode::InvalidJson, "line 1"),
            ("application/json", "[1, 2, 3, 4, 5, 6]", ProblemCode::TooLarge, "16 bytes"),
        ];
        for (content_type, body, code, part) in cases {
            let (found, detail) = refusal(content_type, body).await;
            assert_eq!(found, code, "{body}");
            assert!(detail.contains(part), "{detail}");
        }
    }

    #[tokio::test]
    async fn json_with_a_charset_is_json() {
        let request = Request::builder()
            .header(header::CONTENT_TYPE, "application/json; charset=utf-8")
            .body(Body::from("{\"a\":1.0}"))
            .unwrap();
        let document = Document::from_request(request, &limit_of_16()).await.unwrap();
        assert_eq!(document.parsed.payload.to_json(), "{\"a\":1.0}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_refused() {
        let start = futures_util::stream::iter([Ok::<_, std::io::Error>("{\"a\":")]);
        let body = Body::from_stream(start.chain(futures_util::stream::pending()));
        let request = Request::builder().header(header::CONTENT_TYPE, "application/json");
        let request = request.body(body).unwrap();
        let problem = Document::from_request(request, &limit_of_16()).await.unwrap_err();
        assert_eq!(problem.code(), ProblemCode::RequestTimeout);
    }
}
