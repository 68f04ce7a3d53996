//! The body of a request that starts an evaluation. May not know how one runs.

use dsrs::problem::{At, Code, Problems};
use dsrs::read::{boolean, count, read_object};
use dsrs::value::{ParsedJson, Payload};

use crate::run::request::{at_most, millis, read_pick, share, unreadable};
use crate::{AppError, DatasetRef, EvaluationRequest, RequestId};

/// The setting that limits how many examples run at the same time.
const CONCURRENCY: &str = "worker.evaluation_concurrency";

impl EvaluationRequest {
    /// Reads the body of a request. `most` is the greatest concurrency.
    ///
    /// # Errors
    /// All problems, if too little could be read.
    pub fn read(document: &ParsedJson, most: u32, request_id: RequestId) -> Result<Self, AppError> {
        let read = read_object(document, |object| {
            let dataset = object.required("dataset", DatasetRef::read);
            let metric = object.required("metric", |payload, _, _| Some(payload.clone()));
            let pick = read_pick(object);
            let timeout = object.optional("timeout_ms", millis);
            let concurrency = object.optional("concurrency", |payload, at, problems| {
                at_most(payload, (most, CONCURRENCY), at, problems)
            });
            let max_errors = object.optional("max_errors", whole);
            let max_unmeasured = object.optional("max_unmeasured", share);
            let record = object.optional("record", boolean);
            let reuse_calls = object.optional("reuse_calls", boolean);
            Some(Self {
                dataset: dataset?,
                metric: metric?,
                pick: pick?,
                concurrency: concurrency.and_then(|found| i32::try_from(found).ok()),
                max_errors,
                max_unmeasured,
                timeout,
                record: record.unwrap_or(false),
                reuse_calls: reuse_calls.unwrap_or(false),
                request_id,
                faults: Problems::new(),
            })
        });
        let (request, faults) = read.map_err(unreadable)?;
        Ok(Self { faults, ..request })
    }
}

fn whole(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<i32> {
    let found = i32::try_from(count(payload, at, problems)?).ok();
    if found.is_none() {
        problems.add(at, Code::InvalidValue, format!("expected at most {}", i32::MAX));
    }
    found
}
