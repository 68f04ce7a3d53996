//! The body of a request that runs a graph, and the members that other requests have, too. May not know what runs.

use std::time::Duration;

use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, boolean, count, number, read_object};
use dsrs::value::{ParsedJson, Payload};

use crate::run::labels::read_labels;
use crate::{AppError, ExecuteRequest, Invalid, RequestId};
use dsrs_store::graph::VersionSelection;

/// The setting that limits how many items of a batch, and rollouts of an optimization, run at the same time.
pub const BATCH_CONCURRENCY: &str = "worker.batch_concurrency";

impl ExecuteRequest {
    /// Reads the body of a request. Problems that do not prevent further checks are its faults.
    ///
    /// # Errors
    /// All problems, if too little could be read.
    pub fn read(document: &ParsedJson, request_id: RequestId) -> Result<Self, AppError> {
        let read = read_object(document, |object| {
            let inputs = object.required("inputs", |payload, _, _| Some(payload.clone()));
            let pick = read_pick(object);
            let trace = object.optional("trace", boolean);
            let timeout = object.optional("timeout_ms", millis);
            let labels = read_labels(object);
            Some(Self {
                inputs: inputs?,
                pick: pick?,
                trace: trace.unwrap_or(false),
                timeout,
                labels,
                request_id,
                faults: Problems::new(),
                place: None,
            })
        });
        let (request, faults) = read.map_err(unreadable)?;
        Ok(Self { faults, ..request })
    }
}

/// The refusal of a body of which too little could be read.
pub(crate) fn unreadable(problems: Problems) -> AppError {
    AppError::invalid(Invalid::Request, problems)
}

/// Reads `version` and `state_version`; `None` if one of them is not a version.
pub fn read_pick(object: &mut Object<'_, '_, '_>) -> Option<VersionSelection> {
    let known = object.problems().len();
    let version = object.optional("version", version);
    let state_version = object.optional("state_version", self::version);
    (object.problems().len() == known).then_some(VersionSelection { version, state_version })
}

fn version(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = count(payload, at, problems)?;
    let version = i32::try_from(found).ok().filter(|version| *version > 0);
    if version.is_none() {
        problems.add(
            at,
            Code::InvalidValue,
            format!("expected a version of 1 or more, found {found}"),
        );
    }
    version
}

/// Reads a time limit.
pub fn millis(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Duration> {
    let found = count(payload, at, problems)?;
    if found == 0 {
        problems.add(at, Code::InvalidValue, "expected 1 or more milliseconds");
        return None;
    }
    Some(Duration::from_millis(found))
}

/// Reads a number of things at a time, up to the maximum of a setting.
pub(crate) fn at_most(
    payload: &Payload,
    (most, setting): (u32, &str),
    at: &At<'_>,
    problems: &mut Problems,
) -> Option<u32> {
    let found = count(payload, at, problems)?;
    let fitting = u32::try_from(found).ok().filter(|found| (1..=most).contains(found));
    if fitting.is_none() {
        let range = up_to(most, setting);
        problems.add(at, Code::InvalidValue, format!("expected {range}, found {found}"));
    }
    fitting
}

/// The numbers that `at_most` accepts, in words.
#[must_use]
pub fn up_to(most: u32, setting: &str) -> String {
    format!("a whole number from 1 to {most} (`{setting}`)")
}

/// Reads a share of a whole.
pub(crate) fn share(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    let fits = (0.0..=1.0).contains(&found);
    if !fits {
        let detail = format!("expected a share from 0 to 1, found {found}");
        problems.add(at, Code::InvalidValue, detail);
    }
    fits.then_some(found)
}
