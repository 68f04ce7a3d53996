//! Problem documents as a client reads them.

use std::fmt;

use serde::Deserialize;

/// A problem document of the server. Members that are missing are empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerProblem {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The stable code.
    pub(crate) code: String,
    /// What happened.
    pub(crate) detail: String,
    /// Every place that is wrong.
    pub(crate) errors: Vec<ProblemPlace>,
    /// The id of the request.
    pub(crate) request_id: Option<String>,
}

/// One place that is wrong.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProblemPlace {
    /// A JSON Pointer into the request.
    pub(crate) pointer: String,
    /// The stable code.
    pub(crate) code: String,
    /// What is wrong.
    pub(crate) detail: String,
}

impl ServerProblem {
    /// One line for each place that is wrong, or the only line.
    pub(crate) fn lines(&self) -> Vec<String> {
        if self.errors.is_empty() {
            let request = self.request_id.as_deref().filter(|_| self.status >= 500);
            let request = request.map(|id| format!(", request {id}")).unwrap_or_default();
            return vec![format!("{} ({}{request})", self.detail, self.code)];
        }
        self.errors.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines().join("\n"))
    }
}

impl fmt::Display for ProblemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pointer = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        write!(f, "{pointer}: {} ({})", self.detail, self.code)
    }
}
