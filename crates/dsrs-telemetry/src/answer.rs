//! What collectors answer. Knows the messages of OTLP, not how they arrive.

use std::error::Error;
use std::time::Duration;

use prost::Message;

/// How much of a message of a collector is reported.
const LONGEST_MESSAGE: usize = 200;

/// Why a request was not accepted.
pub(super) struct ExportFailure {
    /// Without the address, which may contain a key.
    pub(super) reason: String,
    /// Whether the same request may be accepted later.
    pub(super) is_passing: bool,
    /// When the collector asks to be asked again.
    pub(super) pause: Option<Duration>,
}

/// `ExportTraceServiceResponse`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct ExportAnswer {
    #[prost(message, optional, tag = "1")]
    partial: Option<PartialSuccess>,
}

/// `ExportTracePartialSuccess`.
#[derive(Clone, PartialEq, Eq, Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected: i64,
    #[prost(string, tag = "2")]
    pub(super) message: String,
}

impl ExportAnswer {
    /// Reads the body of an answer. One that cannot be read is no reason to send spans twice.
    pub(super) fn read(body: &[u8]) -> Self {
        Self::decode(body).unwrap_or_default()
    }

    /// What the collector has not taken, or says of spans that it has taken.
    pub(super) fn partial(self) -> Option<PartialSuccess> {
        let mut partial = self.partial?;
        partial.message = shortened(&partial.message);
        (partial.rejected > 0 || !partial.message.is_empty()).then_some(partial)
    }
}

impl ExportFailure {
    /// The collector was not reached, or the connection broke.
    pub(super) fn of_connection(error: &(dyn Error + 'static)) -> Self {
        let mut cause = error;
        while let Some(below) = cause.source() {
            cause = below;
        }
        Self { reason: cause.to_string(), is_passing: true, pause: None }
    }
}

/// The begin of a message of a collector, on one line.
pub(super) fn shortened(message: &str) -> String {
    let printed = message.chars().map(|c| if c.is_control() { ' ' } else { c });
    printed.take(LONGEST_MESSAGE).collect()
}
