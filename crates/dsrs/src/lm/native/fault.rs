//! Translates the errors of the library: their kind, the message of the provider, the time to wait.
//! Messages of the library that contain requests or answers are not passed on.

use std::error::Error;
use std::time::Duration;

use genai::{Error as NativeError, webc};
use hyper::header::HeaderMap;
use serde_json::Value;

use super::end_notes::EndNotes;
use crate::lm::http::root_cause;
use crate::lm::param_support::ParamTrial;
use crate::lm::{ExtraHeaders, LmError, LmErrorKind, LmParams, LmRequest, failure, failure_kind};

/// A request that failed.
pub(super) struct Fault {
    detail: FaultDetail,
    status: Option<u16>,
    retry_after: Option<Duration>,
}

/// The description of a failure.
enum FaultDetail {
    /// A message of this client.
    Message(LmErrorKind, String),
    /// The body of the provider's answer.
    Body(Vec<u8>),
}

impl Fault {
    /// A failure with a message.
    pub(super) fn new(kind: LmErrorKind, what: String) -> Self {
        Self { detail: FaultDetail::Message(kind, what), status: None, retry_after: None }
    }

    /// The provider generated nothing, because the prompt was blocked.
    pub(super) fn blocked(notes: &EndNotes) -> Option<Self> {
        let reason = notes.blocked.as_ref()?;
        let explanation = notes
            .explanation
            .as_ref()
            .map_or_else(String::new, |explanation| format!(": {explanation}"));
        let what = format!("the prompt was blocked (`{reason}`){explanation}");
        Some(Self::new(LmErrorKind::Filtered, what))
    }

    /// An error of the library.
    pub(super) fn of(error: &NativeError) -> Self {
        match error {
            NativeError::HttpError { status, body, headers, .. } => {
                Self::answered(status.as_u16(), headers, body)
            }
            NativeError::WebModelCall { webc_error, .. }
            | NativeError::WebAdapterCall { webc_error, .. } => Self::called(webc_error),
            NativeError::WebStream { error, .. } => Self::streamed(&**error),
            NativeError::ChatResponse { body, .. } => Self::late(body),
            NativeError::ChatResponseGeneration { cause, response_body, .. } => {
                if failure_kind::error_in(response_body).is_some() {
                    return Self::late(response_body);
                }
                Self::blocked(&EndNotes::of(response_body))
                    .unwrap_or_else(|| Self::malformed(cause))
            }
            NativeError::NoChatResponse { .. }
            | NativeError::InvalidJsonResponseElement { .. }
            | NativeError::StreamParse { .. }
            | NativeError::JsonValueExt(_)
            | NativeError::SerdeJson(_) => Self::malformed(&error.to_string()),
            other => Self::new(LmErrorKind::Refused, format!("not sent: {other}")),
        }
    }

    fn called(error: &webc::Error) -> Self {
        match error {
            webc::Error::ResponseFailedStatus { status, body, headers } => {
                Self::answered(status.as_u16(), headers, body)
            }
            webc::Error::ResponseFailedNotJson { content_type, .. } => {
                Self::malformed(&format!("it is `{content_type}`, not JSON"))
            }
            webc::Error::ResponseFailedInvalidJson { cause, .. } => Self::malformed(cause),
            webc::Error::JsonValueExt(error) => Self::malformed(&error.to_string()),
            webc::Error::Reqwest(error) => Self::transport(error),
        }
    }

    fn streamed(error: &(dyn Error + Send + Sync + 'static)) -> Self {
        if let Some(error) = error.downcast_ref::<NativeError>() {
            return Self::of(error);
        }
        match error.downcast_ref::<reqwest::Error>() {
            Some(error) => Self::transport(error),
            None => Self::malformed(&error.to_string()),
        }
    }

    fn answered(status: u16, headers: &HeaderMap, body: &str) -> Self {
        Self {
            detail: FaultDetail::Body(body.as_bytes().to_vec()),
            status: Some(status),
            retry_after: failure::retry_after(headers),
        }
    }

    /// A failure after the first events of an answer.
    fn late(body: &Value) -> Self {
        let detail = FaultDetail::Body(body.to_string().into_bytes());
        Self { detail, status: None, retry_after: None }
    }

    fn malformed(why: &str) -> Self {
        Self::new(LmErrorKind::Malformed, format!("the answer cannot be read: {why}"))
    }

    fn transport(error: &reqwest::Error) -> Self {
        let why = root_cause(error);
        let what = if error.is_connect() {
            format!("no connection: {why}")
        } else {
            format!("the connection was lost: {why}")
        };
        Self::new(LmErrorKind::Connection, what)
    }

    /// Whether the provider refused a setting that was sent. Then the request may succeed without it.
    pub(super) fn teaches(&self, trial: &mut ParamTrial<'_>, sent: &LmParams) -> bool {
        match (&self.detail, self.status) {
            (FaultDetail::Body(body), Some(status)) => trial.learn(status, body, sent),
            _ => false,
        }
    }

    /// The failure as an error of the model at the host.
    pub(super) fn into_error(
        self,
        model: &str,
        host: &str,
        key: Option<&str>,
        request: &LmRequest,
    ) -> LmError {
        let extra = request.params.extra_headers.iter().flat_map(ExtraHeaders::iter);
        let secrets = extra.map(|(_, value)| value).chain(key);
        let (kind, what) = match self.detail {
            FaultDetail::Message(kind, what) => (kind, what),
            FaultDetail::Body(body) => {
                (kind(self.status, &body, request), message(self.status, &body, secrets))
            }
        };
        let message = format!("model {model} at {host}: {what}");
        LmError { kind, message, status: self.status, retry_after: self.retry_after }
    }
}

fn kind(status: Option<u16>, body: &[u8], request: &LmRequest) -> LmErrorKind {
    match status {
        Some(status) => failure_kind::of_answer(status, body, Some(request)),
        None => failure_kind::of_error(body, Some(request)),
    }
}

fn message<'s>(
    status: Option<u16>,
    body: &[u8],
    secrets: impl IntoIterator<Item = &'s str>,
) -> String {
    let status = status.map_or_else(|| "a failure".to_owned(), failure::status_line);
    let words = failure::provider_message(body, secrets);
    format!("answered {status}{}", words.map_or_else(String::new, |words| format!(": {words}")))
}
