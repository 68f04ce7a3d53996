//! The body of a request that starts an optimization. May not know how one runs.

use dsrs::lm::Budget;
use dsrs::optimize::MAX_UNMEASURED;
use dsrs::problem::{At, Code, Problems};
use dsrs::read::{Object, count, number, read_object, shared_text};
use dsrs::value::{ParsedJson, Payload};

use crate::run::request::{BATCH_CONCURRENCY, at_most, millis, read_pick, share, unreadable};
use crate::{Activate, AppError, DatasetRef, OptimizationRequest, RequestId};

impl OptimizationRequest {
    /// Reads the body of a request. `most` is the greatest concurrency.
    ///
    /// # Errors
    /// All problems, if too little could be read.
    pub fn read(document: &ParsedJson, most: u32, request_id: RequestId) -> Result<Self, AppError> {
        let read = read_object(document, |object| {
            let optimizer = object.required("optimizer", shared_text);
            let config = object.optional("config", |payload, _, _| Some(payload.clone()));
            let metric = object.required("metric", |payload, _, _| Some(payload.clone()));
            let trainset = object.required("trainset", DatasetRef::read);
            let valset = object.optional("valset", DatasetRef::read);
            let testset = object.optional("testset", DatasetRef::read);
            let budget = object.optional("budget", read_budget);
            let activate = object.optional("activate", read_activate);
            let seed = object.optional("seed", count);
            let concurrency = object.optional("concurrency", |payload, at, problems| {
                at_most(payload, (most, BATCH_CONCURRENCY), at, problems)
            });
            let max_unmeasured = object.optional("max_unmeasured", share);
            let prompt_model = object.optional("prompt_model", shared_text);
            let timeout = object.optional("timeout_ms", millis);
            let pick = read_pick(object);
            Some(Self {
                pick: pick?,
                optimizer,
                config,
                metric,
                trainset,
                valset,
                testset,
                budget: budget.unwrap_or_default(),
                activate: activate.unwrap_or_default(),
                seed: seed.unwrap_or(0),
                concurrency,
                max_unmeasured: max_unmeasured.unwrap_or(MAX_UNMEASURED),
                prompt_model,
                timeout,
                request_id,
                faults: Problems::new(),
            })
        });
        let (request, faults) = read.map_err(unreadable)?;
        Ok(Self { faults, ..request })
    }
}

fn read_budget(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Budget> {
    let mut object = Object::open(payload, at, problems)?;
    let budget = Budget {
        lm_calls: object.optional("lm_calls", positive_count),
        tokens: object.optional("tokens", positive_count),
        cost: object.optional("cost", positive),
        seconds: object.optional("seconds", positive),
    };
    object.close();
    Some(budget)
}

fn positive_count(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    let found = count(payload, at, problems)?;
    if found == 0 {
        problems.add(at, Code::InvalidValue, "expected 1 or more");
    }
    (found > 0).then_some(found)
}

fn positive(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<f64> {
    let found = number(payload, at, problems)?;
    let fits = found.is_finite() && found > 0.0;
    if !fits {
        problems.add(at, Code::InvalidValue, "expected a number above 0");
    }
    fits.then_some(found)
}

fn read_activate(payload: &Payload, at: &At<'_>, problems: &mut Problems) -> Option<Activate> {
    let word = shared_text(payload, at, problems)?;
    let found = Activate::parse(&word);
    if found.is_none() {
        let known = Activate::ALL.map(|when| format!("`{}`", when.as_str())).join(" or ");
        problems.add(at, Code::InvalidValue, format!("expected {known}, found `{word}`"));
    }
    found
}
