//! How the answer of a run that succeeded ended: a predictor may accept an answer that a limit of tokens cut. Knows no
//! route.

use serde_json::Value;

use dsrs_app::ChatModel;

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerEnding {
    /// The model wrote all of it.
    Whole,
    /// A limit of tokens cut it, and its predictor accepts that.
    Cut,
}

/// What a trace has where a cut answer was accepted; what a model wrote has its quotes escaped there.
const MARK: &str = "\"cut\"";

impl AnswerEnding {
    /// The ending of the answer of a run with this trace, as JSON.
    pub(super) fn of_trace(model: &ChatModel, trace: &str) -> Self {
        // Most traces have no mark, and need no reading.
        match trace.contains(MARK) {
            true => Self::of(model, &serde_json::from_str(trace).unwrap_or_default()),
            false => Self::Whole,
        }
    }

    /// The ending of the answer of a run with this trace.
    pub(super) fn of(model: &ChatModel, trace: &Value) -> Self {
        let spans = trace["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
        let is_cut = match &model.writer {
            Some((node, _)) => last_is_cut(spans, node),
            None => spans
                .iter()
                .any(|span| span["node"].as_str().is_some_and(|node| last_is_cut(spans, node))),
        };
        if is_cut { Self::Cut } else { Self::Whole }
    }
}

/// Whether the last answer that was read at a node was cut.
fn last_is_cut(spans: &[Value], node: &str) -> bool {
    let mut reports = spans.iter().rev().filter(|span| span["node"] == node);
    let report = reports.find_map(|span| span["parse_report"].as_array());
    report.into_iter().flatten().any(|leniency| leniency["kind"] == "cut")
}
