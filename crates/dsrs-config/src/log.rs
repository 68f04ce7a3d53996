//! What is logged, and in which form. Knows no other setting.

use std::time::Duration;

/// What is logged, and how.
#[derive(Clone, Debug)]
pub struct LogConfig {
    /// The filter, in the syntax of `RUST_LOG`.
    pub filter: String,
    /// The form of a line.
    pub format: LogFormat,
    /// From when on a request is slow.
    pub slow_request: Duration,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    Pretty,
    /// One JSON object on each line.
    Json,
}

impl LogFormat {
    /// The words of the setting.
    pub(super) const WORDS: &[&str] = &["pretty", "json"];

    pub(super) fn find(word: &str) -> Option<Self> {
        match word {
            "pretty" => Some(Self::Pretty),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}
