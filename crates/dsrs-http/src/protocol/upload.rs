//! Bodies that may be too large for memory: received piece by piece and spooled to an unnamed file;
//! small ones stay in memory. Knows media types and sizes, but no resource.

use std::io::{self, Seek, Write};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use http_body_util::BodyExt;
use sha2::{Digest, Sha256};

use crate::protocol::body::{broken_off, declared, drain, is_json, too_large, too_slow};
use crate::protocol::caller::Caller;
use crate::protocol::problem::ApiProblem;
use crate::protocol::status::ProblemCode;
use dsrs_app::{App, AppError, CapacityShare, SpoolFile, no_space, run_blocking};
use dsrs_config::Limits;

/// How long such a body may take to arrive.
const LONGEST_ARRIVAL: Duration = Duration::from_secs(600);

/// How many seconds later a client may try again if there is no space.
const RETRY_AFTER: u64 = 10;

/// How much is collected before it is written.
const PIECE: usize = 256 << 10;

/// The format of a body, as its media type declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadFormat {
    /// One JSON document.
    Json,
    /// One JSON document per line.
    Lines,
    /// A table with a header (RFC 4180).
    Table,
}

/// The kind of upload that a route accepts.
pub(crate) trait UploadKind: Send {
    /// The accepted media types, in words.
    const WANTED: &'static str;
    /// The setting of the limit.
    const SETTING: &'static str;

    /// The format of a media type, if it is accepted.
    fn form(essence: &[u8]) -> Option<UploadFormat>;

    /// The largest body in bytes.
    fn limit(limits: &Limits) -> usize;
}

/// The items of a batch.
#[derive(Debug)]
pub(crate) struct BatchUploadKind;

impl UploadKind for BatchUploadKind {
    const WANTED: &'static str = "application/json or application/jsonl";
    const SETTING: &'static str = "limits.batch_bytes";

    fn form(essence: &[u8]) -> Option<UploadFormat> {
        json_form(essence)
    }

    fn limit(limits: &Limits) -> usize {
        limits.batch_bytes
    }
}

/// The examples of a dataset.
#[derive(Debug)]
pub(crate) struct DatasetUploadKind;

impl UploadKind for DatasetUploadKind {
    const WANTED: &'static str = "application/json, application/jsonl or text/csv";
    const SETTING: &'static str = "limits.dataset_bytes";

    fn form(essence: &[u8]) -> Option<UploadFormat> {
        if essence == b"text/csv" { Some(UploadFormat::Table) } else { json_form(essence) }
    }

    fn limit(limits: &Limits) -> usize {
        limits.dataset_bytes
    }
}

/// A body, ready to be read from its beginning.
#[derive(Debug)]
pub(crate) struct SpooledBody {
    pub(crate) form: UploadFormat,
    pub(crate) file: SpoolFile,
}

/// A body that has arrived. Routes with idempotency keys extract it even if it is refused, because
/// the refusal is stored for the key, too.
#[derive(Debug)]
pub(crate) struct UploadedBody<T> {
    /// A hash of its bytes; for a body over the limit, of its beginning.
    pub(crate) hash: Vec<u8>,
    /// The body, or why it is refused.
    pub(crate) body: Result<SpooledBody, ApiProblem>,
    /// Its place among uploads. To be dropped when the request is answered.
    pub(crate) place: CapacityShare,
    kind: PhantomData<T>,
}

impl<T: UploadKind> FromRequest<Arc<App>> for UploadedBody<T> {
    type Rejection = ApiProblem;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiProblem> {
        let form = declared(request.headers(), T::WANTED, T::form);
        let limit = (T::limit(&app.limits), T::SETTING);
        let workspace = Caller::workspace_of(&request);
        let full = |error: AppError| ApiProblem::from(error).retry_after(RETRY_AFTER);
        let place = app.spool.place(workspace).map_err(full)?;
        let arriving = spool(request.into_body(), limit, app.spool.file(workspace));
        let arrived = tokio::time::timeout(LONGEST_ARRIVAL, arriving).await;
        let (spool, fits) = arrived.unwrap_or_else(|_| Err(too_slow(LONGEST_ARRIVAL)))?;
        let body = form.and_then(|form| fits.map(|()| SpooledBody { form, file: spool.file }));
        Ok(Self { hash: spool.hash.finalize().to_vec(), body, place, kind: PhantomData })
    }
}

fn json_form(essence: &[u8]) -> Option<UploadFormat> {
    let lines = [&b"application/jsonl"[..], b"application/x-ndjson", b"application/x-jsonlines"];
    if lines.contains(&essence) {
        return Some(UploadFormat::Lines);
    }
    is_json(essence).then_some(UploadFormat::Json)
}

struct Spool {
    file: SpoolFile,
    hash: Sha256,
}

impl Spool {
    fn write(mut self, piece: &[u8]) -> io::Result<Self> {
        self.hash.update(piece);
        self.file.write_all(piece)?;
        Ok(self)
    }

    fn rewind(mut self) -> io::Result<Self> {
        self.file.rewind()?;
        Ok(self)
    }
}

/// Receives a body, and checks its size against the limit.
async fn spool(
    mut body: Body,
    (limit, setting): (usize, &str),
    file: SpoolFile,
) -> Result<(Spool, Result<(), ApiProblem>), ApiProblem> {
    let mut spool = Spool { file, hash: Sha256::new() };
    let (mut piece, mut size, mut fits) = (Vec::new(), 0, Ok(()));
    while let Some(frame) = body.frame().await {
        let data = frame.map_err(|error| broken_off(&error))?.into_data().unwrap_or_default();
        size += data.len();
        if size > limit {
            drain(&mut body).await;
            fits = Err(too_large(limit, setting));
            break;
        }
        piece.extend_from_slice(&data);
        if piece.len() >= PIECE {
            let full = std::mem::take(&mut piece);
            spool = write_blocking(move || spool.write(&full)).await?;
        }
    }
    let spool = write_blocking(move || spool.write(&piece)?.rewind()).await?;
    Ok((spool, fits))
}

/// Writes on a thread that may block.
async fn write_blocking(
    write: impl FnOnce() -> io::Result<Spool> + Send + 'static,
) -> Result<Spool, ApiProblem> {
    match run_blocking(write).await {
        Some(Ok(spool)) => Ok(spool),
        Some(Err(error)) => {
            let detail = no_space(&error).to_string();
            Err(ApiProblem::new(ProblemCode::Unavailable, detail).retry_after(RETRY_AFTER))
        }
        None => Err(AppError::Internal("storing a body panicked".to_owned()).into()),
    }
}

/// An empty file, of a test.
#[cfg(test)]
pub(super) fn empty_file() -> SpoolFile {
    use dsrs_config::UploadConfig;

    let space = dsrs_app::SpoolSpace::new(&UploadConfig {
        directory: "/tmp".into(),
        max_spool_bytes: u64::MAX,
        max_spool_bytes_per_workspace: None,
        max_concurrent: 1,
        max_concurrent_per_workspace: None,
    });
    space.file(uuid::Uuid::nil())
}
