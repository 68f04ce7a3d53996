//! Evaluations and optimizations as the command line shows them: started, followed with a bar on stderr
//! to the end, measured against a threshold.

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Map, Value, json};

use super::failure::CommandFailure;
use super::table::cell;
use crate::client::ServerProblem;

/// A bar on stderr; nothing is drawn if that is no terminal.
pub(super) fn bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    let style = "{bar:30} {pos}/{len} {elapsed} {wide_msg}";
    bar.set_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}

/// Moves a bar.
pub(super) fn advance(bar: &ProgressBar, done: &Value, of: &Value, message: String) {
    bar.set_length(of.as_u64().unwrap_or(0));
    bar.set_position(done.as_u64().unwrap_or(0));
    bar.set_message(message);
}

/// A name, or a JSON object: how a request names a metric or a part of a dataset.
pub(super) fn name_or_object(text: &str) -> Result<Value, String> {
    match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).map_err(|error| error.to_string()),
        false => Ok(Value::String(text.to_owned())),
    }
}

/// A JSON object.
pub(super) fn object(text: &str) -> Result<Value, String> {
    let object: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(Value::Object(object))
}

/// A score, from 0 to 1.
pub(super) fn score(text: &str) -> Result<f64, String> {
    let score = text.parse().ok().filter(|score| (0.0..=1.0).contains(score));
    score.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

/// The failure of a job that has not succeeded.
pub(super) fn check_succeeded(what: &str, job: &Value) -> Result<(), CommandFailure> {
    match (job["status"].as_str(), &job["error"]) {
        (Some("succeeded"), _) => Ok(()),
        (_, error @ Value::Object(_)) => {
            let problem: ServerProblem = serde_json::from_value(error.clone()).unwrap_or_default();
            Err(problem.lines().into())
        }
        _ => Err(CommandFailure::no(format!("the {what} is {}", cell(&job["status"])))),
    }
}

/// Fails below a threshold. A missing score is below every one.
pub(super) fn check_threshold(score: &Value, threshold: Option<f64>) -> Result<(), CommandFailure> {
    let Some(threshold) = threshold else { return Ok(()) };
    match score.as_f64() {
        Some(score) if score >= threshold => Ok(()),
        Some(score) => Err(CommandFailure::no(format!("score {score:.4} is below {threshold}"))),
        None => Err(CommandFailure::no(format!("there is no score to compare with {threshold}"))),
    }
}

/// A score for people.
pub(super) fn score_text(score: &Value) -> String {
    score.as_f64().map(|score| format!("{score:.4}")).unwrap_or_default()
}

/// A part of a dataset: its name alone, or with a split and a limit.
pub(super) fn part(dataset: Value, split: Option<&str>, limit: Option<u32>) -> Value {
    let mut part = match dataset {
        Value::String(name) if split.is_some() || limit.is_some() => json!({ "dataset": name }),
        dataset => return dataset,
    };
    if let Some(split) = split {
        part["split"] = split.into();
    }
    if let Some(limit) = limit {
        part["limit"] = limit.into();
    }
    part
}

/// Adds the members that are given.
pub(super) fn with(mut body: Value, members: Vec<(&str, Option<Value>)>) -> Value {
    for (name, value) in members {
        if let Some(value) = value {
            body[name] = value;
        }
    }
    body
}
